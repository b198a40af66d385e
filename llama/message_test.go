package llama_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

func TestMessageJSON(t *testing.T) {
	for _, c := range []struct {
		name    string
		message llama.Message
		json    string
	}{
		{"text", llama.Message{Role: llama.RoleUser, Content: "a \"b\""}, `{"role":"user","content":"a \"b\""}`},
		{"nothing", llama.Message{Role: llama.RoleAssistant}, `{"role":"assistant","content":""}`},
		{"a name", llama.Message{Role: llama.RoleUser, Content: "a", Name: "Ana"}, `{"role":"user","content":"a","name":"Ana"}`},
		{"calls", llama.Message{Role: llama.RoleAssistant, ToolCalls: []llama.ToolCall{
			{ID: "1", Name: "f", Arguments: json.RawMessage(`{"b": 1, "a": "\u00e9"}`)},
			{ID: "2", Name: "g", Arguments: json.RawMessage(`{}`)},
		}}, `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"b\": 1, \"a\": \"\\u00e9\"}"}},{"id":"2","type":"function","function":{"name":"g","arguments":"{}"}}]}`},
		{"text and a call", llama.Message{Role: llama.RoleAssistant, Content: "I look.", ToolCalls: []llama.ToolCall{{ID: "1", Name: "f", Arguments: json.RawMessage(`{}`)}}},
			`{"role":"assistant","content":"I look.","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		{"a result", llama.Message{Role: llama.RoleTool, Content: "4", ToolCallID: "1"}, `{"role":"tool","content":"4","tool_call_id":"1"}`},
	} {
		got, err := json.Marshal(c.message)
		if err != nil || string(got) != c.json {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.json)
		}
		var back llama.Message
		if err := json.Unmarshal([]byte(c.json), &back); err != nil || !reflect.DeepEqual(back, c.message) {
			t.Errorf("%s: %s becomes %+v, %v; want %+v", c.name, c.json, back, err, c.message)
		}
	}
}

func TestMessageFromOtherJSON(t *testing.T) {
	call := func(arguments string) llama.Message {
		return llama.Message{Role: llama.RoleAssistant, ToolCalls: []llama.ToolCall{{Name: "f", Arguments: json.RawMessage(arguments)}}}
	}
	for _, c := range []struct {
		name, json string
		want       llama.Message // with a role
		wrong      string        // or a part of the error
	}{
		{"no content", `{"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]}`, call(`{"a":1}`), ""},
		{"an object for arguments", `{"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"b": 1, "a": 2}}}]}`, call(`{"b": 1, "a": 2}`), ""},
		{"empty arguments", `{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": ""}}]}`, call(`{}`), ""},
		{"null for arguments", `{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": null}}]}`, call(`{}`), ""},
		{"no arguments", `{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}`, call(`{}`), ""},
		{"parts", `{"role": "user", "content": [{"type": "text", "text": "a "}, {"type": "text", "text": "b"}]}`, llama.Message{Role: "user", Content: "a b"}, ""},
		{"no parts", `{"role": "user", "content": []}`, llama.Message{Role: "user"}, ""},
		{"a key that has no field", `{"role": "assistant", "content": "a", "refusal": null}`, llama.Message{Role: "assistant", Content: "a"}, ""},
		{"an image without a URL", `{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}`, llama.Message{}, `part 0: an image: "" is no data: URL`},
		{"an image elsewhere", `{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}`, llama.Message{}, "is no data: URL"},
		{"an image that is no picture", `{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}]}`, llama.Message{}, "no PNG, JPEG, GIF or WebP"},
		{"an image that is no base64", `{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,a*"}}]}`, llama.Message{}, "part 1: an image: its data are not base64"},
		{"an image of another interface", `{"role": "user", "content": [{"type": "input_image"}]}`, llama.Message{}, `it is of the type "input_image"`},
		{"an image of Ollama's", `{"role": "user", "content": "what is this?", "images": ["aGVsbG8="]}`, llama.Message{}, `must be parts of the type "image_url"`},
		{"a part that is null", `{"role": "user", "content": [null]}`, llama.Message{}, `part 0: it is of the type ""`},
		{"a sound", `{"role": "user", "content": [{"type": "input_audio"}]}`, llama.Message{}, `it is of the type "input_audio"`},
		{"no images", `{"role": "user", "content": "a", "images": []}`, llama.Message{Role: "user", Content: "a"}, ""},
		{"a number as content", `{"role": "user", "content": 1}`, llama.Message{}, "it must be a string, null or a list"},
		{"a call of something else", `{"role": "assistant", "tool_calls": [{"type": "custom"}]}`, llama.Message{}, `a call of the type "custom"`},
		{"arguments that are no JSON", `{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"a\":"}}]}`, llama.Message{}, `the arguments of a call to "f"`},
		{"a list for arguments", `{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[]"}}]}`, llama.Message{}, "they must be a JSON object"},
		{"no object", `[]`, llama.Message{}, "a message"},
	} {
		got := llama.Message{Role: "before", Content: "before", Name: "before"}
		err := json.Unmarshal([]byte(c.json), &got)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: the error is %v, want one with %q", c.name, err, c.wrong)
			}
		} else if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
	if _, err := json.Marshal(call(`{"a":`)); err == nil {
		t.Error("arguments that are no JSON are written")
	}
}

// dot is an image of one pixel.
const dot = "data:image/gif;base64,R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=="

// TestPartsJSON writes and reads messages with images.
func TestPartsJSON(t *testing.T) {
	text := `{"role":"user","content":[{"type":"text","text":"What is "},{"type":"image_url","image_url":{"url":"` + dot + `"}},{"type":"text","text":"?"}],"name":"Ana"}`
	var m llama.Message
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Parts) != 3 || m.Parts[0].Text != "What is " || m.Parts[1].Image == nil || m.Parts[2].Text != "?" || m.Content != "" || m.Name != "Ana" {
		t.Errorf("%+v", m)
	}
	if data, err := json.Marshal(m); err != nil || string(data) != text {
		t.Errorf("%s, %v; want %s", data, err, text)
	}
	for name, wrong := range map[string]llama.Message{
		"a content and parts": {Content: "a", Parts: m.Parts},
		"a text and an image": {Parts: []llama.Part{{Text: "a", Image: m.Parts[1].Image}}},
	} {
		if data, err := json.Marshal(wrong); err == nil {
			t.Errorf("%s: %s", name, data)
		}
	}
}

// FuzzMessageJSON reads messages, writes them, and reads them again as the same messages.
func FuzzMessageJSON(f *testing.F) {
	f.Add(`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"b\": 1}"}}]}`)
	f.Add(`{"role":"user","content":[{"type":"text","text":"a"}],"name":"Ana"}`)
	f.Add(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"` + dot + `"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var m, again llama.Message
		if json.Unmarshal([]byte(text), &m) != nil {
			return
		}
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("%s cannot be written: %v", text, err)
		}
		if err := json.Unmarshal(data, &again); err != nil || len(m.ToolCalls) != len(again.ToolCalls) {
			t.Fatalf("%s becomes %s and %+v: %v", text, data, again, err)
		}
		if len(m.ToolCalls) == 0 {
			m.ToolCalls, again.ToolCalls = nil, nil // an empty list is not written
		}
		if !reflect.DeepEqual(m, again) {
			t.Fatalf("%s becomes %s and %+v, want %+v", text, data, again, m)
		}
	})
}
