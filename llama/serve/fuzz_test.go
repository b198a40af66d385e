package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
)

// fuzzObject is a JSON object that tests make requests from.
type fuzzObject = map[string]any

// fuzzed is a path with requests that are right.
type fuzzed struct {
	path     string
	schema   string // of an answer, "" if OpenAI publishes no schema
	event    string // of an event of a stream
	stream   bool   // answers can be streamed
	requests []string
}

// fuzzSchema is a schema of arguments, and of forms.
const fuzzSchema = `{"type":"object","properties":{"city":{"type":"string","minLength":1,"pattern":"^[a-z]+$"},"n":{"type":"integer","minimum":-3,"maximum":9},
	"list":{"type":"array","items":{"enum":["a",1,null]},"maxItems":2},"any":{"anyOf":[{"const":true},{"$ref":"#/$defs/x"}]}},"required":["city"],
	"additionalProperties":false,"$defs":{"x":{"type":["number","null"]}}}`

// fuzzedPaths are the paths to which requests are posted.
var fuzzedPaths = []fuzzed{
	{"/v1/chat/completions", "CreateChatCompletionResponse", "CreateChatCompletionStreamResponse", true, []string{
		`{"model":"flint","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello","name":"ann"}],"max_tokens":2,"temperature":0.5,"top_p":0.9,"top_k":5,
			"min_p":0.1,"repeat_penalty":1.1,"seed":1,"stop":["x","yy"],"n":2,"logprobs":true,"top_logprobs":2,"logit_bias":{"5":-1},"presence_penalty":0.5,"frequency_penalty":0.1,"user":"u"}`,
		`{"model":"flint","messages":[{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"text","text":"there"}]},
			{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"city\":\"x\"}"}}]},
			{"role":"tool","tool_call_id":"a","content":"5"}],"max_completion_tokens":2,"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":` + fuzzSchema + `,"strict":false}}],
			"tool_choice":"auto","parallel_tool_calls":true}`,
		`{"model":"flint","messages":[{"role":"user","content":"Hi"}],"max_tokens":2,"tools":[{"type":"function","function":{"name":"f"}}],
			"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}}]}}}`,
		`{"model":"flint","messages":[{"role":"developer","content":"Hi"}],"max_tokens":2,"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":` + fuzzSchema + `}}}`,
		`{"model":"flint","messages":[{"role":"user","content":"Hi"}],"max_tokens":1,"response_format":{"type":"json_object"}}`,
		`{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hel","reasoning_content":"x"}],"max_tokens":2,"continue_final_message":true,"add_generation_prompt":false,
			"reasoning_effort":"low","reasoning":{"effort":"high","max_tokens":5},"thinking":{"type":"enabled","budget_tokens":9},"verbosity":"low","return_progress":true,"typical_p":1,
			"mirostat":0,"repeat_last_n":64,"repeat_penalty":1.1,"client_metadata":{"x":"y"},"tools":[{"type":"custom","custom":{"name":"x"}}]}`,
		`{"messages":[{"role":"user","content":"Hi"}],"n_predict":2,"grammar":"root ::= \"a\" root?","timings_per_token":true}`,
		`{"messages":[{"role":"user","content":"Hi"}],"n_predict":2,"response_format":{"type":"json_object","schema":` + fuzzSchema + `}}`,
	}},
	{"/v1/completions", "CreateCompletionResponse", "", true, []string{
		`{"model":"flint","prompt":"Hello","max_tokens":2,"temperature":1,"n":2,"best_of":2,"logprobs":2,"stop":"x","seed":3,"logit_bias":{"5":1}}`,
		`{"model":"flint","prompt":["a","b"],"max_tokens":1,"echo":true,"suffix":null}`,
		`{"model":"flint","prompt":[5,6,7],"max_tokens":1}`,
		`{"prompt":"Hello there","max_tokens":0,"echo":true,"logprobs":1,"return_progress":true,"dry_multiplier":0}`,
		`{"prompt":[5,6,7],"max_tokens":1,"echo":true,"logprobs":1}`,
		`{"prompt":"Hello there","n_predict":1,"echo":true,"logprobs":5,"n":2}`,
		`{"model":"flint","prompt":[[5,6],[7]],"max_tokens":1}`,
	}},
	{"/v1/embeddings", "", "", false, []string{
		`{"model":"flint","input":"Hello","encoding_format":"base64","user":"u"}`,
		`{"model":"flint","input":["a","b"],"encoding_format":"float","dimensions":4}`,
	}},
	{"/v1/rerank", "", "", false, []string{
		`{"model":"flint","query":"a","documents":["b",{"text":"c"}],"top_n":1,"return_documents":true,"raw_scores":false}`,
		`{"query":"a","texts":["b","c"],"top_n":1,"return_text":true,"truncate":false}`,
	}},
	{"/v1/responses", "Response", "ResponseStreamEvent", true, []string{
		`{"model":"flint","input":"Hello","instructions":"Be brief.","max_output_tokens":2,"temperature":1,"top_p":0.9,"store":false}`,
		`{"model":"flint","input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},
			{"type":"function_call_output","call_id":"a","output":"5"}],"max_output_tokens":2,"store":false,"tools":[{"type":"function","name":"f","parameters":` + fuzzSchema + `,"strict":false}],"tool_choice":"auto"}`,
		`{"input":[{"role":"user","content":"Hi"},{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"x"}],"encrypted_content":"y"},{"role":"assistant","content":"Hello","phase":"x"},
			{"role":"user","content":"Hi"}],"max_output_tokens":2,"reasoning":{"effort":"low","summary":"auto"},"text":{"verbosity":"low"},"context_management":[{"type":"compaction"}],
			"tools":[{"type":"web_search"},{"type":"namespace","name":"n","tools":[]},{"type":"function","name":"f","strict":false}]}`,
		`{"model":"flint","input":"Hi","max_output_tokens":2,"store":false,"text":{"format":{"type":"json_schema","name":"x","schema":` + fuzzSchema + `}}}`,
	}},
	{"/v1/messages", "", "", true, []string{
		`{"model":"flint","max_tokens":2,"system":"Be brief.","messages":[{"role":"user","content":"Hello"}],"temperature":0.5,"top_k":5,"top_p":0.9,"stop_sequences":["x"],"metadata":{"user_id":"u"}}`,
		`{"model":"flint","max_tokens":2,"system":[{"type":"text","text":"Be brief."}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"city":"x"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"5"}]}],
			"tools":[{"name":"f","description":"d","input_schema":` + fuzzSchema + `}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`,
		`{"max_tokens":2,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"y"},{"type":"redacted_thinking","data":"z"},{"type":"text","text":"Hi"}]},
			{"role":"user","content":"Hi"}],"thinking":{"type":"enabled","budget_tokens":1024},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},
			"output_config":{"effort":"low"},"tools":[{"type":"web_search_20250305","name":"web_search"}],"mcp_servers":[{"type":"url"}]}`,
	}},
	{"/v1/messages/count_tokens", "", "", false, []string{`{"model":"flint","messages":[{"role":"user","content":"Hello"}],"system":"Be brief."}`}},
	{"/tokenize", "", "", false, []string{
		`{"model":"flint","content":"Hello","add_special":true,"parse_special":false,"with_pieces":true}`,
		`{"messages":[{"role":"user","content":"Hello"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
	}},
	{"/detokenize", "", "", false, []string{`{"model":"flint","tokens":[1,2,3]}`}},
	{"/apply-template", "", "", false, []string{`{"model":"flint","add_generation_prompt":false,"messages":[{"role":"user","content":"Hello"}],"tools":[{"type":"function","function":{"name":"f"}}]}`}},
	{"/completion", "", "", true, []string{
		`{"model":"flint","prompt":"Hello","n_predict":2,"temperature":0.5,"seed":1,"n_probs":2,"logit_bias":[[5,-1],["a",false]],"return_tokens":true,"id_slot":0,"cache_prompt":true}`,
		`{"prompt":[5,"a",6],"n_predict":1,"json_schema":` + fuzzSchema + `,"response_fields":["content","timings/prompt_n"],"logit_bias":{"5":1," a":-1}}`,
		`{"prompt":["a",[5,6],["b",5]],"n_predict":2,"grammar":"root ::= [a-z]{1,3} (\"x\" | root)?","stop":["x"]}`,
	}},
	{"/infill", "", "", true, []string{`{"input_prefix":"a","input_suffix":"b","input_extra":[{"filename":"x","text":"y","time":1}],"prompt":"","n_predict":2,"top_k":4,"samplers":["top_k"],"n_indent":1}`}},
	{"/api/chat", "", "", true, []string{
		`{"model":"flint:latest","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}],"think":false,"keep_alive":"5m","logprobs":true,"top_logprobs":2,
			"options":{"num_ctx":512,"num_predict":2,"temperature":0.5,"top_k":5,"top_p":0.9,"min_p":0.1,"seed":-1,"stop":["x"],"repeat_penalty":1.1,"repeat_last_n":64,"mirostat":0,"num_gpu":1}}`,
		`{"model":"flint","stream":false,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"","thinking":"Hm.","tool_calls":[{"function":{"name":"f","arguments":{"city":"x"}}}]},
			{"role":"tool","tool_name":"f","content":"5"}],"options":{"num_predict":2},"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":` + fuzzSchema + `}}]}`,
		`{"model":"flint","messages":[{"role":"user","content":"Hi"}],"format":` + fuzzSchema + `,"keep_alive":0,"truncate":false,"options":{"num_predict":2}}`,
		`{"model":"flint","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"The"}],"options":{"num_predict":2}}`,
		`{"model":"flint","messages":[],"keep_alive":-1}`,
	}},
	{"/api/generate", "", "", true, []string{
		`{"model":"flint","prompt":"Hello","system":"Be brief.","format":"json","options":{"num_predict":2}}`,
		`{"model":"flint","prompt":"Hello","raw":true,"template":"","options":{"num_predict":2}}`,
		`{"model":"flint","prompt":"Hello","context":[4080,4082,436,262],"options":{"num_predict":2}}`,
		`{"model":"flint","prompt":"Hello","suffix":"x","images":[]}`,
	}},
	{"/api/embed", "", "", false, []string{`{"model":"flint","input":["a","b"],"truncate":true,"dimensions":256,"keep_alive":1,"options":{"num_ctx":5}}`}},
	{"/api/embeddings", "", "", false, []string{`{"model":"flint","prompt":"a"}`}},
	{"/api/show", "", "", false, []string{`{"model":"flint","verbose":true}`}},
	{"/api/pull", "", "", false, []string{`{"model":"flint","stream":false}`}},
}

