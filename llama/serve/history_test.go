package serve_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
)

// histories are requests with conversations that have all parts which an interface knows.
var histories = map[string]string{
	"/v1/chat/completions": `{"max_tokens":1,"messages":[{"role":"system","content":[{"type":"text","text":"a"}]},{"role":"user","content":"b"},
		{"role":"assistant","content":[{"type":"text","text":"c"},{"type":"refusal","refusal":"d"}],"reasoning_content":"e","tool_calls":[
			{"id":"1","type":"function","function":{"name":"f","arguments":"ARGUMENTS"}},{"id":"2","type":"custom","custom":{"name":"g","input":"x"}}]},
		{"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"5"}]},{"role":"tool","tool_call_id":"1","content":"6"},
		{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"7"},{"role":"user","content":"h"}]}`,
	"/v1/responses": `{"max_output_tokens":1,"input":[{"role":"developer","content":"a"},{"type":"message","role":"user","content":[{"type":"input_text","text":"b"}]},
		{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"x"}],"content":[{"type":"reasoning_text","text":"y"}],"encrypted_content":"z"},
		{"type":"message","role":"assistant","id":"m","status":"completed","content":[{"type":"output_text","text":"c","annotations":[],"logprobs":[]},{"type":"refusal","refusal":"d"}]},
		{"type":"function_call","call_id":"1","name":"f","arguments":"ARGUMENTS","status":"incomplete"},{"type":"custom_tool_call","call_id":"2","name":"g","input":"x"},
		{"type":"custom_tool_call_output","call_id":"2","output":"5"},{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"6"}]},{"role":"user","content":"h"}]}`,
	"/v1/messages": `{"max_tokens":1,"system":[{"type":"text","text":"a"}],"messages":[{"role":"user","content":[{"type":"text","text":"b"},
			{"type":"document","source":{"type":"content","content":[{"type":"text","text":"e"}]}},{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"u"}]}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"e","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"c","citations":null},
			{"type":"tool_use","id":"1","name":"f","input":"ARGUMENTS"}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"6"}]},{"type":"text","text":"h"}]}]}`,
	"/api/chat": `{"stream":false,"options":{"num_predict":1},"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"},
		{"role":"assistant","content":"c","thinking":"e","tool_calls":[{"id":"1","type":"function","function":{"index":0,"name":"f","arguments":"ARGUMENTS"}}]},
		{"role":"tool","tool_name":"f","content":"6"},{"role":"user","content":"h"}]}`,
}

// conversations are the members that have a conversation.
var conversations = []string{"messages", "input", "system"}

// asked sends a request and returns what the header says is left out. The request must be answered.
func asked(t *testing.T, h string, path, body string) (warnings string) {
	t.Helper()
	answer := send(t, "POST", h+path, body)
	defer answer.Body.Close()
	if answer.StatusCode != 200 {
		var text json.RawMessage
		_ = json.NewDecoder(answer.Body).Decode(&text)
		t.Errorf("%s: status %d, %s: %s", path, answer.StatusCode, text, body)
	}
	return answer.Header.Get("X-Warnings")
}

// TestBrokenArguments sends calls with arguments that no model's server should have written: each request is answered, and the header says
// which arguments are not shown as they are.
func TestBrokenArguments(t *testing.T) {
	effort.Turn(t, 8)
	h := start(t, func(o *serve.Options) { o.Strict = true })
	for _, path := range slices.Sorted(maps.Keys(histories)) {
		for value, broken := range map[string]bool{
			`"{\"a\":1}"`: false, `""`: false, `"null"`: false, `" "`: false, `null`: false, `{}`: false, `{"a":[1]}`: false, `"\"{}\""`: false,
			`"{\"a\":"`: true, `"{"`: true, `"{\"a\":\"\\u00"`: true, `"{\"a\":[1,{\"b\":\"x"`: true, `"[]"`: true, `"[1"`: true, `"a=1"`: true, `"true"`: true, `"{}{}"`: true,
			`[]`: true, `[1]`: true, `7`: true, `true`: true, `"{'a': 1}"`: true, `"` + strings.Repeat(`[`, 300) + `"`: true, `"` + strings.Repeat(`{\"a\":`, 300) + `"`: true,
		} {
			warnings := asked(t, h.URL, path, strings.ReplaceAll(histories[path], `"ARGUMENTS"`, value))
			if (warnings != "") != broken {
				t.Errorf("%s: of the arguments %s the header says %q", path, value, warnings)
			}
		}
	}
}

// eachObject calls f for all objects within a value, with a function that changes the object.
func eachObject(v any, f func(o object)) {
	switch v := v.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			eachObject(v[key], f)
		}
		f(v)
	case []any:
		for _, one := range v {
			eachObject(one, f)
		}
	}
}

// TestToolsOfOtherRoles has what belongs to a tool's result in the messages of other roles, as programs write who fill in every member.
func TestToolsOfOtherRoles(t *testing.T) {
	h := start(t, nil)
	for path, members := range map[string]string{"/api/chat": `"tool_name":"f","tool_call_id":"x"`, "/v1/chat/completions": `"tool_call_id":"x"`} {
		for _, role := range []string{"system", "user", "assistant"} {
			body := `{"model":"flint","messages":[{"role":"` + role + `","content":"Hello.",` + members + `},{"role":"user","content":"Hello"}]}`
			if warnings := asked(t, h.URL, path, body); !strings.Contains(warnings, "messages[0].tool_") || !strings.Contains(warnings, "left out: ") {
				t.Errorf("%s, %s: the header says %q", path, role, warnings)
			}
		}
	}
}

