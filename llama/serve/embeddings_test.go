package serve_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
)

// TestEmbeddings checks vectors against the model's own, in both encodings.
func TestEmbeddings(t *testing.T) {
	h := start(t, nil)
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"a cat", "a dog, which is <|eot_id|>", "ö"}
	want, err := model.Embed(t.Context(), texts...)
	if err != nil {
		t.Fatal(err)
	}
	width := len(want[0])
	list, _ := json.Marshal(texts)
	tokens := 0
	for _, text := range texts {
		tokens += 1 + len(model.Tokenizer().Encode(text))
	}
	for _, c := range []struct {
		body  string
		want  [][]float32
		count int
	}{
		{fmt.Sprintf(`"input":%s`, list), want, tokens},
		{fmt.Sprintf(`"input":%s,"encoding_format":"float","dimensions":%d,"user":"u"`, list, width), want, tokens},
		{fmt.Sprintf(`"input":%s,"encoding_format":"base64"`, list), want, tokens},
		{`"input":"a cat"`, want[:1], 1 + len(model.Tokenizer().Encode("a cat"))},
		{`"input":"a cat","encoding_format":"base64"`, want[:1], 1 + len(model.Tokenizer().Encode("a cat"))},
	} {
		status, body := post(t, h, "/v1/embeddings", `{"model":"flint",`+c.body+`}`)
		var got struct {
			Model string
			Data  []struct {
				Index     int
				Embedding json.RawMessage
			}
			Usage struct {
				Prompt int `json:"prompt_tokens"`
				Total  int `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || len(got.Data) != len(c.want) {
			t.Fatalf("%s: status %d: %.300s", c.body, status, body)
		}
		packed := strings.Contains(c.body, "base64")
		if !packed { // the schema does not know base64
			openapi.Validate(t, "CreateEmbeddingResponse", []byte(body))
		}
		for i, d := range got.Data {
			vector := make([]float32, 0, width)
			if packed {
				var text string
				if err := json.Unmarshal(d.Embedding, &text); err != nil {
					t.Fatal(err)
				}
				bytes, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					t.Fatal(err)
				}
				for part := range slices.Chunk(bytes, 4) {
					vector = append(vector, math.Float32frombits(binary.LittleEndian.Uint32(part)))
				}
			} else if err := json.Unmarshal(d.Embedding, &vector); err != nil {
				t.Fatal(err)
			}
			if d.Index != i || !slices.Equal(vector, c.want[i]) {
				t.Errorf("%s: vector %d, of index %d, is another one than the model's", c.body, i, d.Index)
			}
		}
		if got.Model != "flint" || got.Usage.Prompt != c.count || got.Usage.Total != c.count {
			t.Errorf("%s: the model is %s and the usage %+v, want %d tokens", c.body, got.Model, got.Usage, c.count)
		}
	}
}

// TestEmbeddingErrors checks that errors name their reason.
func TestEmbeddingErrors(t *testing.T) {
	h := start(t, nil)
	for _, c := range []struct{ body, param, code, says string }{
		{`"model":"flint"`, "input", "missing_required_parameter", "missing"},
		{`"model":"flint","input":""`, "input", "invalid_value", "empty"},
		{`"model":"flint","input":["x",""]`, "input[1]", "invalid_value", "empty"},
		{`"model":"flint","input":[]`, "input", "invalid_value", "1 to 2048"},
		{`"model":"flint","input":["x"` + strings.Repeat(`,"x"`, 2048) + `]`, "input", "invalid_value", "2049 texts"},
		{`"model":"flint","input":[1,2]`, "input", "unsupported_parameter", "tokens"},
		{`"model":"flint","input":[[1,2]]`, "input", "unsupported_parameter", "tokens"},
		{`"model":"flint","input":["x",1]`, "input[1]", "invalid_type", "a string"},
		{`"model":"flint","input":7`, "input", "invalid_type", "a string"},
		{`"model":"flint","input":"x","encoding_format":"hex"`, "encoding_format", "invalid_value", "base64"},
		{`"model":"flint","input":"x","dimensions":0`, "dimensions", "invalid_value", "1 or more"},
		{`"model":"flint","input":"x","dimensions":100000`, "dimensions", "invalid_value", "1 to"},
		{`"model":"flint","input":"x","input_type":"poem"`, "input_type", "invalid_value", "poem"},
		{`"model":"flint","input":["x","` + strings.Repeat("word ", 5000) + `"]`, "input[1]", "context_length_exceeded", "more than"},
	} {
		refused(t, h, "/v1/embeddings", "{"+c.body+"}", 400, c.param, c.code, c.says)
	}
}
