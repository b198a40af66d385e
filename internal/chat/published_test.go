package chat

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestPublishedTemplates renders templates that models were published with, which are others' texts and so lie outside the tree:
// testdata/published.py says how. What has no place in a template is an error here, where Jinja leaves it out.
func TestPublishedTemplates(t *testing.T) {
	dir := os.Getenv("ANTIGRAVITY_TEMPLATES")
	if dir == "" {
		t.Skip("ANTIGRAVITY_TEMPLATES names no folder of templates")
	}
	data, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Path, Conv string
		Messages   []struct {
			Role, Content, Name string
			Thinking            string `json:"THOUGHT"`
			ToolCallID          string `json:"tool_call_id"`
			ToolCalls           []struct {
				ID       string
				Function struct {
					Name      string
					Arguments json.RawMessage
				}
			} `json:"tool_calls"`
		}
		Tools       []json.RawMessage
		Vars        map[string]any
		Agp         bool
		Text, Error *string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	equal, refused := 0, 0
	for _, c := range cases {
		source, err := os.ReadFile(filepath.Join(dir, c.Path))
		if err != nil {
			t.Fatal(err)
		}
		template, err := Parse(string(source), []string{"<|im_start|>", "<|im_end|>"}, "<s>", "</s>")
		if err != nil {
			t.Errorf("%s: %v", c.Path, err)
			continue
		}
		var messages []Message
		for _, m := range c.Messages {
			message := Message{Role: m.Role, Content: m.Content, Name: m.Name, ToolCallID: m.ToolCallID, Thinking: m.Thinking}
			for _, call := range m.ToolCalls {
				message.ToolCalls = append(message.ToolCalls, ToolCall{call.ID, call.Function.Name, call.Function.Arguments})
			}
			messages = append(messages, message)
		}
		got, err := template.Render(t.Context(), messages, Options{AddGenerationPrompt: c.Agp, Tools: c.Tools, Vars: c.Vars, Date: testDate})
		switch {
		case err != nil && c.Text == nil, err == nil && c.Text != nil && joinedText(got) == *c.Text:
			equal++
		case errors.Is(err, ErrUnsupported):
			refused++
		case err != nil:
			t.Errorf("%s, %s: %v", c.Path, c.Conv, err)
		case c.Text == nil:
			t.Errorf("%s, %s: rendered, where Jinja says %s", c.Path, c.Conv, *c.Error)
		default:
			t.Errorf("%s, %s:\n got %q\nwant %q", c.Path, c.Conv, joinedText(got), *c.Text)
		}
	}
	t.Logf("%d renderings are Jinja's, %d are refused", equal, refused)
}
