package responses

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// read reads a request as Create does, until a model is needed.
func read(body string) (*request, llama.Params, error) {
	var in request
	if err := wire.Parse([]byte(body), rules, &in); err != nil {
		return nil, llama.Params{}, err
	}
	p, err := in.params(context.Background())
	if err == nil {
		var tools ask.Tools
		if tools, err = in.readTools(); err == nil {
			err = (&ask.Service{Strict: true}).LeaveOut(context.Background(), in.leftOut(tools))
		}
	}
	return &in, p, err
}

// TestParameters shows that each published parameter is read, or has a rule.
func TestParameters(t *testing.T) {
	known := wire.Names(&request{}, rules)
	for _, name := range openapi.Parameters("CreateResponse") {
		if !slices.Contains(known, name) {
			t.Errorf("%s is neither read nor has it a rule", name)
		}
	}
	for name := range rules {
		_, sampling := ask.SamplingRules[name]
		if sampling || slices.Contains([]string{"client_metadata", "session_id", "request_id"}, name) {
			continue // other servers' parameters, and what programs send along
		}
		if !slices.Contains(openapi.Parameters("CreateResponse"), name) {
			t.Errorf("there is a rule for %s, which is no published parameter", name)
		}
	}
}

func TestIncludeKnowsAll(t *testing.T) {
	for value := range vacuous {
		openapi.Validate(t, "CreateResponse", []byte(`{"model":"m","input":"a","include":["`+value+`"]}`))
	}
}

// weather is a function on offer.
const weather = `{"type":"function","name":"weather","description":"Tells the weather.","parameters":{"type":"object","properties":{"city":{"type":"string"}}},"strict":true}`

// TestHarmless are requests that are taken as if the member were not there.
func TestHarmless(t *testing.T) {
	for _, member := range []string{
		`"store":false`, `"store":null`, `"previous_response_id":null`, `"conversation":null`, `"prompt":null`, `"background":false`,
		`"truncation":"disabled"`, `"context_management":null`, `"max_tool_calls":null`, `"moderation":null`, `"service_tier":"flex"`,
		`"prompt_cache_retention":"24h"`, `"prompt_cache_options":{"mode":"x"}`, `"reasoning":null`, `"reasoning":{}`,
		`"reasoning":{"effort":null,"summary":null}`, `"reasoning":{"effort":"none"}`, `"text":null`, `"text":{}`, `"text":{"format":{"type":"text"}}`,
		`"text":{"verbosity":"medium"}`, `"include":null`, `"include":[]`, `"include":["reasoning.encrypted_content"]`, `"tools":[]`, `"tools":null`,
		`"tool_choice":"auto"`, `"tool_choice":"none"`, `"tool_choice":null`, `"parallel_tool_calls":true`, `"instructions":null`, `"instructions":""`,
		`"max_output_tokens":null`, `"top_logprobs":0`, `"temperature":1`, `"top_p":1`, `"top_p":null`, `"stream":false`, `"stream_options":null`,
		`"metadata":{"a":"b"}`, `"user":"u"`, `"safety_identifier":"s"`, `"prompt_cache_key":"k"`,
		`"reasoning":{"effort":"low","summary":"auto"}`, `"client_metadata":{"a":"b"}`, `"typical_p":1.0`, `"dry_multiplier":0`, `"repeat_last_n":5`,
	} {
		in, p, err := read(`{"input":"a","seed":7,` + member + `}`)
		if err != nil {
			t.Errorf("%s: %v", member, err)
			continue
		}
		want := llama.Params{Temperature: 1, Seed: 7}
		if p.TopP == 1 {
			want.TopP = 1 // the same
		}
		tools, _ := in.readTools()
		history, _ := in.conversation()
		if tools.Options.Choice == constrain.ToolNone {
			tools.Options.Choice = constrain.ToolAuto // of no tools, the same
		}
		if !reflect.DeepEqual(p, want) || len(tools.List) > 0 || !reflect.DeepEqual(tools.Options, constrain.ToolOptions{}) || in.Text.form().Schema != nil || len(history) != 1 {
			t.Errorf("%s: %+v, %+v, %v", member, p, tools, history)
		}
	}
}

