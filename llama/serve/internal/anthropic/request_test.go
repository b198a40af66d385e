package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// read reads a request's body.
func read(body string, headers ...string) (question, error) {
	api := &API{Service: &ask.Service{MaxBody: 1 << 20, MaxAnswers: 1, Strict: true}}
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	_, q, err := api.read(httptest.NewRecorder(), r, false)
	return q, err
}

const (
	head  = `"model":"m","max_tokens":5,`
	hello = head + `"messages":[{"role":"user","content":"Hello"}]`
	// weather is a function.
	weather = `{"name":"weather","description":"Tells the weather.","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}`
)

// Conversations become those of package llama.
func TestConversation(t *testing.T) {
	call := llama.ToolCall{ID: "c1", Name: "weather", Arguments: []byte(`{"city":"Rome"}`)}
	other := llama.ToolCall{ID: "c2", Name: "now", Arguments: []byte(`{}`)}
	const uses = `{"type":"tool_use","id":"c1","name":"weather","input":{"city":"Rome"}},{"type":"tool_use","id":"c2","name":"now","input":{},"caller":{"type":"direct"}}`
	user := llama.Message{Role: "user", Content: "Hello"}
	for _, c := range []struct {
		name, body string
		want       []llama.Message
		begun      string
	}{
		{"a string", `"messages":[{"role":"user","content":"Hello"}]`, []llama.Message{user}, ""},
		{"blocks", `"messages":[{"role":"user","content":[{"type":"text","text":"Hel","cache_control":{"type":"ephemeral"}},{"type":"text","text":"lo","citations":[]}]}]`,
			[]llama.Message{user}, ""},
		{"system", `"system":"Be brief.","messages":[{"role":"user","content":"Hello"}]`, []llama.Message{{Role: "system", Content: "Be brief."}, user}, ""},
		{"system in blocks", `"system":[{"type":"text","text":"Be "},{"type":"text","text":"brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[{"role":"user","content":"Hello"}]`,
			[]llama.Message{{Role: "system", Content: "Be brief."}, user}, ""},
		{"empty system", `"system":"","messages":[{"role":"user","content":"Hello"}]`, []llama.Message{user}, ""},
		{"system further on", `"messages":[{"role":"user","content":"Hello"},{"role":"system","content":"Be brief."}]`,
			[]llama.Message{user, {Role: "system", Content: "Be brief."}}, ""},
		{"nothing said", `"messages":[{"role":"user","content":[]}]`, []llama.Message{{Role: "user"}}, ""},
		{"an answer begun", `"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":[{"type":"text","text":"Hi "}]}]`, []llama.Message{user}, "Hi "},
		{"an answer begun with nothing", `"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":[]}]`, []llama.Message{user}, ""},
		{"calls and results", `"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":[{"type":"text","text":"Let me see."},` + uses + `]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2"},
				{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"17 "},{"type":"text","text":"degrees"}],"is_error":false},
				{"type":"text","text":"Thanks"}]}]`,
			[]llama.Message{user, {Role: "assistant", Content: "Let me see.", ToolCalls: []llama.ToolCall{call, other}},
				{Role: "tool", Name: "now", ToolCallID: "c2"}, {Role: "tool", Name: "weather", ToolCallID: "c1", Content: "17 degrees"}, {Role: "user", Content: "Thanks"}}, ""},
		{"thoughts", `"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},
			{"type":"redacted_thinking","data":"y"},{"type":"text","text":"Hi"}]},{"role":"user","content":"Hello"}]`,
			[]llama.Message{user, {Role: "assistant", Content: "Hi", Thinking: "hm"}, user}, ""},
		{"a call without a result, and one that was cut off", `"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":[{"type":"tool_use","id":"c2","name":"now"},
			{"type":"tool_use","id":"c1","name":"weather","input":"{\"city\":\"Rome\",\"days\":"}]},{"role":"user","content":"Well?"}]`,
			[]llama.Message{user, {Role: "assistant", ToolCalls: []llama.ToolCall{other, call}}, {Role: "user", Content: "Well?"}}, ""},
		{"texts of several kinds", `"messages":[{"role":"user","content":[{"type":"document","title":"T","source":{"type":"text","media_type":"text/plain","data":"d"}},
			{"type":"document","source":{"type":"content","content":[{"type":"text","text":"e"}]}},{"type":"search_result","source":"s","title":"U","content":[{"type":"text","text":"f"}]}]}]`,
			[]llama.Message{{Role: "user", Content: "T\nd\n\ne\n\nU\ns\nf\n\n"}}, ""},
		{"results in two messages, one failed", `"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":[` + uses + `]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"no network","is_error":true}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"12:00"}]}]`,
			[]llama.Message{user, {Role: "assistant", ToolCalls: []llama.ToolCall{call, other}},
				{Role: "tool", Name: "weather", ToolCallID: "c1", Content: "Error: no network"}, {Role: "tool", Name: "now", ToolCallID: "c2", Content: "12:00"}}, ""},
	} {
		q, err := read(`{` + head + c.body + `}`)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !reflect.DeepEqual(q.history, c.want) || q.begun != c.begun {
			t.Errorf("%s: %+v %q", c.name, q.history, q.begun)
		}
		if len(q.places) < len(q.history) {
			t.Errorf("%s: %d messages have %d places", c.name, len(q.history), len(q.places))
		}
	}
}

