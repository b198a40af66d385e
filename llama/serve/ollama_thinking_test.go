package serve_test

import (
	"slices"
	"strings"
	"testing"
)

// TestOllamaThinks checks that thoughts are kept apart from answers, streamed or not, and that think turns them off or bounds them.
func TestOllamaThinks(t *testing.T) {
	h := startThinking(t, thinkTemplate, "<think>")
	const thought, text = "It asks, 한!", "The answer is 42."
	for _, path := range []string{"/api/chat", "/api/generate"} {
		for _, stream := range []bool{false, true} {
			ask := func(more string) (told, said string) {
				body := `"model":"thinker","options":{"temperature":0},"prompt":"What?"` + more
				if path == "/api/chat" {
					body = strings.Replace(body, `"prompt":"What?"`, `"messages":[{"role":"user","content":"What?"}]`, 1)
				}
				for _, l := range ollama(t, h, path, stream, body) {
					if said != "" && l.Message.Thinking+l.Thinking != "" {
						t.Error("a thought comes after the text")
					}
					told += l.Message.Thinking + l.Thinking
					if said += l.Message.Content; l.Response != nil {
						said += *l.Response
					}
				}
				return told, said
			}
			for _, more := range []string{"", `,"think":true`, `,"think":"high"`, `,"think":null`} {
				if told, said := ask(more); told != thought || said != text {
					t.Errorf("%s, stream %v, %s: thought %q, text %q", path, stream, more, told, said)
				}
			}
			if told, _ := ask(`,"think":false`); told != "" {
				t.Errorf("%s, stream %v: thought %q, though it should not think", path, stream, told)
			}
		}
	}
	if m := ollamaModels(t, h, "/api/tags")[0]; !slices.Contains(m.Capabilities, "thinking") {
		t.Errorf("%+v", m)
	}
	// A thought in a history reaches the template, which prints it.
	const messages = `"model":"thinker","messages":[{"role":"user","content":"What?"},{"role":"assistant","content":"42.","thinking":"%"},{"role":"user","content":"Why?"}]`
	long := ollama(t, h, "/api/chat", false, strings.Replace(messages, "%", "It asks, asks, asks,", 1))[0]
	short := ollama(t, h, "/api/chat", false, strings.Replace(messages, "%", "", 1))[0]
	if long.Prompt <= short.Prompt {
		t.Errorf("prompts of %d and %d tokens, with and without a thought", long.Prompt, short.Prompt)
	}
}