// recipe is bytes that decide how a request is made. When they are used up, the decisions follow from those before.
type recipe struct {
	bytes []byte
	more  *rand.Rand
}

func newRecipe(bytes []byte) *recipe {
	seed := [32]byte{}
	copy(seed[:], bytes)
	return &recipe{bytes, rand.New(rand.NewChaCha8(seed))}
}

// pick returns a number below n.
func (r *recipe) pick(n int) int {
	if len(r.bytes) > 0 {
		b := r.bytes[0]
		r.bytes = r.bytes[1:]
		return int(b) % n
	}
	return r.more.IntN(n)
}

// oddities are values that stand where others should.
var oddities = []func(r *recipe) any{
	func(*recipe) any { return nil },
	func(*recipe) any { return true },
	func(*recipe) any { return "" },
	func(*recipe) any { return "x" },
	func(*recipe) any { return strings.Repeat("long ", 200) },
	func(*recipe) any { return "<|eot_id|>\x00\u202e\U0001f389\ufffd" },
	func(*recipe) any { return json.RawMessage(`"\ud800"`) },
	func(*recipe) any { return json.Number("0") },
	func(*recipe) any { return json.Number("-1") },
	func(*recipe) any { return json.Number("1.5") },
	func(*recipe) any { return json.Number("1e308") },
	func(*recipe) any { return json.Number("-1e-320") },
	func(*recipe) any { return json.Number("9223372036854775807") },
	func(*recipe) any { return json.Number("99999999999999999999999") },
	func(*recipe) any { return []any{} },
	func(*recipe) any { return []any{nil} },
	func(*recipe) any { return []any{"x", json.Number("1")} },
	func(*recipe) any { return fuzzObject{} },
	func(*recipe) any { return fuzzObject{"": nil} },
	func(*recipe) any { return fuzzObject{"type": "x", "name": "f", "$ref": "#"} },
	func(r *recipe) any { // nested deep
		text := bytes.Repeat([]byte([]string{"[", `{"a":`, `{"allOf":[`}[r.pick(3)]), []int{3, 40, 120, 20000}[r.pick(4)])
		return json.RawMessage(text) // not closed: the body becomes no JSON
	},
	func(r *recipe) any {
		n := []int{3, 45, 97, 101}[r.pick(4)]
		return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n))
	},
}