// TestRefused are requests that are errors, of these codes at these places.
func TestRefused(t *testing.T) {
	const value, unsupported, unknown, kind, missing = "invalid_value", "unsupported_parameter", "unknown_parameter", "invalid_type", "missing_required_parameter"
	for _, c := range []struct{ members, param, code string }{
		{``, "input", missing},
		{`"input":null`, "input", missing},
		{`"input":7`, "input", kind},
		{`"input":[]`, "input", value},
		{`"input":"a","frobnicate":1`, "frobnicate", unknown},
		{`"input":"a","n":2`, "n", unknown},
		{`"input":"a","messages":[]`, "messages", unknown},
		{`"input":"a","Temperature":1`, "Temperature", unknown},
		{`"input":"a","input":"a"`, "input", value},
		{`"input":"a","store":true`, "store", unsupported},
		{`"input":"a","previous_response_id":"resp_1"`, "previous_response_id", unsupported},
		{`"input":"a","conversation":"conv_1"`, "conversation", unsupported},
		{`"input":"a","conversation":{"id":"conv_1"}`, "conversation", unsupported},
		{`"input":"a","prompt":{"id":"p"}`, "prompt", unsupported},
		{`"input":"a","background":true`, "background", unsupported},
		{`"input":"a","truncation":"some"`, "truncation", value},
		{`"input":"a","context_management":[{"type":"compaction"}]`, "context_management", unsupported},
		{`"input":"a","max_tool_calls":1`, "max_tool_calls", unsupported},
		{`"input":"a","moderation":{"model":"m"}`, "moderation", unsupported},
		{`"input":"a","reasoning":{"effort":"little"}`, "reasoning.effort", value},
		{`"input":"a","reasoning":{"effort":7}`, "reasoning.effort", kind},
		{`"input":"a","reasoning":{"max_tokens":0}`, "reasoning.max_tokens", value},
		{`"input":"a","typical_p":0.5`, "typical_p", unsupported},
		{`"input":"a","text":{"verbosity":"loud"}`, "text.verbosity", value},
		{`"input":"a","reasoning":{"depth":1}`, "reasoning.depth", unknown},
		{`"input":"a","reasoning":"none"`, "reasoning", kind},
		{`"input":"a","text":{"verbosity":"low"}`, "text.verbosity", unsupported},
		{`"input":"a","text":{"format":{"type":"xml"}}`, "text.format.type", value},
		{`"input":"a","text":{"format":{}}`, "text.format.type", missing},
		{`"input":"a","text":{"format":"text"}`, "text.format", kind},
		{`"input":"a","text":{"format":{"type":"text","schema":{}}}`, "text.format.schema", value},
		{`"input":"a","text":{"format":{"type":"json_schema","name":"n"}}`, "text.format.schema", missing},
		{`"input":"a","text":{"format":{"type":"json_schema","schema":{}}}`, "text.format.name", missing},
		{`"input":"a","text":{"format":{"type":"json_schema","json_schema":{"name":"n","schema":{}}}}`, "text.format.json_schema", unknown},
		{`"input":"a","text":{"form":1}`, "text.form", unknown},
		{`"input":"a","response_format":{"type":"text"}`, "response_format", unknown},
		{`"input":"a","include":"x"`, "include", kind},
		{`"input":"a","include":["message.output_text.logprobs","message.output_text"]`, "include[1]", value},
		{`"input":"a","top_logprobs":21,"include":["message.output_text.logprobs"]`, "top_logprobs", value},
		{`"input":"a","top_logprobs":-1`, "top_logprobs", value},
		{`"input":"a","top_logprobs":2`, "top_logprobs", value},
		{`"input":"a","max_output_tokens":0`, "max_output_tokens", value},
		{`"input":"a","max_output_tokens":-1`, "max_output_tokens", value},
		{`"input":"a","max_output_tokens":1.5`, "max_output_tokens", kind},
		{`"input":"a","max_tokens":5`, "max_tokens", unknown},
		{`"input":"a","temperature":2.5`, "temperature", value},
		{`"input":"a","metadata":{"a":1}`, "metadata.a", kind},
		{`"input":"a","user":1`, "user", kind},
		{`"input":"a","stream":"yes"`, "stream", kind},
		{`"input":"a","stream":true,"stream_options":{"include_obfuscation":true}`, "stream_options.include_obfuscation", unsupported},
		{`"input":"a","stream":true,"stream_options":{"include_usage":true}`, "stream_options.include_usage", unknown},
		{`"input":"a","instructions":["a"]`, "instructions", kind},

		{`"input":"a","tools":[{"type":"web_search"}]`, "tools[0]", unsupported},
		{`"input":"a","tools":{}`, "tools", kind},
		{`"input":"a","tools":[` + weather + `,7]`, "tools[1]", kind},
		{`"input":"a","tools":[{"type":"function"}]`, "tools[0].name", missing},
		{`"input":"a","tools":[{"type":"function","function":{"name":"f"}}]`, "tools[0].function", unknown},
		{`"input":"a","tools":[{"type":"function","name":"f","defer_loading":true}]`, "tools[0].defer_loading", unsupported},
		{`"input":"a","tools":[{"type":"function","name":"f","output_schema":{}}]`, "tools[0].output_schema", unsupported},
		{`"input":"a","tools":[{"type":"function","name":"f","allowed_callers":["direct"]}]`, "tools[0].allowed_callers", unsupported},
		{`"input":"a","tools":[` + weather + `,` + weather + `]`, "tools[1].name", value},
		{`"input":"a","tool_choice":"required"`, "tool_choice", value},
		{`"input":"a","tool_choice":"maybe"`, "tool_choice", value},
		{`"input":"a","tool_choice":7`, "tool_choice", kind},
		{`"input":"a","tools":[` + weather + `],"tool_choice":{"type":"function","name":"time"}`, "tool_choice.name", value},
		{`"input":"a","tools":[` + weather + `],"tool_choice":{"type":"function"}`, "tool_choice.name", missing},
		{`"input":"a","tools":[` + weather + `],"tool_choice":{"type":"web_search"}`, "tool_choice.type", unsupported},
		{`"input":"a","tools":[` + weather + `],"tool_choice":{"type":"allowed_tools","mode":"none","tools":[]}`, "tool_choice.mode", value},
		{`"input":"a","tools":[` + weather + `],"tool_choice":{"type":"allowed_tools","tools":[]}`, "tool_choice.mode", missing},
		{`"input":"a","tools":[` + weather + `],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[]}`, "tool_choice.tools", value},
		{`"input":"a","tools":[` + weather + `],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp"}]}`, "tool_choice.tools[0].type", unsupported},
		{`"input":"a","tools":[` + weather + `],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"time"}]}`, "tool_choice.tools[0].name", value},

		{`"input":"a","tools":[{"type":"function","name":"f","parameters":true}]`, "tools[0].parameters", kind},
		{`"input":"a","tools":[{"type":7,"name":"f"}]`, "tools[0].type", kind},
		{`"input":[7]`, "input[0]", kind},
		{`"input":[null]`, "input[0]", kind},
		{`"input":[{}]`, "input[0].role", missing},
		{`"input":[{"role":"wizard","content":"a"}]`, "input[0].role", value},
		{`"input":[{"role":"tool","content":"a"}]`, "input[0].role", value},
		{`"input":[{"role":"user","content":"a","name":"Ann"}]`, "input[0].name", unsupported},
		{`"input":[{"role":"user","content":7}]`, "input[0].content", kind},
		{`"input":[{"role":"user","content":["a"]}]`, "input[0].content[0]", kind},
		{`"input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]`, "input[0].content[0].type", unsupported},
		{`"input":[{"role":"user","content":[{"type":"input_text"}]}]`, "input[0].content[0].text", missing},
		{`"input":[{"role":"user","content":[{"type":"input_text","text":7}]}]`, "input[0].content[0].text", kind},
		{`"input":[{"role":"user","content":[{"type":"input_text","text":"a","colour":"red"}]}]`, "input[0].content[0].colour", unsupported},
		{`"input":[{"role":"assistant","content":[{"type":"output_text","text":"a","annotations":[{"type":"url_citation"}]}]}]`, "input[0].content[0].annotations", unsupported},
		{`"input":[{"role":"user","content":"a"},{"type":"item_reference","id":"msg_1"}]`, "input[1].type", unsupported},
		{`"input":[{"id":"msg_1"}]`, "input[0].type", unsupported},
		{`"input":[{"role":"user","content":"a"},{"type":"web_search_call","id":"w"}]`, "input[1]", unsupported},
		{`"input":[{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"xyz"}]`, "input", value},
		{`"input":[{"role":"user","content":"a"},{"type":"reasoning","id":"r","depth":1}]`, "input[1].depth", unsupported},
		{`"input":[{"type":"function_call","name":"f","arguments":"{}"}]`, "input[0].call_id", missing},
		{`"input":[{"type":"function_call","call_id":"1","arguments":"{}"}]`, "input[0].name", missing},
		{`"input":[{"type":"function_call","call_id":"","name":"f","arguments":"{}"}]`, "input[0].call_id", missing},
		{`"input":[{"type":"function_call","call_id":"1","name":"","arguments":"{}"}]`, "input[0].name", missing},
		{`"input":[{"type":"function_call","call_id":"1","name":"f","namespace":"n"}]`, "input[0].namespace", unsupported},
		{`"input":[{"type":"function_call_output","call_id":"1","output":"a"}]`, "input[0].call_id", value},
		{`"input":[{"type":"function_call","call_id":"1","name":"f","arguments":""},{"type":"function_call_output","call_id":"1","output":"a","caller":{}}]`, "input[1].caller", unsupported},
	} {
		_, _, err := read(`{` + c.members + `}`)
		e, ok := errors.AsType[*wire.Error](err)
		if !ok || e.Status != 400 || e.Param != c.param || e.Code != c.code {
			t.Errorf("%s: %+v; want %s at %s", c.members, err, c.code, c.param)
			if ok {
				t.Logf("it is %s at %s", e.Code, e.Param)
			}
			continue
		}
		if !strings.Contains(e.Message, e.Param) && e.Code != unknown || strings.Count(e.Message, e.Param) > 2 {
			t.Errorf("%s: the message is %q", c.members, e.Message)
		}
	}
}

