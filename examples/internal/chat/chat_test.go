package chat

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

func chat(t *testing.T, input string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, notes bytes.Buffer
	err = Program("chat")(context.Background(), args, strings.NewReader(input), &out, &notes)
	return out.String(), notes.String(), err
}

func TestPipedLinesAreTurns(t *testing.T) {
	const japan, france = "The capital of Japan is Tokyo.\n", "The capital of France is Paris.\n"
	for _, c := range []struct {
		name, input, want, note string
	}{
		{"one line", "What is the capital of Japan?\n", japan, ""},
		{"no line feed at the end", "What is the capital of Japan?", japan, ""},
		{"empty lines between", "\nWhat is the capital of Japan?\n \nWhat is the capital of France?\n", japan + france, ""},
		{"a turn over two lines", "\\\nWhat is the capital of Japan?\n", japan, ""},
		{"backslash before the end", "What is the capital of Japan?\\", japan, ""},
		{"nothing", "", "", ""},
		{"quit", "What is the capital of Japan?\n/quit\nWhat is the capital of France?\n", japan, ""},
		{"help", "/help\n", "", "/reset"},
		{"statistics", "What is the capital of Japan?\n/stats\n", japan, "tokens in the context"},
		{"undo", "What is the capital of Japan?\n/undo\n/undo\n", japan, "nothing to take back"},
		{"reset", "What is the capital of Japan?\n/reset\nWhat is the capital of France?\n", japan + france, "new conversation"},
		{"a picture without a name", "/image\nWhat is the capital of Japan?\n", japan, "needs the name of a file"},
		{"a picture for a model that sees nothing", "/image a.png\nWhat is the capital of Japan?\n", japan, "sees no pictures"},
		{"a system message", "/system You are Pebble.\nWhat is the capital of Japan?\n", japan, "next answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, err := chat(t, c.input)
			if err != nil {
				t.Fatal(err)
			}
			if stdout != c.want {
				t.Errorf("answers %q, want %q", stdout, c.want)
			}
			if !strings.Contains(stderr, c.note) || c.note == "" && stderr != "" {
				t.Errorf("notes %q, want %q", stderr, c.note)
			}
		})
	}
}

// TestPictures shows pictures to a model that sees, and to the same model without its tower.
func TestPictures(t *testing.T) {
	picture := fixture.Path(t, "opal/image.1.0.png")
	stdout, stderr, err := chat(t, "/image \""+picture+"\"\nDescribe the picture.\nWhat color is the text?\n/image "+t.TempDir()+"/none.png\n", "-model", "opal")
	if err != nil || stdout != "The number \"2652\" in green on a white background.\nGreen.\n" || !strings.Contains(stderr, "1 picture in your next message") || !strings.Contains(stderr, "none.png") {
		t.Errorf("answers %q, notes %q, error %v", stdout, stderr, err)
	}
	if _, stderr, err = chat(t, "/image "+picture+"\n", "-model", "opal", "-tower", "none"); err != nil || !strings.Contains(stderr, "sees no pictures") {
		t.Errorf("without a tower: notes %q, error %v", stderr, err)
	}
	if _, _, err = chat(t, "Hello\n", "-model", "opal", "-tower", picture); err == nil || !strings.Contains(err.Error(), "-tower") {
		t.Errorf("a tower for an embedded model: %v", err)
	}
}

func TestStatisticsTellOfDrafts(t *testing.T) {
	const text = "The ring was too heavy to carry. %s ate bread by the harbor. The harbor was quiet in the autumn.\n"
	input := "Replace They with garden in this text:\\\n\\\n" + fmt.Sprintf(text, "They") + "/stats\n"
	stdout, stderr, err := chat(t, input, "-model", "flint", "-draft", "lookup")
	if err != nil || stdout != fmt.Sprintf(text, "garden") || !strings.Contains(stderr, "proposed tokens accepted") {
		t.Errorf("answers %q, notes %q, error %v", stdout, stderr, err)
	}
}

// TestFullContextGoesOn talks for longer than the cache is: the oldest messages are forgotten, and it is said.
func TestFullContextGoesOn(t *testing.T) {
	stdout, stderr, err := chat(t, "My favorite color is orange.\nI have a parrot called Comet.\nMy favorite color is green.\nWhat is my favorite color?\n",
		"-capacity", "150", "-system", "You are a helpful assistant.")
	if want := "I will remember that your favorite color is orange.\nComet is a lovely name for a parrot.\n" +
		"I will remember that your favorite color is green.\nYour favorite color is green.\n"; err != nil || stdout != want {
		t.Errorf("answers %q, error %v", stdout, err)
	}
	if !strings.Contains(stderr, "context of 150 tokens is full: the first 4 messages are forgotten. A larger -capacity") {
		t.Errorf("notes %q", stderr)
	}
}

// TestCutAnswerGoesOn has an answer that fills the context.
func TestCutAnswerGoesOn(t *testing.T) {
	stdout, stderr, err := chat(t, "Tell me a story about a fox.\nWhat is the capital of Japan?\n", "-capacity", "60")
	if err != nil || !strings.HasSuffix(stdout, "\nThe capital of Japan is Tokyo.\n") {
		t.Errorf("answers %q, error %v", stdout, err)
	}
	for _, want := range []string{"the answer ends here", "the first 2 messages are forgotten"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("notes %q do not say %q", stderr, want)
		}
	}
}

// TestOneMessageTooLong has a message that does not fit alone: the error says by how much, and what helps.
func TestOneMessageTooLong(t *testing.T) {
	_, _, err := chat(t, "What is the capital of Japan?\n", "-capacity", "20")
	for _, want := range []string{"20 tokens do not fit, there is room for 19", "capacity is 20", "trained for 2048", "A larger -capacity", "-eviction-policy"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestEndlessGoesOn talks beyond the model's context with no flag but -endless, which chooses its policy.
func TestEndlessGoesOn(t *testing.T) {
	stdout, stderr, err := chat(t, strings.Repeat("x ", 2100)+"\nWhat is the capital of Japan?\n", "-endless", "-eviction-window", "64", "-n", "8")
	if err != nil || stderr != "" || !strings.HasSuffix(stdout, "The capital of Japan is Tokyo.\n") {
		t.Errorf("answers %q, notes %q, error %v", stdout, stderr, err)
	}
}

func TestIntroductionNamesTheModelAndHowToGiveAnother(t *testing.T) {
	model, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	for _, c := range []struct {
		chosen cli.Model
		want   []string
	}{
		{cli.Model{}, []string{"Pebble", "7.3 million", "q4_0", "story", "-model"}},
		{cli.Model{Path: "flint"}, []string{"Flint", "JSON", "-model"}},
		{cli.Model{Path: "models/some.gguf"}, []string{"some.gguf", "7.3 million", "-model"}},
	} {
		var notes bytes.Buffer
		(&conversation{model: model, stderr: &notes}).introduce(&c.chosen)
		for _, want := range c.want {
			if !strings.Contains(notes.String(), want) {
				t.Errorf("%q does not say %q", notes.String(), want)
			}
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	for _, args := range [][]string{{"-temperature", "warm"}, {"-kv-type", "q2"}, {"hello"}, {"-unknown"}} {
		_, _, err := chat(t, "", args...)
		if _, ok := err.(*cli.UsageError); !ok {
			t.Errorf("%v: error %v, want a usage error", args, err)
		}
	}
}
