package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
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

func joined2(s []Segment) string {
	var b strings.Builder
	for _, x := range s {
		b.WriteString(x.Text)
	}
	return b.String()
}

// check verifies what Render promises of its segments.
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
				if text := joined2(got); text != f.Text {
					t.Errorf("case %d:\n got %q\nwant %q", i, text, f.Text)
				}
				checkSegments(t, got, llama3Specials)
				if again, _ := template.Render(f.Messages, Options{AddGenerationPrompt: f.AddGenerationPrompt, Tools: f.Tools}); !reflect.DeepEqual(got, again) {
					t.Errorf("case %d: the default date differs: %q", i, joined2(again))
				}
			}
		})
	}
}