// TestForeignMembers adds members of other servers to each object of a conversation, one at a time, and leaves contents out: each request is
// answered, and the header names the member. A strict server refuses it.
func TestForeignMembers(t *testing.T) {
	effort.Turn(t, 8)
	h, strict := start(t, nil), start(t, func(o *serve.Options) { o.Strict = true })
	for _, path := range slices.Sorted(maps.Keys(histories)) {
		parse := func() (whole object, objects []object) {
			if err := json.Unmarshal([]byte(strings.ReplaceAll(histories[path], "ARGUMENTS", "{}")), &whole); err != nil {
				t.Fatal(err)
			}
			for _, name := range conversations {
				eachObject(whole[name], func(o object) { objects = append(objects, o) })
			}
			return whole, objects
		}
		_, objects := parse()
		if len(objects) < 6 {
			t.Fatalf("%s: %d objects", path, len(objects))
		}
		for i := range objects {
			whole, objects := parse()
			objects[i]["extra_content"] = object{"google": object{"thought_signature": []any{"x", nil}}}
			if warnings := asked(t, h.URL, path, string(encode(whole))); !strings.Contains(warnings, ".extra_content is left out: ") {
				t.Errorf("%s: %v: the header says %q", path, objects[i], warnings)
			}
			if status, text := post(t, strict, path, string(encode(whole))); status != 400 || !strings.Contains(text, "extra_content is not supported") {
				t.Errorf("%s: status %d of a strict server: %s", path, status, text)
			}
			objects[i]["extra_content"] = nil
			if warnings := asked(t, h.URL, path, string(encode(whole))); warnings != "" {
				t.Errorf("%s: null is left out: %q", path, warnings)
			}
			for _, content := range []string{"content", "output", "thinking", "summary", "annotations", "citations"} {
				for _, empty := range []any{nil, ""} {
					if _, text := objects[i][content].(string); !text && empty == "" || objects[i][content] == nil {
						continue
					}
					if strings.Contains(fmt.Sprint(objects[i][content]), "tool_use") { // a result needs its call
						continue
					}
					whole, objects := parse()
					if delete(objects[i], content); empty != nil {
						objects[i][content] = empty
					}
					asked(t, h.URL, path, string(encode(whole)))
				}
			}
		}
	}
}

// TestPublishedHistories sends conversations with whatever items and messages OpenAI's schemas allow, after which the user asks something else: each
// request is answered.
func TestPublishedHistories(t *testing.T) {
	effort.Turn(t, 8)
	h := start(t, nil)
	random := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]bool{}
	for n := range 100 {
		item := openapi.Example([]string{"InputItem", "Item", "Item", "Item"}[n%4], random)
		var o object
		if err := json.Unmarshal(item, &o); err != nil {
			t.Fatalf("%v: %s", err, item)
		}
		if kind := fmt.Sprint(o["type"]); kind == "item_reference" || o["id"] != nil && o["role"] == nil && o["type"] == nil {
			continue // nothing is stored: this is an error that says so
		} else {
			kinds[kind] = true
		}
		asked(t, h.URL, "/v1/responses", `{"max_output_tokens":1,"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"a","name":"a","arguments":"{}"},`+string(item)+
			`,{"role":"assistant","content":"y"},{"role":"user","content":"z"}]}`)
	}
	if len(kinds) < 15 {
		t.Errorf("the kinds of items are %v", kinds)
	}
	for range 8 {
		for _, role := range []string{"Assistant", "Tool", "User", "System", "Developer", "Function"} {
			message := openapi.Example("ChatCompletionRequest"+role+"Message", random)
			asked(t, h.URL, "/v1/chat/completions", `{"max_tokens":1,"messages":[{"role":"user","content":"x"},`+string(message)+
				`,{"role":"assistant","content":"y"},{"role":"user","content":"z"}]}`)
		}
	}
}

// TestForeignBlocks sends blocks of Anthropic's own tools, which the server does not have.
func TestForeignBlocks(t *testing.T) {
	h := start(t, nil)
	for _, c := range []struct{ role, block string }{
		{"assistant", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`},
		{"assistant", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"u","title":"t","encrypted_content":"e","page_age":null}]}`},
		{"assistant", `{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_fetch_result","url":"u"}}`},
		{"assistant", `{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"code_execution_result","stdout":"","stderr":"","return_code":0,"content":[]}}`},
		{"assistant", `{"type":"bash_code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{}}`},
		{"assistant", `{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{}}`},
		{"assistant", `{"type":"mcp_tool_use","id":"mcptoolu_1","name":"f","server_name":"s","input":{}}`},
		{"assistant", `{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[]}`},
		{"assistant", `{"type":"compaction","content":"x"}`},
		{"assistant", `{"type":"text","text":"c","citations":[{"type":"web_search_result_location","url":"u","title":"t","encrypted_index":"i","cited_text":"c"}]}`},
		{"user", `{"type":"container_upload","file_id":"f"}`},
		{"user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}`},
		{"user", `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":""}}`},
		{"user", `{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{}},{"type":"tool_reference","tool_name":"f"},{"type":"text","text":"ok"}]}`},
	} {
		body := `{"max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},` +
			`{"role":"` + c.role + `","content":[` + c.block + `,{"type":"text","text":"b"}]},{"role":"assistant","content":"d"},{"role":"user","content":"e"}]}`
		if warnings := asked(t, h.URL, "/v1/messages", body); !strings.Contains(warnings, "messages[2].content[0]") || !strings.Contains(warnings, "left out") {
			t.Errorf("%s: the header says %q", c.block, warnings)
		}
	}
}
