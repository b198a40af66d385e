package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/calls"
)

// TestHybridTemplates renders what the templates of Qwen 3.5, Qwen3-Next, LFM2.5 and Granite 4 do, in our own words, as Jinja 2 does
// (testdata/hybrids/golden.py). The parser of calls finds the conversation's calls in the rendered text, and no others: the example of a
// call that a template gives is one of no function on offer.
func TestHybridTemplates(t *testing.T) {
	const dir = "testdata/hybrids"
	data, err := os.ReadFile(filepath.Join(dir, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Template, Name string
		Messages       []struct {
			Role, Content string
			Thought       string `json:"THOUGHT"`
			ToolCallID    string `json:"tool_call_id"`
			ToolCalls     []struct {
				ID       string
				Function struct {
					Name      string
					Arguments json.RawMessage
				}
			} `json:"tool_calls"`
		}
		Tools       []json.RawMessage
		Vars        map[string]any
		Text, Error *string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	formats := map[string]calls.Format{"qwen35.jinja": calls.Tagged, "qwen3next.jinja": calls.Hermes, "lfm25.jinja": calls.LFM, "granite4.jinja": calls.Hermes}
	types := map[string]string{"title": "string", "days": "integer", "where": "object", "steps": "array"} // as golden.py has them
	for _, c := range cases {
		t.Run(c.Template+"/"+c.Name, func(t *testing.T) {
			source, err := os.ReadFile(filepath.Join(dir, c.Template))
			if err != nil {
				t.Fatal(err)
			}
			format := calls.Of(string(source), func(token string) bool { return token == "<|tool_call_start|>" && c.Template == "lfm25.jinja" })
			if format != formats[c.Template] {
				t.Errorf("calls are taken for %s, want %s", format, formats[c.Template])
			}
			template, err := Parse(string(source), []string{"<|im_start|>", "<|im_end|>"}, "<s>", "</s>")
			if err != nil {
				t.Fatal(err)
			}
			var messages []Message
			var want []calls.Call
			for _, m := range c.Messages {
				message := Message{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID, Thinking: m.Thought}
				for _, call := range m.ToolCalls {
					message.ToolCalls = append(message.ToolCalls, ToolCall{call.ID, call.Function.Name, call.Function.Arguments})
					want = append(want, calls.Call{Index: len(want), Name: call.Function.Name, Arguments: string(call.Function.Arguments)})
				}
				messages = append(messages, message)
			}
			segments, err := template.Render(t.Context(), messages, Options{AddGenerationPrompt: true, Tools: c.Tools, Vars: c.Vars, Date: testDate})
			if (err != nil) != (c.Error != nil) {
				t.Fatalf("got error %v", err)
			}
			if err != nil {
				return
			}
			got := joinedText(segments)
			if got != *c.Text {
				t.Fatalf("\n got %q\nwant %q", got, *c.Text)
			}
			var p calls.Parser
			p.Start(format, []string{"plan", "clock"}, func(string) bool { return false })
			p.Schemas(typed(types))
			p.Write(got)
			p.Finish()
			if !slices.EqualFunc(p.Calls(), want, sameCall) {
				t.Errorf("of %q\n got %+v\nwant %+v", got, p.Calls(), want)
			}
		})
	}
}

// typed are schemas that give each parameter a type.
type typed map[string]string

func (t typed) Takes(_, parameter string, value any) bool {
	_, text := value.(string)
	return text == (t[parameter] == "string")
}

func (t typed) TakesText(_, parameter string) bool { return t[parameter] == "string" }

// sameCall reports whether a call is another one, by its arguments' values.
func sameCall(a, b calls.Call) bool {
	var x, y any
	return a.Name == b.Name && json.Unmarshal([]byte(a.Arguments), &x) == nil && json.Unmarshal([]byte(b.Arguments), &y) == nil && reflect.DeepEqual(x, y)
}
