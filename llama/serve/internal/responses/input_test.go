package responses

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

func TestInput(t *testing.T) {
	user := llama.Message{Role: llama.RoleUser, Content: "a"}
	call := func(id, arguments string) llama.ToolCall {
		return llama.ToolCall{ID: id, Name: "f", Arguments: json.RawMessage(arguments)}
	}
	assistant := func(text string, calls ...llama.ToolCall) llama.Message {
		return llama.Message{Role: llama.RoleAssistant, Content: text, ToolCalls: calls}
	}
	result := func(id, text string) llama.Message {
		return llama.Message{Role: llama.RoleTool, Content: text, ToolCallID: id}
	}
	const call1, call2 = `{"type":"function_call","call_id":"1","name":"f","arguments":"{\"x\": 1}"}`, `{"type":"function_call","call_id":"2","name":"f","arguments":""}`
	const result1, result2 = `{"type":"function_call_output","call_id":"1","output":"one"}`, `{"type":"function_call_output","call_id":"2","output":"two"}`
	for _, c := range []struct {
		name, input string
		history     []llama.Message
		places      []string
	}{
		{"a text", `"a"`, []llama.Message{user}, []string{"input"}},
		{"an empty text", `""`, []llama.Message{{Role: llama.RoleUser}}, []string{"input"}},
		{"a short message", `[{"role":"user","content":"a"}]`, []llama.Message{user}, []string{"input[0]"}},
		{"a message with all that comes back", `[{"type":"message","id":"m","status":"completed","role":"user","phase":"final_answer","content":"a"}]`,
			[]llama.Message{user}, []string{"input[0]"}},
		{"parts", `[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":" b","prompt_cache_breakpoint":{}}]}]`,
			[]llama.Message{{Role: llama.RoleUser, Content: "a b"}}, []string{"input[0]"}},
		{"no parts", `[{"role":"user","content":[]}]`, []llama.Message{{Role: llama.RoleUser}}, []string{"input[0]"}},
		{"an answer", `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[1],"parsed":{}}]}]`,
			[]llama.Message{assistant("a")}, []string{"input[0]"}},
		{"roles", `[{"role":"system","content":"a"},{"role":"developer","content":"b"},{"role":"assistant","content":"c"}]`,
			[]llama.Message{{Role: llama.RoleSystem, Content: "a"}, {Role: llama.RoleSystem, Content: "b"}, assistant("c")}, []string{"input[0]", "input[1]", "input[2]"}},
		{"two answers", `[{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}]`,
			[]llama.Message{assistant("a"), assistant("b")}, []string{"input[0]", "input[1]"}},
		{"a call and its result", `[` + call1 + `,` + result1 + `]`, []llama.Message{assistant("", call("1", `{"x": 1}`)), result("1", "one")}, []string{"input[0]", "input[1]"}},
		{"calls side by side", `[{"role":"user","content":"a"},` + call1 + `,` + call2 + `,` + result2 + `,` + result1 + `]`,
			[]llama.Message{user, assistant("", call("1", `{"x": 1}`), call("2", "{}")), result("2", "two"), result("1", "one")}, []string{"input[0]", "input[1]", "input[3]", "input[4]"}},
		{"calls one after the other", `[` + call1 + `,` + result1 + `,` + call2 + `,` + result2 + `]`,
			[]llama.Message{assistant("", call("1", `{"x": 1}`)), result("1", "one"), assistant("", call("2", "{}")), result("2", "two")}, []string{"input[0]", "input[1]", "input[2]", "input[3]"}},
		{"texts around calls", `[{"role":"assistant","content":"a"},` + call1 + `,{"role":"assistant","content":"b"},` + call2 + `,` + result1 + `]`,
			[]llama.Message{assistant("ab", call("1", `{"x": 1}`), call("2", "{}")), result("1", "one")}, []string{"input[0]", "input[4]"}},
		{"thoughts", `[{"role":"user","content":"a"},{"type":"reasoning","id":"r","summary":[],"content":null,"encrypted_content":null},
			{"type":"reasoning","id":"s","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"xyz"},` + call1 + `]`,
			[]llama.Message{user, {Role: llama.RoleAssistant, ToolCalls: []llama.ToolCall{call("1", `{"x": 1}`)}, Thinking: "hm"}}, []string{"input[0]", "input[3]"}},
		{"a thought before a message of the user's", `[{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`,
			[]llama.Message{user, assistant("b")}, []string{"input[1]", "input[2]"}},
		{"a result in parts", `[` + call1 + `,{"type":"function_call_output","id":null,"call_id":"1","name":"f","output":[{"type":"input_text","text":"o"},{"type":"input_text","text":"k"}]}]`,
			[]llama.Message{assistant("", call("1", `{"x": 1}`)), {Role: llama.RoleTool, Content: "ok", Name: "f", ToolCallID: "1"}}, []string{"input[0]", "input[1]"}},
		{"what OpenAI's client makes of a call", `[{"type":"function_call","id":"i","status":"completed","call_id":"1","name":"f","arguments":"{}","parsed_arguments":{},"caller":null}]`,
			[]llama.Message{assistant("", call("1", `{}`))}, []string{"input[0]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var in input
			if err := in.ReadJSON("input", []byte(c.input)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(in.history, c.history) || !reflect.DeepEqual(in.places, c.places) {
				t.Errorf("the conversation is %+v of %q, want %+v of %q", in.history, in.places, c.history, c.places)
			}
		})
	}
}
