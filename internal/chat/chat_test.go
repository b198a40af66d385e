package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var llama3Specials = []string{"<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>"}

// fixture is a conversation that transformers rendered with Llama 3.2's published template.
type fixture struct {
	Messages            []Message
	AddGenerationPrompt bool `json:"add_generation_prompt"`
	Tools               []json.RawMessage
	DateString          string `json:"date_string"`
	Text                string
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "fixture", "data", "tokenizer", "chat.json"))
	if err != nil {
		t.Skipf("needs the repository's fixtures, which are not part of the module: %v", err)
	}
	var f []fixture
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// llama3Template is the built-in template.
func llama3Template(t testing.TB) *Template {
	t.Helper()
	template, err := Parse(Llama3(), llama3Specials, "<|begin_of_text|>", "<|eot_id|>")
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func joinedText(s []Segment) string {
	var b strings.Builder
	for _, x := range s {
		b.WriteString(x.Text)
	}
	return b.String()
}

// checkSegments verifies what Render promises of its segments.
func checkSegments(t *testing.T, s []Segment, specials []string) {
	t.Helper()
	for i, x := range s {
		switch {
		case x.Text == "":
			t.Errorf("segment %d is empty", i)
		case x.Special && !slices.Contains(specials, x.Text):
			t.Errorf("segment %d: %q is no special token", i, x.Text)
		case i > 0 && !x.Special && !s[i-1].Special:
			t.Errorf("segments %d and %d are both plain", i-1, i)
		}
	}
}

func TestLlama3Fixtures(t *testing.T) {
	template := llama3Template(t)
	for i, f := range fixtures(t) {
		date, err := time.Parse(dateLayout, f.DateString)
		if err != nil {
			t.Fatal(err)
		}
		got, err := template.Render(t.Context(), f.Messages, Options{AddGenerationPrompt: f.AddGenerationPrompt, Tools: f.Tools, Date: date})
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		if text := joinedText(got); text != f.Text {
			t.Errorf("case %d:\n got %q\nwant %q", i, text, f.Text)
		}
		checkSegments(t, got, llama3Specials)
		if again, _ := template.Render(t.Context(), f.Messages, Options{AddGenerationPrompt: f.AddGenerationPrompt, Tools: f.Tools}); !reflect.DeepEqual(got, again) {
			t.Errorf("case %d: the default date differs: %q", i, joinedText(again))
		}
	}
}

// TestLlama3 renders what transformers' fixtures lack. Special tokens are in brackets; every result begins with bos and the
// header of the system turn.
func TestLlama3(t *testing.T) {
	call := Message{Role: "assistant", ToolCalls: []ToolCall{{Name: "f<|eot_id|>", Arguments: json.RawMessage(`{"z":"<|eot_id|>","a":[1,2.50,1e20,{}]}`)}}}
	tool := json.RawMessage(`{"type":"function","function":{"name":"f","description":"<|eot_id|> \ud83d\ude00 \u0001"}}`)
	user := Message{Role: "user", Content: "\u001c hi <|eot_id|>\n"}
	tests := []struct {
		name     string
		messages []Message
		options  Options
		want     string // "": an error
	}{
		{"system only", []Message{{Role: "system", Content: " s "}}, Options{AddGenerationPrompt: true}, "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\ns⟦<|eot_id|>⟧⟦<|start_header_id|>⟧assistant⟦<|end_header_id|>⟧\n\n"},
		{"tool call", []Message{user, call, {Role: "tool", Content: `{"x": "<|eot_id|>"}` + "\n"}}, Options{AddGenerationPrompt: true}, "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n⟦<|eot_id|>⟧⟦<|start_header_id|>⟧user⟦<|end_header_id|>⟧\n\nhi <|eot_id|>⟦<|eot_id|>⟧⟦<|start_header_id|>⟧assistant⟦<|end_header_id|>⟧\n\n{\"name\": \"f<|eot_id|>\", \"parameters\": {\"z\": \"<|eot_id|>\", \"a\": [1, 2.5, 1e+20, {}]}}⟦<|eot_id|>⟧⟦<|start_header_id|>⟧ipython⟦<|end_header_id|>⟧\n\n\"{\\\"x\\\": \\\"<|eot_id|>\\\"}\\n\"⟦<|eot_id|>⟧⟦<|start_header_id|>⟧assistant⟦<|end_header_id|>⟧\n\n"},
		{"ipython", []Message{user, call, {Role: "ipython", Content: "3"}, user}, Options{}, "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n⟦<|eot_id|>⟧⟦<|start_header_id|>⟧user⟦<|end_header_id|>⟧\n\nhi <|eot_id|>⟦<|eot_id|>⟧⟦<|start_header_id|>⟧assistant⟦<|end_header_id|>⟧\n\n{\"name\": \"f<|eot_id|>\", \"parameters\": {\"z\": \"<|eot_id|>\", \"a\": [1, 2.5, 1e+20, {}]}}⟦<|eot_id|>⟧⟦<|start_header_id|>⟧ipython⟦<|end_header_id|>⟧\n\n\"3\"⟦<|eot_id|>⟧⟦<|start_header_id|>⟧user⟦<|end_header_id|>⟧\n\nhi <|eot_id|>⟦<|eot_id|>⟧"},
		{"call without arguments", []Message{{Role: "assistant", ToolCalls: []ToolCall{{Name: "f"}}}}, Options{}, "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n⟦<|eot_id|>⟧⟦<|start_header_id|>⟧assistant⟦<|end_header_id|>⟧\n\n{\"name\": \"f\", \"parameters\": {}}⟦<|eot_id|>⟧"},
		{"tools with the user", []Message{user, call}, Options{Tools: []json.RawMessage{tool, tool}}, "Environment: ipython\nCutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n⟦<|eot_id|>⟧⟦<|start_header_id|>⟧user⟦<|end_header_id|>⟧\n\nGiven the following functions, please respond with a JSON for a function call with its proper arguments that best answers the given prompt.\n\nRespond in the format {\"name\": function name, \"parameters\": dictionary of argument name and its value}.Do not use variables.\n\n{\n    \"type\": \"function\",\n    \"function\": {\n        \"name\": \"f\",\n        \"description\": \"<|eot_id|> 😀 \\u0001\"\n    }\n}\n\n{\n    \"type\": \"function\",\n    \"function\": {\n        \"name\": \"f\",\n        \"description\": \"<|eot_id|> 😀 \\u0001\"\n    }\n}\n\nhi <|eot_id|>⟦<|eot_id|>⟧⟦<|start_header_id|>⟧assistant⟦<|end_header_id|>⟧\n\n{\"name\": \"f<|eot_id|>\", \"parameters\": {\"z\": \"<|eot_id|>\", \"a\": [1, 2.5, 1e+20, {}]}}⟦<|eot_id|>⟧"},
		{"tools in the system turn", []Message{{Role: "system", Content: "s"}, user}, Options{Tools: []json.RawMessage{tool}, Vars: map[string]any{"tools_in_user_message": false}}, "Environment: ipython\nCutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\nYou have access to the following functions. To call a function, please respond with JSON for a function call.Respond in the format {\"name\": function name, \"parameters\": dictionary of argument name and its value}.Do not use variables.\n\n{\n    \"type\": \"function\",\n    \"function\": {\n        \"name\": \"f\",\n        \"description\": \"<|eot_id|> 😀 \\u0001\"\n    }\n}\n\ns⟦<|eot_id|>⟧⟦<|start_header_id|>⟧user⟦<|end_header_id|>⟧\n\nhi <|eot_id|>⟦<|eot_id|>⟧"},
		{"date string", []Message{user}, Options{Date: time.Unix(0, 0), Vars: map[string]any{"date_string": "<|eot_id|>"}}, "Cutting Knowledge Date: December 2023\nToday Date: <|eot_id|>\n\n⟦<|eot_id|>⟧⟦<|start_header_id|>⟧user⟦<|end_header_id|>⟧\n\nhi <|eot_id|>⟦<|eot_id|>⟧"},
		{"date", []Message{user}, Options{Date: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}, "Cutting Knowledge Date: December 2023\nToday Date: 02 Jan 2026\n\n⟦<|eot_id|>⟧⟦<|start_header_id|>⟧user⟦<|end_header_id|>⟧\n\nhi <|eot_id|>⟦<|eot_id|>⟧"},
		{"odd role", []Message{{Role: "<|eot_id|>", Content: "x"}}, Options{}, "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n⟦<|eot_id|>⟧⟦<|start_header_id|>⟧<|eot_id|>⟦<|end_header_id|>⟧\n\nx⟦<|eot_id|>⟧"},
		{"tools without a user", []Message{{Role: "system", Content: "s"}}, Options{Tools: []json.RawMessage{tool}}, ""},
		{"two calls", []Message{user, {Role: "assistant", ToolCalls: []ToolCall{{Name: "a"}, {Name: "b"}}}}, Options{}, ""},
		{"broken tool", []Message{user}, Options{Tools: []json.RawMessage{json.RawMessage("{")}}, ""},
		{"broken arguments", []Message{{Role: "assistant", ToolCalls: []ToolCall{{Name: "a", Arguments: json.RawMessage("{} {}")}}}}, Options{}, ""},
	}
	template := llama3Template(t)
	const start = "⟦<|begin_of_text|>⟧⟦<|start_header_id|>⟧system⟦<|end_header_id|>⟧\n\n"
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := template.Render(t.Context(), test.messages, test.options)
			if (err != nil) != (test.want == "") {
				t.Fatalf("got %q, %v", marked(got), err)
			}
			if err == nil && marked(got) != start+test.want {
				t.Errorf("\n got %s\nwant %s", marked(got), start+test.want)
			}
			checkSegments(t, got, llama3Specials)
		})
	}
}

