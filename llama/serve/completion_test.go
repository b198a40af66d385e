package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// continued is an answer of llama-server's /completion, or a part of one in a stream.
type continued struct {
	Index     int
	Content   string
	Tokens    []int
	Stop      bool
	Predicted int `json:"tokens_predicted"`
	Evaluated int `json:"tokens_evaluated"`
	Probs     []struct {
		ID      int
		Token   string
		Logprob float64
		Top     []struct {
			ID      int
			Token   string
			Logprob float64
		} `json:"top_logprobs"`
	} `json:"completion_probabilities"`
	Settings struct {
		Most        int `json:"n_predict"`
		Seed        int
		Temperature float64
		Stop        []string
	} `json:"generation_settings"`
	Prompt    string
	NewLine   bool `json:"has_new_line"`
	Truncated bool
	StopType  string `json:"stop_type"`
	Word      string `json:"stopping_word"`
	Cached    int    `json:"tokens_cached"`
	Timings   struct {
		Cached    int      `json:"cache_n"`
		Prompt    int      `json:"prompt_n"`
		Predicted int      `json:"predicted_n"`
		Rate      *float64 `json:"predicted_per_second"`
	}
}

// goOn asks for a completion without a stream.
func goOn(t testing.TB, h *httptest.Server, body string) (c continued) {
	t.Helper()
	status, text := post(t, h, "/completion", "{"+body+"}")
	if err := json.Unmarshal([]byte(text), &c); err != nil || status != 200 {
		t.Fatalf("%s: status %d, %v: %s", body, status, err, text)
	}
	return c
}

// TestLlamaServersCompletion checks that /completion continues a text as /v1/completions does, and that a stream says the same.
func TestLlamaServersCompletion(t *testing.T) {
	h := start(t, nil)
	const prompt = `"prompt":"Once upon a time","seed":5`
	others, used := complete(t, h, prompt+`,"max_tokens":6`)
	whole := goOn(t, h, prompt+`,"n_predict":6,"cache_prompt":true,"id_slot":-1,"return_tokens":true`)
	if whole.Content == "" || whole.Content != others[0].Text || !whole.Stop || whole.Predicted != used.Completion || whole.Evaluated != used.Prompt ||
		whole.StopType != "limit" || whole.Truncated || whole.Settings.Most != 6 || whole.Settings.Seed != 5 || whole.Settings.Temperature != 1 ||
		!strings.HasSuffix(whole.Prompt, "Once upon a time") || whole.Timings.Prompt+whole.Timings.Cached != used.Prompt || whole.Timings.Cached != whole.Cached ||
		whole.Timings.Predicted != 6 || whole.Timings.Rate == nil {
		t.Errorf("%+v; /v1/completions says %q after %+v", whole, others[0].Text, used)
	}
	if text := detokenize(t, h, whole.Tokens); text != whole.Content {
		t.Errorf("tokens are %q, the text is %q", text, whole.Content)
	}
	if c := goOn(t, h, prompt+`,"n_predict":6`); c.Tokens == nil || len(c.Tokens) != 0 {
		t.Errorf("tokens that nobody asked for: %v", c.Tokens)
	}

	_, text := post(t, h, "/completion", "{"+prompt+`,"n_predict":6,"stream":true}`)
	var streamed continued
	parts := events(t, text)
	for i, data := range parts {
		var part continued
		if err := json.Unmarshal([]byte(data), &part); err != nil || part.Stop != (i == len(parts)-1) {
			t.Fatalf("part %d of %d, %v: %s", i, len(parts), err, data)
		}
		if part.Stop && (part.Content != "" || len(part.Tokens) > 0) || !part.Stop && len(part.Tokens) == 0 {
			t.Errorf("part %d of %d is %s", i, len(parts), data)
		}
		content, tokens := streamed.Content+part.Content, append(streamed.Tokens, part.Tokens...)
		streamed = part
		streamed.Content, streamed.Tokens = content, tokens
	}
	streamed.Timings, streamed.Cached = whole.Timings, whole.Cached
	if !reflect.DeepEqual(streamed, whole) {
		t.Errorf("streamed %+v, whole %+v", streamed, whole)
	}

	ended := goOn(t, h, `"prompt":"One, two, three, four, five, ","temperature":0,"n_predict":40,"stop":[" "]`)
	if ended.StopType != "word" || ended.Word != " " || strings.Contains(ended.Content, " ") {
		t.Errorf("%+v", ended)
	}
	if few := goOn(t, h, prompt+`,"max_tokens":2`); few.Predicted != 2 || few.Settings.Most != 2 {
		t.Errorf("%+v", few)
	}
	if none := goOn(t, h, prompt+`,"n_predict":0`); none.Content != "" || !none.Stop || none.Predicted != 0 || none.StopType != "limit" {
		t.Errorf("%+v", none)
	}
	if all := goOn(t, h, prompt+`,"n_predict":-1,"ignore_eos":false,"logit_bias":[["\n",-20]]`); all.Settings.Most != -1 {
		t.Errorf("%+v", all.Settings)
	}
}

