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

// llama3Templates are the same format twice: in Go, and in Jinja.
func llama3Templates(t testing.TB) map[string]*Template {
	t.Helper()
	source, err := os.ReadFile("testdata/llama3.2.jinja")
	if err != nil {
		t.Fatal(err)
	}
	jinja, err := Parse(string(source), llama3Specials, "<|begin_of_text|>", "<|eot_id|>")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Template{"native": Llama3(llama3Specials, "<|begin_of_text|>", "<|eot_id|>"), "jinja": jinja}
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
	for name, template := range llama3Templates(t) {
		t.Run(name, func(t *testing.T) {
			for i, f := range fixtures(t) {
				date, err := time.Parse(dateLayout, f.DateString)
				if err != nil {
					t.Fatal(err)
				}
				got, err := template.Render(f.Messages, Options{AddGenerationPrompt: f.AddGenerationPrompt, Tools: f.Tools, Date: date})
				if err != nil {
					t.Fatalf("case %d: %v", i, err)
				}
				if text := joinedText(got); text != f.Text {
					t.Errorf("case %d:\n got %q\nwant %q", i, text, f.Text)
				}
				checkSegments(t, got, llama3Specials)
				if again, _ := template.Render(f.Messages, Options{AddGenerationPrompt: f.AddGenerationPrompt, Tools: f.Tools}); !reflect.DeepEqual(got, again) {
					t.Errorf("case %d: the default date differs: %q", i, joinedText(again))
				}
			}
		})
	}
}

// TestNativeIsJinja renders the same conversations in Go and in Jinja.
func TestNativeIsJinja(t *testing.T) {
	call := Message{Role: "assistant", ToolCalls: []ToolCall{{Name: "f<|eot_id|>", Arguments: json.RawMessage(`{"z":"<|eot_id|>","a":[1,2.50,1e20,{}]}`)}}}
	tool := json.RawMessage(`{"type":"function","function":{"name":"f","description":"<|eot_id|> \ud83d\ude00 \u0001"}}`)
	user := Message{Role: "user", Content: "\u001c hi <|eot_id|>\n"}
	tests := []struct {
		name     string
		messages []Message
		options  Options
		fails    bool
	}{
		{"system only", []Message{{Role: "system", Content: " s "}}, Options{AddGenerationPrompt: true}, false},
		{"tool call", []Message{user, call, {Role: "tool", Content: `{"x": "<|eot_id|>"}` + "\n"}}, Options{AddGenerationPrompt: true}, false},
		{"ipython", []Message{user, call, {Role: "ipython", Content: "3"}, user}, Options{}, false},
		{"call without arguments", []Message{{Role: "assistant", ToolCalls: []ToolCall{{Name: "f"}}}}, Options{}, false},
		{"tools with the user", []Message{user, call}, Options{Tools: []json.RawMessage{tool, tool}}, false},
		{"tools in the system turn", []Message{{Role: "system", Content: "s"}, user}, Options{Tools: []json.RawMessage{tool}, Vars: map[string]any{"tools_in_user_message": false}}, false},
		{"date string", []Message{user}, Options{Date: time.Unix(0, 0), Vars: map[string]any{"date_string": "<|eot_id|>"}}, false},
		{"date", []Message{user}, Options{Date: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}, false},
		{"odd role", []Message{{Role: "<|eot_id|>", Content: "x"}}, Options{}, false},
		{"tools without a user", nil, Options{Tools: []json.RawMessage{tool}}, true},
		{"two calls", []Message{user, {Role: "assistant", ToolCalls: []ToolCall{{Name: "a"}, {Name: "b"}}}}, Options{}, true},
		{"broken tool", []Message{user}, Options{Tools: []json.RawMessage{json.RawMessage("{")}}, true},
		{"broken arguments", []Message{{Role: "assistant", ToolCalls: []ToolCall{{Name: "a", Arguments: json.RawMessage("{} {}")}}}}, Options{}, true},
	}
	templates := llama3Templates(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			native, err := templates["native"].Render(test.messages, test.options)
			jinja, errJinja := templates["jinja"].Render(test.messages, test.options)
			if (err != nil) != test.fails || (errJinja != nil) != test.fails {
				t.Fatalf("errors %v and %v; expected: %t", err, errJinja, test.fails)
			}
			if !reflect.DeepEqual(native, jinja) {
				t.Errorf("\nnative %+v\n jinja %+v", native, jinja)
			}
			if !test.fails {
				checkSegments(t, native, llama3Specials)
			}
		})
	}
}

// TestConcurrentRender is for the race detector.
func TestConcurrentRender(t *testing.T) {
	for name, template := range llama3Templates(t) {
		t.Run(name, func(t *testing.T) {
			m := longConversation()
			want, err := template.Render(m, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var wait sync.WaitGroup
			for range 8 {
				wait.Go(func() {
					if got, err := template.Render(m, Options{}); err != nil || !reflect.DeepEqual(got, want) {
						t.Errorf("differs: %v", err)
					}
				})
			}
			wait.Wait()
		})
	}
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
	for name, template := range llama3Templates(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := template.Render(m, Options{AddGenerationPrompt: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	source, err := os.ReadFile("testdata/llama3.2.jinja")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Parse(string(source), llama3Specials, "<|begin_of_text|>", "<|eot_id|>"); err != nil {
			b.Fatal(err)
		}
	}
}