// Functions and the choice among them become those of packages llama and constrain.
func TestTools(t *testing.T) {
	const odd = `{"type":"custom","name":"now","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"},"defer_loading":false,"eager_input_streaming":true,` +
		`"input_examples":[],"allowed_callers":["direct"]`
	for _, c := range []struct {
		choice string
		want   constrain.ToolOptions
	}{
		{`null`, constrain.ToolOptions{Lossy: true}},
		{`{"type":"auto"}`, constrain.ToolOptions{Lossy: true}},
		{`{"type":"auto","disable_parallel_tool_use":true}`, constrain.ToolOptions{Lossy: true, Single: true}},
		{`{"type":"any"}`, constrain.ToolOptions{Lossy: true, Choice: constrain.ToolRequired}},
		{`{"type":"any","disable_parallel_tool_use":true}`, constrain.ToolOptions{Lossy: true, Choice: constrain.ToolRequired, Single: true}},
		{`{"type":"tool","name":"now"}`, constrain.ToolOptions{Lossy: true, Choice: constrain.ToolRequired, Function: "now"}},
		{`{"type":"none"}`, constrain.ToolOptions{Lossy: true, Choice: constrain.ToolNone}},
	} {
		q, err := read(`{` + hello + `,"tools":[` + weather + `,` + odd + `}],"tool_choice":` + c.choice + `}`)
		if err != nil {
			t.Errorf("%s: %v", c.choice, err)
			continue
		}
		if !reflect.DeepEqual(q.tools.offer.Options, c.want) {
			t.Errorf("%s: %+v", c.choice, q.tools.offer.Options)
		}
		if list := fmt.Sprintf("%s", q.tools.offer.List); list != `[{"type":"function","function":{"name":"weather","description":"Tells the weather.",`+
			`"parameters":{"type":"object","properties":{"city":{"type":"string"}}}}} {"type":"function","function":{"name":"now","parameters":{"type":"object"}}}]` {
			t.Errorf("the functions are %s", list)
		}
	}
	strict := strings.TrimSuffix(weather, "}") + `,"strict":true}`
	for _, c := range []struct {
		tools  string
		eager  bool
		strict []string
	}{
		{weather + `,` + odd + `}`, true, nil},
		{strict + `,` + odd + `,"strict":false}`, true, []string{"weather"}},
		{strict + `,` + odd + `,"strict":true}`, true, []string{"weather", "now"}},
		{strings.TrimSuffix(weather, "}") + `,"eager_input_streaming":false},` + odd + `}`, false, nil},
	} {
		q, err := read(`{`+hello+`,"tools":[`+c.tools+`]}`, "Anthropic-Beta", "no-such-feature")
		if err != nil {
			t.Error(err)
			continue
		}
		if o := q.tools.offer; q.tools.eager != c.eager || !o.Options.Lossy || !reflect.DeepEqual(o.Strict, c.strict) {
			t.Errorf("%s: eager %v, %+v", c.tools, q.tools.eager, o)
		}
	}
}