func TestOffer(t *testing.T) {
	const lax, bare = `{"type":"function","name":"time","strict":false,"parameters":null,"description":null}`, `{"type":"function","name":"date"}`
	const nestedWeather = `{"type":"function","function":{"name":"weather","description":"Tells the weather.","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}`
	for _, c := range []struct {
		members string
		list    []string
		strict  []string
		allowed []string
		options constrain.ToolOptions
	}{
		{`"tools":[` + weather + `]`, []string{nestedWeather}, []string{"weather"}, nil, constrain.ToolOptions{}},
		{`"tools":[` + bare + `]`, []string{`{"type":"function","function":{"name":"date"}}`}, nil, nil, constrain.ToolOptions{Lossy: true}},
		{`"tools":[` + weather + `,` + lax + `]`, []string{nestedWeather, `{"type":"function","function":{"name":"time"}}`}, []string{"weather"}, nil,
			constrain.ToolOptions{Lossy: true}},
		{`"tools":[` + weather + `],"parallel_tool_calls":false`, []string{nestedWeather}, []string{"weather"}, nil, constrain.ToolOptions{Single: true}},
		{`"tools":[` + weather + `],"tool_choice":"none"`, []string{nestedWeather}, []string{"weather"}, nil, constrain.ToolOptions{Choice: constrain.ToolNone}},
		{`"tools":[` + weather + `],"tool_choice":"required"`, []string{nestedWeather}, []string{"weather"}, nil, constrain.ToolOptions{Choice: constrain.ToolRequired}},
		{`"tools":[` + weather + `],"tool_choice":{"type":"auto"}`, []string{nestedWeather}, []string{"weather"}, nil, constrain.ToolOptions{}},
		{`"tools":[` + weather + `],"tool_choice":{"type":"function","function":{"name":"weather"}}`, []string{nestedWeather}, []string{"weather"}, nil,
			constrain.ToolOptions{Choice: constrain.ToolRequired, Function: "weather"}},
		{`"tools":[` + weather + `],"tool_choice":{"function":{"name":"weather"}}`, []string{nestedWeather}, []string{"weather"}, nil,
			constrain.ToolOptions{Choice: constrain.ToolRequired, Function: "weather"}},
		{`"tools":[` + weather + `],"tool_choice":{"name":"weather"}`, []string{nestedWeather}, []string{"weather"}, nil,
			constrain.ToolOptions{Choice: constrain.ToolRequired, Function: "weather"}},
		{`"tools":[` + weather + `],"tool_choice":{"type":"function","name":"weather"}`, []string{nestedWeather}, []string{"weather"}, nil,
			constrain.ToolOptions{Choice: constrain.ToolRequired, Function: "weather"}},
		{`"tools":[` + weather + `],"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"weather"}]}`, []string{nestedWeather},
			[]string{"weather"}, []string{"weather"}, constrain.ToolOptions{Choice: constrain.ToolRequired}},
	} {
		in, _, err := read(`{"input":"a",` + c.members + `}`)
		if err != nil {
			t.Errorf("%s: %v", c.members, err)
			continue
		}
		tools, err := in.readTools()
		var list []string
		for _, f := range tools.List {
			list = append(list, string(f))
		}
		if err != nil || !reflect.DeepEqual(list, c.list) || !reflect.DeepEqual(tools.Strict, c.strict) || !reflect.DeepEqual(tools.Allowed, c.allowed) || !reflect.DeepEqual(tools.Options, c.options) {
			t.Errorf("%s: %q, %+v, %v", c.members, list, tools, err)
		}
	}
}