// words are those that interfaces know. In the place of one another may be wrong, or right.
var words = []string{"user", "assistant", "system", "tool", "developer", "function", "text", "image_url", "json_object", "json_schema", "auto", "none",
	"required", "any", "allowed_tools", "float", "base64", "f", "flint", "input_text", "tool_use", "tool_result", "low", "disabled", "json", "5m", "flint:latest", "input_image", "image", "url", "high", "data:", "https://example.org/a.png", "aGk="}

// names are those of parameters, of all interfaces.
var names = []string{"model", "messages", "prompt", "input", "stop", "n", "logprobs", "top_logprobs", "echo", "suffix", "best_of", "tools", "tool_choice", "stream",
	"stream_options", "response_format", "logit_bias", "content", "role", "type", "name", "id", "arguments", "strict", "schema", "store", "functions",
	"previous_response_id", "thinking", "reasoning", "context_management", "return_progress", "repeat_last_n", "system", "dimensions", "input_type", "query", "documents", "top_n", "Model", "max_tokens", "grammar", "json_schema", "n_probs", "response_fields", "$ref", "uniqueItems",
	"options", "format", "keep_alive", "context", "raw", "images", "template", "tool_calls", "num_predict", "num_ctx", "truncate", "image_url", "url", "detail", "source", "data", "media_type", "file_id"}

