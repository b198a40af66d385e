package serve_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestImagesAreRefused sends images in the ways of all interfaces: the answer names the model, what it lacks, and what would be right.
func TestImagesAreRefused(t *testing.T) {
	h := start(t, nil)
	for _, c := range []struct{ path, body, place string }{
		{"/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"data:,"}}]}]`, "messages[0].content[1].type"},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"input_image","image_url":"data:,"}]}]`, "messages[0].content[0].type"},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"what?","images":["aGVsbG8="]}]`, "messages[0].images"},
		{"/tokenize", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,"}}]}]`, "messages[0].content[0].type"},
		{"/v1/responses", `"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:,"}]}]`, "input[0].content[0].type"},
		{"/v1/responses", `"input":[{"type":"function_call","call_id":"1","name":"f","arguments":""},{"type":"function_call_output","call_id":"1","output":[{"type":"input_image"}]}]`, "input[1].output[0].type"},
		{"/v1/messages", `"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}]}]`, "messages[0].content[0]"},
		{"/v1/messages/count_tokens", `"messages":[{"role":"user","content":[{"type":"image","source":{}}]}]`, "messages[0].content[0]"},
	} {
		for asked, named := range map[string]string{"flint": "flint", "default": "flint", "stranger": "stranger"} {
			status, text := post(t, h, c.path, `{"model":"`+asked+`",`+c.body+`}`)
			for _, want := range []string{c.place, `the vision part of the model \"` + named + `\" is not loaded`, "send text"} {
				if status != http.StatusBadRequest || !strings.Contains(text, want) {
					t.Errorf("%s %s: %d %s; want %q", c.path, c.body, status, text, want)
				}
			}
		}
	}
	image := `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,"}}]}]`
	if status, text := post(t, h, "/v1/chat/completions", `{`+image+`}`); status != http.StatusBadRequest || !strings.Contains(text, "vision part") {
		t.Errorf("without a model's name: %d %s", status, text)
	}
	if status, text := post(t, h, "/v1/chat/completions", `{"model":"flint","max_tokens":1,"messages":[{"role":"user","content":"what?","images":[]}]}`); status != http.StatusOK {
		t.Errorf("no images: %d %s", status, text)
	}
}
