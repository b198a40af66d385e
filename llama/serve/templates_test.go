package serve_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// TestCapturedRequestsAndPublishedTemplates sends what programs send to models with the templates that gpt-oss and Gemma 4 were published with. These
// are others' texts and lie outside the tree: internal/chat/testdata/published.py says how.
func TestCapturedRequestsAndPublishedTemplates(t *testing.T) {
	dir := os.Getenv("ANTIGRAVITY_TEMPLATES")
	if dir == "" {
		t.Skip("ANTIGRAVITY_TEMPLATES names no folder of templates")
	}
	templates, err := filepath.Glob(filepath.Join(dir, "*.jinja"))
	if err != nil || len(templates) == 0 {
		t.Fatalf("%v, %v", templates, err)
	}
	requests, err := filepath.Glob(filepath.Join("testdata", "clients", "*.json"))
	if err != nil || len(requests) < 10 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	for _, template := range templates {
		source, err := os.ReadFile(template)
		if err != nil {
			t.Fatal(err)
		}
		var special []string
		for _, mark := range []string{
			"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|call|>", "<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", `<|"|>`,
		} {
			if strings.Contains(string(source), mark) {
				special = append(special, mark)
			}
		}
		m, err := llama.Load(scriptedmodel.Write(t, scriptedmodel.Script{
			Template: string(source), Special: special, Chains: [][]string{{"a", "b"}}, Config: map[string]any{"max_position_embeddings": 1 << 18},
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		h := start(t, func(o *serve.Options) {
			o.Models = []serve.Model{{Name: "scripted", Aliases: []string{"*"}, Loaded: m}}
			o.MaxTokens, o.Pool.Session.Capacity = 8, 1<<18
		})
		for _, file := range requests {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var request struct {
				Path string
				Body json.RawMessage
			}
			if err := json.Unmarshal(text, &request); err != nil {
				t.Fatal(err)
			}
			if status, answer := post(t, h, request.Path, string(request.Body)); status != http.StatusOK || strings.Contains(answer, "event: error") {
				t.Errorf("%s, %s: status %d: %.1000s", filepath.Base(template), filepath.Base(file), status, answer)
			}
		}
		m.Close()
	}
}

// TestTemplatesThatWantTurns sends conversations in which user and assistant do not take turns to a model with a template that refuses these, as
// those of Gemma and Mistral do.
func TestTemplatesThatWantTurns(t *testing.T) {
	const template = `{% for m in messages %}{% if (m.role == "user") != (loop.index0 % 2 == 0) %}{{ raise_exception("Conversation roles must alternate") }}{% endif %}` +
		`<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}`
	m, err := llama.Load(scriptedmodel.Write(t, scriptedmodel.Script{Template: template, Chains: [][]string{{"a", "b"}}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	h := start(t, func(o *serve.Options) { o.Models = []serve.Model{{Name: "scripted", Loaded: m}} })
	const user, assistant = `{"role":"user","content":"a"}`, `{"role":"assistant","content":"b"}`
	for messages, want := range map[string]string{
		user:                                "<user>a<assistant>",
		user + `,` + user:                   "<user>a\n\na<assistant>",
		user + `,` + assistant + `,` + user: "<user>a<assistant>b<user>a<assistant>",
		user + `,` + assistant + `,` + assistant + `,` + user: "<user>a<assistant>b\n\nb<user>a<assistant>",
	} {
		_, text := post(t, h, "/apply-template", `{"messages":[`+messages+`]}`)
		var out struct{ Prompt string }
		if err := json.Unmarshal([]byte(text), &out); err != nil || out.Prompt != want {
			t.Errorf("%s: %s, want %q", messages, text, want)
		}
		for path, body := range map[string]string{
			"/v1/chat/completions": `{"max_tokens":1,"truncation":"auto","messages":[` + messages + `]}`, "/v1/messages": `{"max_tokens":1,"messages":[` + messages + `]}`,
			"/v1/responses": `{"max_output_tokens":1,"input":[{"type":"web_search_call","id":"w"},` + messages + `]}`,
		} {
			if status, text := post(t, h, path, body); status != 200 {
				t.Errorf("%s: status %d: %s", body, status, text)
			}
		}
	}
	refused(t, h, "/v1/chat/completions", `{"messages":[`+assistant+`,`+user+`]}`, 400, "messages", "invalid_value", "must alternate")
}
