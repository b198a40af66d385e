package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

func chat(t *testing.T, input string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, notes bytes.Buffer
	err = run(context.Background(), args, strings.NewReader(input), &out, &notes)
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

func TestStatisticsTellOfDrafts(t *testing.T) {
	const text = "The ring was too heavy to carry. %s ate bread by the harbor. The harbor was quiet in the autumn.\n"
	input := "Replace They with garden in this text:\\\n\\\n" + fmt.Sprintf(text, "They") + "/stats\n"
	stdout, stderr, err := chat(t, input, "-model", "flint", "-draft", "lookup")
	if err != nil || stdout != fmt.Sprintf(text, "garden") || !strings.Contains(stderr, "proposed tokens accepted") {
		t.Errorf("answers %q, notes %q, error %v", stdout, stderr, err)
	}
}

func TestFullContextSaysWhatToDo(t *testing.T) {
	_, _, err := chat(t, "What is the capital of Japan?\nAnd of France?\n", "-max-tokens", "30")
	if err == nil || !strings.Contains(err.Error(), "/reset") {
		t.Errorf("error %v, want one that names /reset", err)
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