// Members that cannot change the answer, or that ask for the usual, are accepted.
func TestHarmless(t *testing.T) {
	for _, member := range []string{
		`"metadata":{"user_id":"u"}`, `"service_tier":"auto"`, `"cache_control":{"type":"ephemeral"}`, `"thinking":{"type":"disabled"}`, `"thinking":null`,
		`"mcp_servers":[]`, `"context_management":{"edits":[]}`, `"output_config":{}`, `"output_config":{"effort":"high","format":null}`,
		`"container":null`, `"tools":[]`, `"tool_choice":{"type":"auto"}`, `"stop_sequences":[]`, `"top_k":5,"top_p":0.9,"min_p":0.1,"seed":-1`,
		`"system":[]`, `"betas":["x"]`, `"speed":"standard"`, `"fallbacks":[]`, `"thinking":{"type":"enabled","budget_tokens":1024}`,
		`"thinking":{"type":"adaptive","display":"omitted"}`, `"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`,
		`"output_config":{"effort":"low","task_budget":{"type":"tokens","total":9}}`, `"diagnostics":{}`, `"client_metadata":{}`, `"typical_p":1.0`,
	} {
		if _, err := read(`{` + hello + `,` + member + `}`); err != nil {
			t.Errorf("%s: %v", member, err)
		}
	}
}

// The form of an answer stands in one of two places.
func TestForm(t *testing.T) {
	for _, c := range []struct{ member, place string }{
		{`"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`, "output_config.format"},
		{`"output_format":{"type":"json_schema","schema":{"type":"object"}}`, "output_format"},
	} {
		q, err := read(`{` + hello + `,` + c.member + `}`)
		if err != nil || string(q.form.Schema) != `{"type":"object"}` || q.form.Lossy || q.names["schema"] != c.place {
			t.Errorf("%s: %v, %+v at %s", c.member, err, q.form, q.names["schema"])
		}
	}
}

