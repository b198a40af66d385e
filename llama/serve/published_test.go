package serve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
)

// weather is a function, in OpenAI's form.
const weather = `{"type":"function","function":{"name":"get_weather","description":"Tells the weather in a city.",
	"parameters":{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},"required":["city"]}}}`

// TestPublishedSchemas checks that answers fit the schemas that OpenAI publishes.
func TestPublishedSchemas(t *testing.T) {
	h := start(t, nil)
	for _, c := range []struct {
		name, path, body string
		whole, event     string // the schemas of an answer, and of an event if it is streamed; "": it is not
	}{
		{"chat", "/v1/chat/completions", question, "CreateChatCompletionResponse", "CreateChatCompletionStreamResponse"},
		{"several answers", "/v1/chat/completions", question + `,"n":2`, "CreateChatCompletionResponse", "CreateChatCompletionStreamResponse"},
		{"log probabilities", "/v1/chat/completions", question + `,"logprobs":true,"top_logprobs":2`,
			"CreateChatCompletionResponse", "CreateChatCompletionStreamResponse"},
		{"too few tokens", "/v1/chat/completions", question + `,"max_completion_tokens":2`,
			"CreateChatCompletionResponse", "CreateChatCompletionStreamResponse"},
		{"a call", "/v1/chat/completions",
			`"model":"flint","temperature":0,"messages":[{"role":"user","content":"How warm is it in Nairobi?"}],"tools":[` + weather + `]`,
			"CreateChatCompletionResponse", "CreateChatCompletionStreamResponse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := post(t, h, c.path, "{"+c.body+"}")
			if status != 200 {
				t.Fatalf("status %d: %s", status, body)
			}
			openapi.Validate(t, c.whole, []byte(body))
			if c.event == "" {
				return
			}
			stream := `,"stream":true`
			if strings.Contains(c.event, "Chat") {
				stream += `,"stream_options":{"include_usage":true,"include_stats":true}`
			}
			status, body = post(t, h, c.path, "{"+c.body+stream+"}")
			if status != 200 {
				t.Fatalf("status %d: %s", status, body)
			}
			count := 0
			for _, event := range events(t, body) {
				if event != "[DONE]" {
					openapi.Validate(t, c.event, []byte(event))
					count++
				}
			}
			if count < 2 {
				t.Errorf("the stream has %d events", count)
			}
		})
	}
}

// TestPublishedErrors checks that errors have OpenAI's form at each of its paths.
func TestPublishedErrors(t *testing.T) {
	h := start(t, nil)
	for _, path := range []string{"/v1/chat/completions", "/v1/unheard-of"} {
		for _, body := range []string{`{"frobnicate":1}`, `{"model":"granite","messages":[{"role":"user","content":"Hello"}],"input":"","prompt":""}`, `{`} {
			t.Run(fmt.Sprint(path, body), func(t *testing.T) {
				status, answer := post(t, h, path, body)
				if status < 400 || status > 404 {
					t.Errorf("status %d", status)
				}
				openapi.Validate(t, "ErrorResponse", []byte(answer))
			})
		}
	}
}