// change changes a value somewhere within, and returns it.
func (r *recipe) change(v any) any {
	switch v := v.(type) {
	case fuzzObject:
		keys := make([]string, 0, len(v)+1)
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		switch what := r.pick(8); {
		case what == 0 || len(keys) == 0:
			v[names[r.pick(len(names))]] = oddities[r.pick(len(oddities))](r)
		case what == 1:
			delete(v, keys[r.pick(len(keys))])
		case what == 2:
			k := keys[r.pick(len(keys))]
			v[names[r.pick(len(names))]] = v[k]
		case what == 3:
			v[keys[r.pick(len(keys))]] = oddities[r.pick(len(oddities))](r)
		default:
			k := keys[r.pick(len(keys))]
			v[k] = r.change(v[k])
		}
		return v
	case []any:
		switch what := r.pick(6); {
		case what == 0 || len(v) == 0:
			return append(v, oddities[r.pick(len(oddities))](r))
		case what == 1:
			return v[:r.pick(len(v))]
		case what == 2:
			return append(v, v[r.pick(len(v))])
		default:
			i := r.pick(len(v))
			v[i] = r.change(v[i])
			return v
		}
	case string:
		if r.pick(2) == 0 {
			return words[r.pick(len(words))]
		}
	case json.Number:
		if r.pick(2) == 0 {
			return json.Number(fmt.Sprint(r.pick(256) - 100))
		}
	}
	return oddities[r.pick(len(oddities))](r)
}

// request returns a request that the recipe makes of one that is right, and the path that it is for.
func (r *recipe) request(paths []fuzzed) (f fuzzed, body []byte) {
	f = paths[r.pick(len(paths))]
	d := json.NewDecoder(strings.NewReader(f.requests[r.pick(len(f.requests))]))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(fmt.Sprintf("a request for %s is no JSON: %v", f.path, err)) // a test's own mistake
	}
	if f.stream && r.pick(2) == 0 {
		v.(fuzzObject)["stream"] = true
	}
	for range r.pick(4) {
		v = r.change(v)
	}
	body = encode(v)
	switch r.pick(16) {
	case 0: // ends early
		body = body[:r.pick(len(body)+1)]
	case 1: // has an odd byte
		if len(body) > 0 {
			body[r.more.IntN(len(body))] = byte(r.pick(256))
		}
	case 2: // goes on
		body = append(body, "{}"...)
	case 3: // has a name twice
		body = bytes.Replace(body, []byte(`,"m`), []byte(`,"model":"flint","m`), 1)
	}
	return f, body
}

// encode writes a value as JSON, those of its parts that are no JSON as they are.
func encode(v any) []byte {
	var b bytes.Buffer
	var write func(v any)
	write = func(v any) {
		switch v := v.(type) {
		case fuzzObject:
			b.WriteByte('{')
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for i, k := range keys {
				if i > 0 {
					b.WriteByte(',')
				}
				write(k)
				b.WriteByte(':')
				write(v[k])
			}
			b.WriteByte('}')
		case []any:
			b.WriteByte('[')
			for i, one := range v {
				if i > 0 {
					b.WriteByte(',')
				}
				write(one)
			}
			b.WriteByte(']')
		case json.RawMessage:
			b.Write(v)
		default:
			text, err := json.Marshal(v)
			if err != nil {
				panic(err) // a test's own mistake
			}
			b.Write(text)
		}
	}
	write(v)
	return b.Bytes()
}