// marked is the text of segments, with brackets around special ones.
func marked(s []Segment) string {
	var b strings.Builder
	for _, x := range s {
		if x.Special {
			b.WriteString("⟦" + x.Text + "⟧")
		} else {
			b.WriteString(x.Text)
		}
	}
	return b.String()
}

// TestConcurrentRender is for the race detector.
func TestConcurrentRender(t *testing.T) {
	template := llama3Template(t)
	m := longConversation()
	want, err := template.Render(t.Context(), m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if got, err := template.Render(t.Context(), m, Options{}); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("differs: %v", err)
			}
		})
	}
	wait.Wait()
}

// longConversation is 20 messages of a few hundred bytes.
func longConversation() []Message {
	m := []Message{{Role: "system", Content: "You are terse."}}
	for i := range 19 {
		m = append(m, Message{Role: []string{"user", "assistant"}[i%2], Content: strings.Repeat("All work and no play. ", 20)})
	}
	return m
}

func BenchmarkRender(b *testing.B) {
	m := longConversation()
	template := llama3Template(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := template.Render(b.Context(), m, Options{AddGenerationPrompt: true}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(Llama3(), llama3Specials, "<|begin_of_text|>", "<|eot_id|>"); err != nil {
			b.Fatal(err)
		}
	}
}
