package serve_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve"
)

// TestLeftOut sends members that the server does not have and programs get on without: the answer is the one to a request without them, and
// its header and the log name them. A strict server refuses the request.
func TestLeftOut(t *testing.T) {
	var log notes
	lax, strict := start(t, logTo(&log)), start(t, func(o *serve.Options) { o.Strict = true })
	chat := func(more string) string {
		return `{"model":"flint","temperature":0,"max_tokens":9,"messages":[{"role":"user","content":"Hello"}]` + more + `}`
	}
	response := func(more string) string {
		return `{"model":"flint","temperature":0,"max_output_tokens":9,"input":"Hello"` + more + `}`
	}
	for _, c := range []struct {
		path, body, without string
		at                  string // the member that is left out
	}{
		{"/v1/chat/completions", chat(`,"tools":[{"type":"custom","custom":{"name":"patch"}}]`), chat(``), "tools[0]"},
		{"/v1/chat/completions", chat(`,"verbosity":"low"`), chat(``), "verbosity"},
		{"/v1/responses", response(`,"tools":[{"type":"web_search","external_web_access":false},{"type":"namespace","name":"agents","tools":[]}]`), response(``), "tools[1]"},
		{"/v1/responses", response(`,"tools":[{"type":"custom","name":"apply_patch","format":{"type":"grammar"}}],"text":{"verbosity":"high"}`), response(``), "text.verbosity"},
		{"/v1/responses", response(`,"context_management":[{"type":"compaction","compact_threshold":1000}]`), response(``), "context_management"},
		{"/v1/messages", chat(`,"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":5},{"type":"b\u00e4sh\r\n"}]`), chat(``), "tools[1]"},
		{"/v1/messages", chat(`,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`), chat(``), "context_management.edits[0]"},
		{"/v1/messages", chat(`,"tool_choice":{"type":"none"},"tools":[{"name":"f","input_schema":{"type":"object"},"defer_loading":true,"input_examples":[{"a":1}]}]`), chat(``), "tools[0].input_examples"},
		{"/v1/messages", chat(`,"mcp_servers":[{"type":"url","url":"https://example.org","name":"x"}]`), chat(``), "mcp_servers"},
	} {
		answer := send(t, "POST", lax.URL+c.path, c.body)
		warnings := answer.Header.Get("X-Warnings")
		if answer.StatusCode != 200 || !strings.Contains(warnings, c.at+" is left out: ") || !strings.Contains(log.String(), c.at) {
			t.Errorf("%s: status %d, %q", c.body, answer.StatusCode, warnings)
		}
		for _, r := range warnings {
			if r < ' ' || r > '~' {
				t.Errorf("the header is %q", warnings)
			}
		}
		var got any
		if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		plain := send(t, "POST", lax.URL+c.path, c.without)
		var want any
		if err := json.NewDecoder(plain.Body).Decode(&want); err != nil || plain.Header.Get("X-Warnings") != "" {
			t.Errorf("%v, %q", err, plain.Header.Get("X-Warnings"))
		}
		said := func(answer any) string {
			o := answer.(map[string]any)
			for _, field := range []string{"output_text", "content", "choices"} {
				if o[field] != nil {
					return fmt.Sprint(o[field])
				}
			}
			return "nothing"
		}
		if said(got) != said(want) || said(got) == "nothing" {
			t.Errorf("%s: the answer is %v, without it %v", c.body, got, want)
		}
		if status, body := post(t, strict, c.path, c.body); status != 400 || !strings.Contains(body, "is not supported") {
			t.Errorf("%s: status %d of a strict server: %s", c.body, status, body)
		}
	}
	many := chat(`,"tools":[` + strings.Repeat(`{"type":"web_search"},`, 99) + `{"type":"web_search"}]`)
	if warnings := send(t, "POST", lax.URL+"/v1/messages", many).Header.Get("X-Warnings"); len(warnings) > 1100 || !strings.HasSuffix(warnings, " more") {
		t.Errorf("the header is %q", warnings)
	}
}

// TestThinkingIsAnUpperBound sends the words by which programs ask for thoughts: a model that does not think answers as it does without them.
func TestThinkingIsAnUpperBound(t *testing.T) {
	h := start(t, nil)
	for _, c := range []struct {
		path, body string
		words      []string
	}{
		{"/v1/chat/completions", `{"model":"flint","max_tokens":2,"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi","reasoning_content":"hm"},{"role":"user","content":"Bye"}]`,
			[]string{`"reasoning_effort":"medium"`, `"reasoning":{"effort":"high","exclude":true}`, `"reasoning":true`, `"thinking":{"type":"enabled","budget_tokens":1024}`}},
		{"/v1/responses", `{"model":"flint","max_output_tokens":2,"input":[{"role":"user","content":"Hello"},{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"},{"role":"assistant","content":"Hi","phase":"final_answer"},{"role":"user","content":"Bye"}]`,
			[]string{`"reasoning":{"effort":"xhigh","summary":"auto"}`, `"reasoning":{}`}},
		{"/v1/messages", `{"model":"flint","max_tokens":2,"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Hi"}]},{"role":"user","content":"Bye"}]`,
			[]string{`"thinking":{"type":"enabled","budget_tokens":31999}`, `"thinking":{"type":"adaptive"},"output_config":{"effort":"medium"}`,
				`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`}},
	} {
		for _, word := range c.words {
			if status, body := post(t, h, c.path, c.body+`,`+word+`}`); status != 200 {
				t.Errorf("%s: status %d: %s", word, status, body)
			}
		}
	}
}