// TestFullContext checks that an answer which has filled the context says so.
func TestFullContext(t *testing.T) {
	h := start(t, func(o *serve.Options) { o.Pool.Session = llama.SessionOptions{Capacity: 40} })
	c := goOn(t, h, `"prompt":"Once upon a time","temperature":0,"grammar":"root ::= [a-z ]{500}"`)
	if !c.Truncated || c.StopType != "limit" || c.Predicted+c.Evaluated < 39 {
		t.Errorf("%+v", c)
	}
}

// TestMixedPrompts sends the same prompt in all of its forms.
func TestMixedPrompts(t *testing.T) {
	h := start(t, nil)
	const text, ask = "The capital of Japan is", `"temperature":0,"n_predict":4,"prompt":`
	list := func(tokens ...int) string { text, _ := json.Marshal(tokens); return string(text) }
	tokens := tokensOf(t, h, `"add_special":true,"content":"`+text+`"`)
	last := len(tokens) - 1
	alone := goOn(t, h, ask+`"`+text+`"`)
	for _, same := range []string{list(tokens...), fmt.Sprintf(`[%s, " is"]`, strings.Trim(list(tokens[:last]...), "[]")), fmt.Sprintf(`["The capital of Japan", %d]`, tokens[last])} {
		if c := goOn(t, h, ask+same); c.Content != alone.Content || c.Evaluated != len(tokens) {
			t.Errorf("%s: %q after %d tokens, want %q after %d", same, c.Content, c.Evaluated, alone.Content, len(tokens))
		}
	}
	status, body := post(t, h, "/completion", "{"+ask+`["`+text+`",`+list(tokens...)+`,["The capital of Japan",`+fmt.Sprint(tokens[last])+`]]}`)
	var all []continued
	if err := json.Unmarshal([]byte(body), &all); err != nil || status != 200 || len(all) != 3 {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	for i, c := range all {
		if c.Index != i || c.Content != alone.Content {
			t.Errorf("answer %d is %+v, want %q", i, c, alone.Content)
		}
	}
	status, body = post(t, h, "/completion", "{"+ask+`["`+text+`"]}`)
	if status != 200 || body[0] != '[' {
		t.Errorf("a list of one prompt: status %d: %s", status, body)
	}
}

// TestResponseFields asks for parts of an answer.
func TestResponseFields(t *testing.T) {
	h := start(t, nil)
	const body = `{"prompt":"Once upon a time","n_predict":2,"seed":1,"response_fields":["content","generation_settings/n_predict","timings/nothing","nobody","content/x"]`
	status, text := post(t, h, "/completion", body+"}")
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || len(got) != 2 || got["generation_settings/n_predict"] != 2.0 || got["content"] == "" {
		t.Errorf("status %d: %s", status, text)
	}
	_, text = post(t, h, "/completion", body+`,"stream":true}`)
	if parts := events(t, text); parts[len(parts)-1] != `{"content":"","generation_settings/n_predict":2}` {
		t.Errorf("%s", text)
	}
}

// TestProbabilities checks that n_probs has the log-probabilities that logprobs has.
func TestProbabilities(t *testing.T) {
	h := start(t, nil)
	const prompt = `"prompt":"The capital of Japan is","temperature":0`
	others, _ := complete(t, h, prompt+`,"max_tokens":4,"logprobs":5`)
	c := goOn(t, h, prompt+`,"n_predict":4,"n_probs":5,"return_tokens":true`)
	if len(c.Probs) == 0 || len(c.Probs) != len(others[0].Logprobs.Tokens) {
		t.Fatalf("%+v, want %+v", c.Probs, others[0].Logprobs)
	}
	for i, p := range c.Probs {
		want := others[0].Logprobs
		if p.ID != c.Tokens[i] || p.Token != want.Tokens[i] || p.Logprob != want.Logprobs[i] || len(p.Top) != 5 || p.Top[0].ID != p.ID || p.Top[1].Logprob != want.Top[i][p.Top[1].Token] {
			t.Errorf("token %d is %+v, want %q at %v, %v", i, p, want.Tokens[i], want.Logprobs[i], want.Top[i])
		}
	}
	if none := goOn(t, h, prompt+`,"n_predict":1`); none.Probs != nil {
		t.Errorf("%+v", none.Probs)
	}
}

// TestBiasForms forbids what a model would say in all forms that llama-server has.
func TestBiasForms(t *testing.T) {
	h := start(t, nil)
	const ask = `"prompt":"The capital of Japan is","temperature":0,"n_predict":3,"return_tokens":true`
	plain := goOn(t, h, ask)
	first := plain.Tokens[0]
	word, _ := json.Marshal(detokenize(t, h, plain.Tokens[:1]))
	want := ""
	for _, form := range []string{
		fmt.Sprintf(`{"%d":-100}`, first), fmt.Sprintf(`{%s:-100}`, word), fmt.Sprintf(`[[%d,-100]]`, first), fmt.Sprintf(`[[%s,-60.5],[%d,-39.5]]`, word, first),
		fmt.Sprintf(`[[%s,false]]`, word), fmt.Sprintf(`{"%d":false}`, first),
	} {
		c := goOn(t, h, ask+`,"logit_bias":`+form)
		if want == "" {
			want = c.Content
		}
		if slices.Contains(c.Tokens, first) || c.Content != want {
			t.Errorf("%s: %q, want %q, without what it is without a bias: %q", form, c.Content, want, plain.Content)
		}
	}
}

// TestFormsOfLlamaServer asks for forms at the top level of requests.
func TestFormsOfLlamaServer(t *testing.T) {
	h := start(t, nil)
	for path, body := range map[string]string{
		"/completion": `{"prompt":"Hello","seed":1,"n_predict":20`, "/v1/completions": `{"prompt":"Hello","seed":1,"max_tokens":20`,
		"/v1/chat/completions": `{"messages":[{"role":"user","content":"Hello"}],"seed":1,"max_tokens":20`,
	} {
		for form, want := range map[string]string{`"grammar":"root ::= \"a\"{5}"`: "aaaaa", `"json_schema":{"const":"42"}`: `"42"`, `"json_schema":{"const":"42"},"grammar":""`: `"42"`} {
			status, text := post(t, h, path, body+`,`+form+`}`)
			var c continued
			if path == "/completion" {
				if err := json.Unmarshal([]byte(text), &c); err != nil {
					t.Fatal(err)
				}
			} else if status == 200 {
				c.Content = said(t, text)
			}
			if status != 200 || c.Content != want {
				t.Errorf("%s with %s: status %d: %s", path, form, status, text)
			}
		}
		refused(t, h, path, body+`,"grammar":"root ::= x"}`, 400, "grammar", "invalid_value", "x")
		refused(t, h, path, body+`,"grammar":"root ::= \"a\"","json_schema":{}}`, 400, "grammar", "invalid_value", "one of them")
		refused(t, h, path, body+`,"json_schema":{"type":"thing"}}`, 400, "json_schema", "invalid_value", "/type is not a type")
		refused(t, h, path, body+`,"json_schema":{"type":"array","uniqueItems":true}}`, 400, "json_schema", "unsupported_schema", "uniqueItems")
	}
	const chat = `{"messages":[{"role":"user","content":"Hello"}],"grammar":"root ::= \"a\""`
	refused(t, h, "/v1/chat/completions", chat+`,"response_format":{"type":"json_object"}}`, 400, "grammar", "invalid_value", "response_format")
	refused(t, h, "/v1/chat/completions", chat+`,"tools":[{"type":"function","function":{"name":"f"}}]}`, 400, "grammar", "unsupported_parameter", "tools")
	for _, free := range []string{`"response_format":{"type":"text"}`, `"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none"`} {
		if status, text := post(t, h, "/v1/chat/completions", chat+`,`+free+`}`); status != 200 || said(t, text) != "a" {
			t.Errorf("%s: status %d: %s", free, status, text)
		}
	}
}

// TestTimings asks for how long answers took, in llama-server's words.
func TestTimings(t *testing.T) {
	h := start(t, nil)
	for path, body := range map[string]string{
		"/v1/completions": `{"prompt":"Hello","seed":1,"max_tokens":3,"n":2`, "/v1/chat/completions": `{"messages":[{"role":"user","content":"Hello"}],"seed":1,"max_tokens":3,"n":2`,
	} {
		var out struct {
			Usage   chatUsage
			Choices []any
			Timings *struct {
				Prompt    int      `json:"prompt_n"`
				Predicted int      `json:"predicted_n"`
				Cached    *int     `json:"cache_n"`
				Rate      *float64 `json:"prompt_per_second"`
			}
		}
		whole := func(text string) {
			t.Helper()
			if err := json.Unmarshal([]byte(text), &out); err != nil || out.Timings == nil || out.Timings.Rate == nil || out.Timings.Predicted != out.Usage.Completion ||
				out.Timings.Prompt+*out.Timings.Cached != 2*out.Usage.Prompt {
				t.Errorf("%s: %v: %s", path, err, text)
			}
		}
		_, text := post(t, h, path, body+`,"timings_per_token":true}`)
		whole(text)
		for more, choices := range map[string]int{"": 1, `,"stream_options":{"include_usage":true}`: 0} {
			used := out.Usage // of the whole answer, for streams without usage
			_, text = post(t, h, path, body+`,"timings_per_token":true,"stream":true`+more+`}`)
			parts := events(t, text)
			last := len(parts) - 2
			out.Choices, out.Usage, out.Timings = nil, used, nil
			if whole(parts[last]); strings.Contains(strings.Join(parts[:last], ""), "timings") || len(out.Choices) != choices || strings.Contains(parts[last], "usage") == (choices == 1) {
				t.Errorf("%s%s: %s", path, more, text)
			}
		}
		for _, none := range []string{"", `,"timings_per_token":false`} {
			if _, text := post(t, h, path, body+none+`}`); strings.Contains(text, "timings") {
				t.Errorf("%s: timings that nobody asked for: %s", path, text)
			}
		}
	}
}

// TestStreamsEndWithoutText checks that what says why an answer is over has nothing of the answer: programs stop reading there.
func TestStreamsEndWithoutText(t *testing.T) {
	h := start(t, nil)
	for path, body := range map[string]string{
		"/v1/completions":      `{"prompt":"Once upon a time","temperature":0,"max_tokens":3,"logprobs":1,"stream":true}`,
		"/v1/chat/completions": `{` + question + `,"max_tokens":3,"logprobs":true,"stream":true}`,
	} {
		ends, text := 0, ""
		_, stream := post(t, h, path, body)
		for _, data := range events(t, stream) {
			var chunk struct {
				Choices []struct {
					Finish   *string `json:"finish_reason"`
					Text     string
					Delta    struct{ Content *string }
					Logprobs any
				}
			}
			if data == "[DONE]" {
				continue
			}
			if err := json.Unmarshal([]byte(data), &chunk); err != nil {
				t.Fatal(err)
			}
			c := chunk.Choices[0]
			if c.Finish == nil {
				if text += c.Text; c.Delta.Content != nil {
					text += *c.Delta.Content
				}
			} else if ends++; c.Text != "" || c.Delta.Content != nil || c.Logprobs != nil || *c.Finish != "length" {
				t.Errorf("%s: it ends with %s", path, data)
			}
		}
		_, whole := post(t, h, path, strings.Replace(body, `,"stream":true`, "", 1))
		if ends != 1 || text == "" || text != said(t, whole) {
			t.Errorf("%s: %d ends, %q; want %q", path, ends, text, said(t, whole))
		}
	}
}

// TestSlots asks for places.
func TestSlots(t *testing.T) {
	h := start(t, func(o *serve.Options) { o.Pool.MaxSessions = 2 })
	for _, path := range []string{"/slots", "/slots?model=default&fail_on_no_slot=1"} {
		status, text := get(t, h, path)
		var list []struct {
			ID         int
			Context    int   `json:"n_ctx"`
			Processing *bool `json:"is_processing"`
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil || status != 200 || len(list) != 2 || list[1].ID != 1 || list[0].Context != 2048 || list[0].Processing == nil || *list[0].Processing {
			t.Errorf("%s: status %d, %v: %s", path, status, err, text)
		}
	}
	if status, _ := get(t, h, "/slots?model=granite"); status != 404 {
		t.Errorf("status %d", status)
	}
}

// TestTakenSlots asks for places while an answer is computed.
func TestTakenSlots(t *testing.T) {
	h, _, g := startGated(t, 20, nil)
	answered := make(chan string)
	go func() {
		_, text := post(t, h, "/completion", `{"prompt":"Once upon a time","temperature":0,"n_predict":30}`)
		answered <- text
	}()
	<-g.reached
	if status, text := get(t, h, "/slots"); status != 200 || !strings.Contains(text, `"is_processing":true`) || strings.Contains(text, `"is_processing":false`) {
		t.Errorf("status %d: %s", status, text)
	}
	if status, text := get(t, h, "/slots?fail_on_no_slot=1"); status != 503 || !strings.Contains(text, "no_slot") {
		t.Errorf("status %d: %s", status, text)
	}
	g.open()
	if text := <-answered; !strings.Contains(text, `"stop":true`) {
		t.Error(text)
	}
	until(func() bool {
		_, text := get(t, h, "/slots")
		return strings.Contains(text, `"is_processing":false`)
	})
}

func TestLlamaServersCompletionErrors(t *testing.T) {
	h := start(t, nil)
	const ask, value, kind = `"prompt":"Hello"`, "invalid_value", "invalid_type"
	for _, c := range []struct{ body, param, code, says string }{
		{``, "prompt", "missing_required_parameter", "missing"},
		{`"prompt":5`, "prompt", value, "a string, or a list"},
		{`"prompt":[]`, "prompt", value, "at least one token"},
		{`"prompt":[["a"],{}]`, "prompt[1]", value, "a string, or a list"},
		{`"prompt":["a",[]]`, "prompt[1]", value, "at least one token"},
		{`"prompt":["a",5,null]`, "prompt[2]", value, "is null"},
		{`"prompt":["a",5,[6]]`, "prompt[2]", kind, "a whole number"},
		{`"prompt":["a",5.5]`, "prompt[1]", kind, "a whole number"},
		{`"prompt":["a",9999999]`, "prompt[1]", value, "a token's number"},
		{`"prompt":["a",["b",-1]]`, "prompt[1][1]", value, "a token's number"},
		{`"prompt":[5,-1]`, "prompt[1]", value, "a token's number"},
		{`"prompt":["a","b","c","d","e","f","g","h","i"]`, "prompt", value, "9 texts"},
		{`"prompt":"` + strings.Repeat("word ", 5000) + `"`, "prompt", "context_length_exceeded", "more than"},
		{ask + `,"n_probs":21`, "n_probs", value, "0 to 20"},
		{ask + `,"n_probs":5,"post_sampling_probs":true`, "post_sampling_probs", "unsupported_parameter", "model's own"},
		{ask + `,"ignore_eos":true`, "ignore_eos", "unsupported_parameter", "where the model ends"},
		{ask + `,"logit_bias":5`, "logit_bias", value, "a list of pairs"},
		{ask + `,"logit_bias":[5]`, "logit_bias[0]", kind, "an array"},
		{ask + `,"logit_bias":[[5]]`, "logit_bias[0]", value, "1 elements"},
		{ask + `,"logit_bias":[[-5,1]]`, "logit_bias[0][0]", value, "a token's number"},
		{ask + `,"logit_bias":[[true,1]]`, "logit_bias[0][0]", kind, "a whole number"},
		{ask + `,"logit_bias":[["a",101]]`, "logit_bias[0][1]", value, "-100 to 100"},
		{ask + `,"logit_bias":[["a",true]]`, "logit_bias[0][1]", kind, "a number"},
		{ask + `,"logit_bias":[["a",null]]`, "logit_bias[0][1]", value, "is null"},
		{ask + `,"logit_bias":[[null,1]]`, "logit_bias[0][0]", value, "is null"},
		{ask + `,"logit_bias":{"a":null}`, "logit_bias.a", kind, "a number"},
		{ask + `,"logit_bias":{"9999999":1}`, "logit_bias.9999999", value, "a token's number"},
		{ask + `,"response_fields":"content"`, "response_fields", kind, "an array"},
		{ask + `,"max_tokens":5,"n_predict":6`, "max_tokens", value, "give one of them"},
		{ask + `,"messages":[]`, "messages", "unknown_parameter", "messages"},
	} {
		body := strings.TrimPrefix(c.body, ",")
		refused(t, h, "/completion", "{"+body+"}", 400, c.param, c.code, c.says)
	}
}
