package serve_test

import (
	"net/http"
	"strings"
	"testing"
)

// dot is the file of an image of one pixel, in base64.
const dot = "R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=="

// TestBlindModelsRefuseImages sends images in the ways of all interfaces to a model that sees nothing: the answer names the model, what it lacks, and
// what would be right.
func TestBlindModelsRefuseImages(t *testing.T) {
	h := start(t, nil)
	url := `"data:image/gif;base64,` + dot + `"`
	for _, c := range []struct{ path, body, place string }{
		{"/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":` + url + `}}]}]`, "messages[0].content[1].image_url.url"},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":` + url + `}]}]`, "messages[0].content[0].image_url"},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"input_image","image_url":"data:,"}]}]`, "messages[0].content[0].image_url"},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"image","image":"https://example.org/a.png"}]}]`, "messages[0].content[0].image"},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"what?","images":["` + dot + `"]}]`, "messages[0].images[0]"},
		{"/tokenize", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,"}}]}]`, "messages[0].content[0].image_url.url"},
		{"/v1/responses", `"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:,"}]}]`, "input[0].content[0].image_url"},
		{"/v1/responses", `"input":[{"type":"function_call","call_id":"1","name":"f","arguments":""},{"type":"function_call_output","call_id":"1","output":[{"type":"input_image","image_url":` + url + `}]}]`, "input[1].output[0].image_url"},
		{"/v1/messages", `"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}]}]`, "messages[0].content[0].source.data"},
		{"/v1/messages/count_tokens", `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.org/a.png"}}]}]`, "messages[0].content[0].source.url"},
		{"/api/chat", `"messages":[{"role":"user","content":"what?","images":["` + dot + `"]}]`, "messages[0].images[0]"},
		{"/api/generate", `"prompt":"what?","images":["` + dot + `"]`, "images[0]"},
	} {
		for _, asked := range []string{"flint", "default"} {
			status, text := post(t, h, c.path, `{"model":"`+asked+`",`+c.body+`}`)
			for _, want := range []string{c.place, `the model \"flint\" sees no images`, "send text"} {
				if status != http.StatusBadRequest || !strings.Contains(text, want) {
					t.Errorf("%s %s: %d %s; want %q", c.path, c.body, status, text, want)
				}
			}
		}
	}
	for _, images := range []string{"[]", "null"} {
		body := `{"model":"flint","max_tokens":1,"messages":[{"role":"user","content":"what?","images":` + images + `}]}`
		if status, text := post(t, h, "/v1/chat/completions", body); status != http.StatusOK {
			t.Errorf("no images: %d %s", status, text)
		}
	}
}

// TestBlindModelsLeaveOutImages sends images of earlier turns to a model that sees nothing: they are left out, with a warning.
func TestBlindModelsLeaveOutImages(t *testing.T) {
	h := start(t, nil)
	for _, image := range []string{`{"type":"image_url","image_url":{"url":"data:image/gif;base64,` + dot + `"}}`, `{"type":"image_url"}`, `{"type":"image_url","image_url":7}`} {
		body := `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a"},` + image + `]},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`
		if warnings := asked(t, h.URL, "/v1/chat/completions", body); !strings.Contains(warnings, "messages[0].content[1]") || !strings.Contains(warnings, "the model sees no images") {
			t.Errorf("%s: the header says %q", image, warnings)
		}
	}
}
