package serve_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
)

// startEncoders serves Flint and encoders by the names of their fixtures.
func startEncoders(t *testing.T, names ...string) *httptest.Server {
	t.Helper()
	return start(t, func(o *serve.Options) {
		for _, name := range names {
			o.Models = append(o.Models, serve.File(name, fixture.Path(t, "families/"+name), nil))
		}
	})
}

// embeddingsOf returns the vectors of an answer.
func embeddingsOf(t *testing.T, h *httptest.Server, body string) (vectors [][]float32, tokens int) {
	t.Helper()
	status, text := post(t, h, "/v1/embeddings", "{"+body+"}")
	var got struct {
		Data  []struct{ Embedding []float32 }
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 {
		t.Fatalf("%s: status %d: %.300s", body, status, text)
	}
	openapi.Validate(t, "CreateEmbeddingResponse", []byte(text))
	for _, d := range got.Data {
		vectors = append(vectors, d.Embedding)
	}
	return vectors, got.Usage.Prompt
}

// A model that gives no answers is served: its kind is in the list, its vectors are its own, and a request for something else gets an error
// that names the right route.
func TestEncoder(t *testing.T) {
	h := startEncoders(t, "enc-qwen3")
	kinds := func() (list []string) {
		status, body := get(t, h, "/v1/models")
		var got struct {
			Data []struct {
				Meta struct {
					Kind    *string
					Context *int
					AliasOf string `json:"alias_of"`
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 {
			t.Fatalf("status %d: %s", status, body)
		}
		for _, m := range got.Data {
			if m.Meta.AliasOf != "" {
				continue
			}
			kind := "unknown"
			if m.Meta.Kind != nil {
				kind = fmt.Sprint(*m.Meta.Kind, " ", m.Meta.Context != nil)
			}
			list = append(list, kind)
		}
		return list
	}
	if got := fmt.Sprint(kinds()); got != "[generator true unknown]" {
		t.Errorf("the kinds are %s", got)
	}
	model, err := llama.Load(fixture.Path(t, "families/enc-qwen3"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	const text = "The quick brown fox jumps over the lazy dog."
	want, err := model.Embed(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	got, tokens := embeddingsOf(t, h, `"model":"enc-qwen3","input":"`+text+`"`)
	if fmt.Sprint(got) != fmt.Sprint(want) || tokens != len(model.Tokenizer().EncodeWhole(text)) {
		t.Errorf("%d tokens, and the vector is another one than the model's", tokens)
	}
	if got := fmt.Sprint(kinds()); got != "[generator true embedder true]" {
		t.Errorf("once it is loaded the kinds are %s", got)
	}
	short, _ := embeddingsOf(t, h, `"model":"enc-qwen3","input":"`+text+`","dimensions":8`)
	length := 0.0
	for i, x := range short[0] {
		length += float64(x) * float64(x)
		if ratio := float64(x) / float64(want[0][i]); math.Abs(ratio-float64(short[0][0]/want[0][0])) > 1e-3 {
			t.Errorf("element %d is %g, in the whole vector %g", i, x, want[0][i])
		}
	}
	if len(short[0]) != 8 || math.Abs(length-1) > 1e-5 {
		t.Errorf("the short vector has %d elements and the squared length %g", len(short[0]), length)
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/completions"} {
		body := map[string]string{"/v1/chat/completions": `"messages":[{"role":"user","content":"Hi"}]`, "/v1/responses": `"input":"Hi"`, "/v1/completions": `"prompt":"Hi"`}[path]
		refused(t, h, path, `{"model":"enc-qwen3",`+body+`}`, 400, "model", "unsupported_model", "/v1/embeddings")
	}
	if status, text := post(t, h, "/v1/messages", `{"model":"enc-qwen3","max_tokens":2,"messages":[{"role":"user","content":"Hi"}]}`); status != 400 {
		t.Errorf("messages: status %d: %s", status, text)
	}
	if status, text := post(t, h, "/tokenize", `{"model":"enc-qwen3","content":"Hi"}`); status != 200 {
		t.Errorf("tokenize: status %d: %s", status, text)
	}
	for _, model := range []string{"flint", "enc-qwen3"} {
		refused(t, h, "/v1/rerank", `{"model":"`+model+`","query":"a","documents":["b"]}`, 400, "model", "unsupported_model", "needs a reranker")
	}
}

// TestJudgeReranks asks a model that judges, which gives answers as well.
func TestJudgeReranks(t *testing.T) {
	dir := fixture.Judge(t)
	h := start(t, func(o *serve.Options) { o.Models = append(o.Models, serve.File("judge", dir, nil)) })
	model, err := llama.Load(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	documents := []string{"Paris is a city.", "Wood.", "A capital."}
	want, err := model.Rerank(t.Context(), "capital", documents...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body string
		says func(score float32) float64
	}{
		{`"documents":["Paris is a city.","Wood.","A capital."]`, func(s float32) float64 { return float64(s) }},
		{`"documents":["Paris is a city.","Wood.","A capital."],"raw_scores":false`, func(s float32) float64 { return 1 / (1 + math.Exp(-float64(s))) }},
	} {
		status, text := post(t, h, "/v1/rerank", `{"model":"judge","query":"capital",`+c.body+`}`)
		var got struct {
			Results []struct {
				Index int
				Score float64 `json:"relevance_score"`
			}
			Usage struct {
				Tokens int `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || len(got.Results) != len(documents) || got.Usage.Tokens == 0 {
			t.Fatalf("status %d: %s", status, text)
		}
		for i, r := range got.Results {
			if math.Abs(r.Score-c.says(want[r.Index])) > 1e-6 || i > 0 && r.Score > got.Results[i-1].Score {
				t.Errorf("%s: place %d: document %d has the score %g, want %g", c.body, i, r.Index, r.Score, c.says(want[r.Index]))
			}
		}
	}
	if status, text := post(t, h, "/v1/completions", `{"model":"judge","prompt":"no","max_tokens":2}`); status != 200 {
		t.Errorf("an answer: status %d: %s", status, text)
	}
}

// TestRerankErrors checks that errors name their reason.
func TestRerankErrors(t *testing.T) {
	h := start(t, nil)
	for _, c := range []struct{ body, param, code, says string }{
		{`"documents":["b"]`, "query", "missing_required_parameter", "missing"},
		{`"query":"a"`, "documents", "missing_required_parameter", "missing"},
		{`"query":"a","documents":["b"],"texts":["b"]`, "texts", "invalid_value", "one of them"},
		{`"query":"a","texts":[]`, "texts", "invalid_value", "0 texts"},
		{`"query":"a","texts":["b"],"truncate":true`, "truncate", "unsupported_parameter", "shorten"},
		{`"query":"","documents":["b"]`, "query", "invalid_value", "empty"},
		{`"query":"a","documents":[]`, "documents", "invalid_value", "1 to 2048"},
		{`"query":"a","documents":"b"`, "documents", "invalid_type", "array"},
		{`"query":"a","documents":["b",7]`, "documents[1]", "invalid_type", "string"},
		{`"query":"a","documents":[{"text":7}]`, "documents[0].text", "invalid_type", "string"},
		{`"query":"a","documents":[{"title":"b"}]`, "documents[0].title", "unknown_parameter", "title"},
		{`"query":"a","documents":[{}]`, "documents[0].text", "missing_required_parameter", "missing"},
		{`"query":"a","documents":["b"],"top_n":0`, "top_n", "invalid_value", "1 or more"},
		{`"query":"a","documents":["b"],"max_chunks_per_doc":2`, "max_chunks_per_doc", "unsupported_parameter", "parts"},
	} {
		for _, path := range []string{"/v1/rerank", "/v2/rerank", "/rerank"} {
			refused(t, h, path, `{"model":"flint",`+c.body+`}`, 400, c.param, c.code, c.says)
		}
	}
}

// Documents come in the order of their scores, which are those that transformers computed.
func TestRerank(t *testing.T) {
	names := []string{"rank-bert", "rank-xlmr"}
	h := startEncoders(t, append(names, "enc-bert")...)
	for _, name := range names {
		model, err := llama.Load(fixture.Path(t, "families/"+name), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		const query = "query: what is the capital of France"
		documents := []string{"a", "passage: Paris is the capital of France.", "The quick brown fox.", "a"}
		want, err := model.Rerank(t.Context(), query, documents...)
		if err != nil {
			t.Fatal(err)
		}
		list, err := json.Marshal([]any{documents[0], map[string]string{"text": documents[1]}, documents[2], documents[3]})
		if err != nil {
			t.Fatal(err)
		}
		for more, n := range map[string]int{"": 4, `,"top_n":2`: 2, `,"top_n":9,"return_documents":true`: 4, `,"raw_scores":false`: 4} {
			status, body := post(t, h, "/v1/rerank", fmt.Sprintf(`{"model":%q,"query":%q,"documents":%s%s}`, name, query, list, more))
			var got struct {
				Model   string
				Results []struct {
					Index    int
					Score    float32 `json:"relevance_score"`
					Document *struct{ Text string }
				}
				Usage struct {
					Total int `json:"total_tokens"`
				}
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || len(got.Results) != n || got.Model != name {
				t.Fatalf("%s%s: status %d: %s", name, more, status, body)
			}
			tokens := 0
			for _, d := range documents {
				pair, _ := model.Tokenizer().EncodePair(query, d)
				tokens += len(pair)
			}
			if got.Usage.Total != tokens {
				t.Errorf("%s%s: %d tokens, want %d", name, more, got.Usage.Total, tokens)
			}
			for i, r := range got.Results {
				score := want[r.Index]
				if strings.Contains(more, "raw") {
					score = float32(1 / (1 + math.Exp(-float64(score))))
				}
				if r.Score != score {
					t.Errorf("%s%s: document %d has the score %g, want %g", name, more, r.Index, r.Score, score)
				}
				if i > 0 && (got.Results[i-1].Score < r.Score || got.Results[i-1].Score == r.Score && got.Results[i-1].Index > r.Index) {
					t.Errorf("%s%s: not in the order of the scores: %s", name, more, body)
				}
				if back := strings.Contains(more, "return"); back != (r.Document != nil) || back && r.Document.Text != documents[r.Index] {
					t.Errorf("%s%s: document %d comes back as %+v", name, more, r.Index, r.Document)
				}
			}
		}
		for more, n := range map[string]int{"": 4, `,"top_n":2`: 2, `,"raw_scores":true,"truncate":false`: 4, `,"return_text":true`: 4} {
			texts, _ := json.Marshal(documents)
			status, body := post(t, h, "/rerank", fmt.Sprintf(`{"model":%q,"query":%q,"texts":%s%s}`, name, query, texts, more))
			var got []struct {
				Index int
				Score float32
				Text  *string
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || len(got) != n {
				t.Fatalf("%s%s: status %d: %s", name, more, status, body)
			}
			for i, r := range got {
				score := want[r.Index]
				if !strings.Contains(more, "raw") {
					score = float32(1 / (1 + math.Exp(-float64(score))))
				}
				if back := strings.Contains(more, "return"); r.Score != score || i > 0 && got[i-1].Score < r.Score || back != (r.Text != nil) || back && *r.Text != documents[r.Index] {
					t.Errorf("%s%s: text %d has the score %g, want %g: %s", name, more, r.Index, r.Score, score, body)
				}
			}
		}
		refused(t, h, "/v1/rerank", `{"model":"`+name+`","query":"a","texts":["b","`+strings.Repeat("wood ", 999)+`"]}`, 400, "texts[1]", "context_length_exceeded", "with the query")
		refused(t, h, "/v1/chat/completions", `{"model":"`+name+`","messages":[{"role":"user","content":"Hi"}]}`, 400, "model", "unsupported_model", "/v1/rerank")
		refused(t, h, "/v1/embeddings", `{"model":"`+name+`","input":"Hi"}`, 400, "model", "unsupported_model", "/v1/rerank")
		refused(t, h, "/v1/rerank", `{"model":"`+name+`","query":"a","documents":["b","`+strings.Repeat("wood ", 999)+`"]}`, 400, "documents[1]", "context_length_exceeded", "with the query")
		refused(t, h, "/v1/rerank", `{"model":"`+name+`","query":"`+strings.Repeat("wood ", 999)+`","documents":["b"]}`, 400, "documents[0]", "context_length_exceeded", "with the query")
	}
	refused(t, h, "/v1/rerank", `{"model":"enc-bert","query":"a","documents":["b"]}`, 400, "model", "unsupported_model", "needs a reranker")
	refused(t, h, "/v1/chat/completions", `{"model":"enc-bert","messages":[{"role":"user","content":"Hi"}]}`, 400, "model", "unsupported_model", "/v1/embeddings")
	plain, _ := embeddingsOf(t, h, `"model":"enc-bert","input":"Hello"`)
	for _, task := range []string{"query", "document", "search_query", "search_document"} { // this model's files say nothing of them
		if got, _ := embeddingsOf(t, h, `"model":"enc-bert","input":"Hello","input_type":"`+task+`"`); fmt.Sprint(got) != fmt.Sprint(plain) {
			t.Errorf("for the task %s the vector is another one", task)
		}
	}
	refused(t, h, "/v1/embeddings", `{"model":"enc-bert","input":"Hi","dimensions":65}`, 400, "dimensions", "invalid_value", "1 to 64")
}