// Everything that is not understood or not done is an error with status 400 that names its place.
func TestRefused(t *testing.T) {
	message := func(content string) string { return head + `"messages":[{"role":"user","content":` + content + `}]` }
	answer := func(content, next string) string {
		return head + `"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":` + content + `}` + next + `]`
	}
	const use = `{"type":"tool_use","id":"c1","name":"f","input":{}}`
	type refusal struct{ body, param string }
	cases := []refusal{
		{`"model":"m","messages":[{"role":"user","content":"Hello"}]`, "max_tokens"},
		{`"model":"m","max_tokens":0,"messages":[{"role":"user","content":"Hello"}]`, "max_tokens"},
		{`"model":"m","max_tokens":1.5,"messages":[{"role":"user","content":"Hello"}]`, "max_tokens"},
		{head[:len(head)-1], "messages"},
		{head + `"messages":[]`, "messages"},
		{head + `"messages":"Hello"`, "messages"},
		{head + `"messages":["Hello"]`, "messages[0]"},
		{head + `"messages":[null]`, "messages[0]"},
		{head + `"messages":[{"content":"Hello"}]`, "messages[0].role"},
		{head + `"messages":[{"role":"tool","content":"Hello"}]`, "messages[0].role"},
		{head + `"messages":[{"role":"user","content":"Hello","name":"Ann"}]`, "messages[0].name"},
		{message(`12`), "messages[0].content"},
		{message(`{"type":"text","text":"x"}`), "messages[0].content"},
		{message(`["x"]`), "messages[0].content[0]"},
		{message(`[{"text":"x"}]`), "messages[0].content[0]"},
		{message(`[{"type":1}]`), "messages[0].content[0]"},
		{message(`[{"type":"text"}]`), "messages[0].content[0].text"},
		{message(`[{"type":"text","text":5}]`), "messages[0].content[0].text"},
		{message(`[{"type":"text","text":"x","citations":[{"type":"char_location"}]}]`), "messages[0].content[0].citations"},
		{message(`[{"type":"text","text":"x","size":3}]`), "messages[0].content[0].size"},
		{message(`[{"type":"text","text":"x"},` + use + `]`), "messages[0].content[1]"},
		{message(`[{"type":"tool_result","tool_use_id":"c1","content":"17"}]`), "messages[0].content[0].tool_use_id"},
		{answer(`[{"type":"tool_result","tool_use_id":"c1"}]`, ""), "messages[1].content[0]"},
		{answer(`[`+use+`]`, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","toolset_name":"browser"}]}`), "messages[2].content[0].toolset_name"},
		{answer(`[`+use+`,`+use+`]`, ""), "messages[1].content[1].id"},
		{answer(`[{"type":"tool_use","name":"f","input":{}}]`, ""), "messages[1].content[0].id"},
		{answer(`[{"type":"tool_use","id":"c1","input":{}}]`, ""), "messages[1].content[0].name"},
		{answer(`[{"type":"tool_use","id":"c1","name":"f","input":{},"caller":{"type":"code_execution_20250825"}}]`, ""), "messages[1].content[0].caller"},
		{answer(`"Well"`, "") + `,"output_config":{"format":{"type":"json_schema","schema":{}}}`, "messages[1]"},
		{hello + `,"system":7`, "system"},
		{hello + `,"temperature":1.5`, "temperature"},
		{hello + `,"temperature":-1`, "temperature"},
		{hello + `,"temperature":"hot"`, "temperature"},
		{hello + `,"stop_sequences":[""]`, "stop_sequences[0]"},
		{hello + `,"stop_sequences":"x"`, "stop_sequences"},
		{hello + `,"stop":"x"`, "stop"},
		{hello + `,"max_completion_tokens":5`, "max_completion_tokens"},
		{hello + `,"stream":"yes"`, "stream"},
		{hello + `,"thinking":{"type":"enabled","budget_tokens":0}`, "thinking.budget_tokens"},
		{hello + `,"thinking":{"type":"deep"}`, "thinking.type"},
		{hello + `,"thinking":{"budget_tokens":1024}`, "thinking.type"},
		{hello + `,"thinking":true`, "thinking"},
		{hello + `,"container":"c"`, "container"},
		{hello + `,"mcp_servers":[{"type":"url"}]`, "mcp_servers"},
		{hello + `,"context_management":{"edits":[{"type":"clear_thinking_20251015"},{"type":"clear_tool_uses_20250919"}]}`, "context_management.edits[1]"},
		{hello + `,"compaction":{}`, "compaction"},
		{hello + `,"fallbacks":[{}]`, "fallbacks"},
		{hello + `,"fallback_credit_token":"x"`, "fallback_credit_token"},
		{hello + `,"inference_geo":"eu"`, "inference_geo"},
		{hello + `,"thread":{"type":"create"}`, "thread"},
		{hello + `,"output_config":{"effort":"little"}`, "output_config.effort"},
		{hello + `,"output_config":{"format":"json"}`, "output_config.format"},
		{hello + `,"output_config":{"format":{"type":"text"}}`, "output_config.format.type"},
		{hello + `,"output_config":{"format":{"type":"json_schema"}}`, "output_config.format.schema"},
		{hello + `,"output_config":{"format":{"type":"json_schema","schema":{},"strict":true}}`, "output_config.format.strict"},
		{hello + `,"output_format":{"type":"json_schema","schema":{}},"output_config":{"format":{"type":"json_schema","schema":{}}}`, "output_format"},
		{hello + `,"tools":{}`, "tools"},
		{hello + `,"tools":["weather"]`, "tools[0]"},
		{hello + `,"tools":[` + weather + strings.Repeat(`,`+weather, ask.MaxTools) + `]`, "tools[1].name"},
		{`"max_tokens":1,"messages":[1` + strings.Repeat(`,1`, 1<<14) + `]`, "messages"},
		{hello + `,"tools":[{"input_schema":{}}]`, "tools[0].name"},
		{hello + `,"tools":[{"name":"f"}]`, "tools[0].input_schema"},
		{hello + `,"tools":[{"name":"f","input_schema":true}]`, "tools[0].input_schema"},
		{hello + `,"tools":[` + weather + `,` + weather + `]`, "tools[1].name"},
		{hello + `,"tools":[{"name":"f","input_schema":{},"input_examples":[{}]}]`, "tools[0].input_examples"},
		{hello + `,"tools":[{"name":"f","input_schema":{},"defer_loading":true}]`, "tools[0].defer_loading"},
		{hello + `,"tools":[{"name":"f","input_schema":{},"allowed_callers":["code_execution_20250825"]}]`, "tools[0].allowed_callers"},
		{hello + `,"tools":[{"type":"function","function":{"name":"f"}}]`, "tools[0].type"},
		{hello + `,"tools":[` + weather + `],"tool_choice":"auto"`, "tool_choice"},
		{hello + `,"tools":[` + weather + `],"tool_choice":{"type":"required"}`, "tool_choice.type"},
		{hello + `,"tools":[` + weather + `],"tool_choice":{"type":"tool"}`, "tool_choice.name"},
		{hello + `,"tools":[` + weather + `],"tool_choice":{"type":"tool","name":"now"}`, "tool_choice.name"},
		{hello + `,"tools":[` + weather + `],"tool_choice":{"type":"any","name":"weather"}`, "tool_choice.name"},
		{hello + `,"tool_choice":{"type":"any"}`, "tool_choice"},
	}
	for _, kind := range []string{"document", "thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result", "container_upload"} {
		cases = append(cases, refusal{message(`[{"type":"text","text":"x"},{"type":"` + kind + `","source":{}}]`), "messages[0].content[1]"})
	}
	for _, kind := range []string{"bash_20250124", "text_editor_20250728", "web_search_20250305", "code_execution_20250825", "memory_20250818", "mcp_toolset"} {
		cases = append(cases, refusal{hello + `,"tools":[` + weather + `,{"type":"` + kind + `","name":"x","max_uses":3}]`, "tools[1]"})
	}
	for _, c := range cases {
		_, err := read(`{` + c.body + `}`)
		e, ok := errors.AsType[*wire.Error](err)
		if !ok || e.Status != http.StatusBadRequest || e.Param != c.param {
			t.Errorf("%s: %#v", c.body, err)
			continue
		}
		if told := Shape(e).(failure); !strings.Contains(told.Error.Message, c.param) || told.Error.Type != "invalid_request_error" {
			t.Errorf("%s: %+v", c.body, told)
		}
	}
}

// Every status has Anthropic's word.
func TestShape(t *testing.T) {
	for status, want := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 405: "invalid_request_error",
		413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 503: "overloaded_error", 504: "timeout_error", 529: "api_error",
	} {
		f := Shape(&wire.Error{Status: status, Param: "a.b", Message: "it is wrong", Request: "req_1"}).(failure)
		if f.Type != "error" || f.Error.Type != want || f.Error.Message != "a.b: it is wrong" || f.Request != "req_1" {
			t.Errorf("%d: %+v", status, f)
		}
	}
}

// Whatever a body has, the request is read or refused with a status that says that the client is at fault.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{` + hello + `}`, `{` + hello + `,"tools":[` + weather + `],"tool_choice":{"type":"tool","name":"weather"},"system":[{"type":"text","text":"x"}]}`,
		`{` + head + `"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[]}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}]}`,
		`{` + hello + `,"output_config":{"format":{"type":"json_schema","schema":{}}},"thinking":{"type":"disabled"},"stop_sequences":["a"],"temperature":0.5}`,
		`{"messages":[{"role":"user","content":[null,1,{"type":[]}]}],"tools":[null],"tool_choice":0}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		_, err := read(body)
		if err == nil {
			return
		}
		e, ok := errors.AsType[*wire.Error](err)
		if !ok || e.Status != http.StatusBadRequest && e.Status != http.StatusRequestEntityTooLarge {
			t.Fatalf("%v", err)
		}
		if told := Shape(e).(failure); !strings.Contains(told.Error.Message, e.Param) {
			t.Fatalf("%+v", told)
		}
	})
}