func TestParams(t *testing.T) {
	_, p, err := read(`{"input":"a","temperature":0.5,"top_p":0.25,"top_k":3,"min_p":0.125,"seed":9,"stop":"x","max_output_tokens":1,
		"frequency_penalty":1,"presence_penalty":0.5,"repeat_penalty":1.5,"top_logprobs":4,"include":["message.output_text.logprobs"]}`)
	want := llama.Params{Temperature: 0.5, TopP: 0.25, TopK: 3, MinP: 0.125, Seed: 9, Stop: []string{"x"}, MaxTokens: 1,
		FrequencyPenalty: 1, PresencePenalty: 0.5, RepeatPenalty: 1.5, Logprobs: 4}
	if err != nil || !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, %v; want %+v", p, err, want)
	}
	if _, p, err = read(`{"input":"a","include":["message.output_text.logprobs"]}`); err != nil || p.Logprobs != 1 {
		t.Errorf("the chosen tokens' log-probabilities alone: %+v, %v", p, err)
	}
}

func TestConversation(t *testing.T) {
	in, _, err := read(`{"instructions":"be brief","input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},
		{"type":"function_call","call_id":"2","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"2","output":"b"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	history, names := in.conversation()
	if len(history) != 4 || history[0].Role != llama.RoleSystem || history[0].Content != "be brief" {
		t.Errorf("the conversation is %+v", history)
	}
	for field, want := range map[string]string{"history[0].": "instructions.", "history[1].": "input[0].", "history[2].": "input[1].", "history[3].": "input[3].", "history": "input"} {
		if names[field] != want {
			t.Errorf("%s is called %q, want %q", field, names[field], want)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		text, schema string
		lossy        bool
	}{
		{`{"format":{"type":"text"}}`, "", false},
		{`{"format":{"type":"json_object"}}`, `{"type":"object"}`, false},
		{`{"format":{"type":"json_schema","name":"n","schema":{"type":"string"}}}`, `{"type":"string"}`, false},
		{`{"format":{"type":"json_schema","name":"n","schema":{"type":"string"},"strict":null}}`, `{"type":"string"}`, false},
		{`{"format":{"type":"json_schema","name":"n","schema":{"type":"string"},"strict":true,"description":"d"}}`, `{"type":"string"}`, false},
		{`{"format":{"type":"json_schema","name":"n","schema":{"type":"string"},"strict":false}}`, `{"type":"string"}`, true},
	} {
		in, _, err := read(`{"input":"a","text":` + c.text + `}`)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if f := in.Text.form(); string(f.Schema) != c.schema || f.Lossy != c.lossy {
			t.Errorf("%s: %s, %v", c.text, f.Schema, f.Lossy)
		}
		// The format comes back as it was sent.
		if out, err := json.Marshal(in.Text.Format); err != nil || c.text != `{"format":`+string(out)+`}` && !strings.Contains(c.text, "null") && !strings.Contains(c.text, "description") {
			t.Errorf("%s comes back as %s, %v", c.text, out, err)
		}
	}
}