// FuzzRequests posts requests that are nearly right to every path, and checks that the server never fails: the status is success or names a
// mistake, never 500; nothing panics, nothing hangs; each error says something and names the wrong parameter, if there is one; and answers
// have the form that was asked for.
func FuzzRequests(f *testing.F) {
	model, err := embedded()
	if err != nil {
		f.Fatal(err)
	}
	// The work done once for a vocabulary would count as the first input's time. The fuzzer's instruments make it many times as long, and
	// the fuzzer takes ten seconds for a hang.
	if _, err := constrain.JSON(model.Tokenizer()); err != nil {
		f.Fatal(err)
	}
	server, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}, MaxTokens: 2, MaxBody: 1 << 16, Timeout: 20 * time.Second})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := server.Close(); err != nil {
			f.Error(err)
		}
	})
	for i, path := range fuzzedPaths {
		for k := range path.requests {
			for seed := range 4 {
				f.Add([]byte{byte(i), byte(k), byte(seed), byte(seed), byte(seed * 37), byte(seed * 101)})
			}
		}
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		path, body := newRecipe(bytes).request(fuzzedPaths)
		check(t, server, path, body)
	})
}

// check posts a request and checks the answer.
func check(t *testing.T, server http.Handler, f fuzzed, body []byte) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, f.path, io.NopCloser(bytes.NewReader(body)))
	r.Header.Set("Content-Type", "application/json")
	if units := cost.Units(func() { server.ServeHTTP(w, r) }); units > 50 {
		t.Errorf("%s took %.0f units of processor time: %.2000s", f.path, units, body)
	}
	answer := w.Body.Bytes()
	switch {
	case w.Code == http.StatusOK && strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream"):
		for _, data := range events(t, string(answer)) {
			if data == "[DONE]" {
				continue
			}
			if !json.Valid([]byte(data)) {
				t.Fatalf("%s streams %q for %.2000s", f.path, data, body)
			}
			if strings.Contains(data, `"error":{`) {
				t.Fatalf("%s streams the error %s for %.2000s", f.path, data, body)
			}
			if f.event != "" {
				openapi.Validate(t, f.event, []byte(data))
			}
		}
	case w.Code == http.StatusOK && w.Header().Get("Content-Type") == "application/x-ndjson":
		for line := range strings.Lines(string(answer)) {
			if !json.Valid([]byte(line)) || strings.Contains(line, `"error":`) {
				t.Fatalf("%s streams %q for %.2000s", f.path, line, body)
			}
		}
	case w.Code == http.StatusOK:
		if !json.Valid(answer) {
			t.Fatalf("%s answers %q to %.2000s", f.path, answer, body)
		}
		if f.schema != "" {
			// A prompt's first token has no log-probability. OpenAI answers null, which its schema does not know.
			answer = bytes.ReplaceAll(answer, []byte(`"token_logprobs":[null`), []byte(`"token_logprobs":[0`))
			answer = bytes.ReplaceAll(answer, []byte(`"top_logprobs":[null`), []byte(`"top_logprobs":[{}`))
			openapi.Validate(t, f.schema, answer)
		}
	case slices.Contains([]int{400, 404, 413}, w.Code) && strings.HasPrefix(f.path, "/api/"):
		var e struct{ Error string }
		if err := json.Unmarshal(answer, &e); err != nil || len(e.Error) < 10 {
			t.Fatalf("%s: the error is %s for %.2000s", f.path, answer, body)
		}
	case slices.Contains([]int{400, 404, 413}, w.Code):
		var e struct {
			Error struct {
				Message, Type, Code string
				Param               *string
			}
		}
		if err := json.Unmarshal(answer, &e); err != nil || len(e.Error.Message) < 10 || e.Error.Type == "" {
			t.Fatalf("%s: the error is %s for %.2000s", f.path, answer, body)
		}
		// Anthropic's errors have no place for the parameter: it is in the message. A body that is no JSON has no parameter.
		if !strings.HasPrefix(f.path, "/v1/messages") && (e.Error.Param == nil) != slices.Contains(paramless, e.Error.Code) {
			t.Fatalf("%s: the error is %s for %.2000s", f.path, answer, body)
		}
	default:
		t.Fatalf("%s: status %d, %s for %.2000s", f.path, w.Code, answer, body)
	}
	if t.Failed() {
		t.Fatalf("%s answers status %d, %s to %.2000s", f.path, w.Code, answer, body)
	}
}

// paramless are the codes of errors that are about no single parameter.
var paramless = []string{"invalid_json", "invalid_body", "request_too_large"}
