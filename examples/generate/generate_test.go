package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/fixture"
)

// An edit that Flint makes, and what it answers.
const (
	edit   = "Replace They with garden in this text:\n\nThe ring was too heavy to carry. They ate bread by the harbor. The harbor was quiet in the autumn."
	edited = "The ring was too heavy to carry. garden ate bread by the harbor. The harbor was quiet in the autumn."
)

func generate(ctx context.Context, input string, args ...string) (stdout, stderr string, err error) {
	var out, notes bytes.Buffer
	err = run(ctx, args, strings.NewReader(input), &out, &notes)
	return out.String(), notes.String(), err
}

func TestAnswers(t *testing.T) {
	const question = "What is the capital of Japan?"
	for _, c := range []struct {
		name, input string
		args        []string
		want        string
	}{
		{"no flags", "", nil, "The capital of Japan is Tokyo.\n"},
		{"from stdin", question, []string{"-prompt", "-"}, "The capital of Japan is Tokyo.\n"},
		{"a few tokens", "", []string{"-n", "2"}, "The capital\n"},
		{"a stop text", "", []string{"-stop", " is", "-stop", "nothing"}, "The capital of Japan\n"},
		{"raw", "", []string{"-raw", "-prompt", "<|start_header_id|>user<|end_header_id|>\n\n" + question +
			"<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"}, "The capital of Japan is Tokyo.\n"},
		{"quantised cache", "", []string{"-kv-type", "q8_0"}, "The capital of Japan is Tokyo.\n"},
		{"one thread", "", []string{"-threads", "1", "-backend", "cpu"}, "The capital of Japan is Tokyo.\n"},
		{"a picture", "", []string{"-model", "opal", "-image", fixture.Path(t, "opal/image.1.0.png")}, "The number \"2652\" in green on a white background.\n"},
		{"two pictures", "", []string{"-model", "opal", "-image", fixture.Path(t, "opal/image.0.0.png"), "-image", fixture.Path(t, "opal/image.1.0.png"), "-prompt", "What is written in the second picture?"}, "2652\n"},
		{"Flint", "", []string{"-model", "flint", "-prompt", edit}, edited + "\n"},
		{"one candidate", "", []string{"-temperature", "1", "-top-k", "1"}, "The capital of Japan is Tokyo.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, err := generate(t.Context(), c.input, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			if stdout != c.want {
				t.Errorf("answer %q, want %q", stdout, c.want)
			}
			if !strings.Contains(stderr, "tokens/s") {
				t.Errorf("no measurements on stderr: %q", stderr)
			}
		})
	}
}

// TestFullContextSaysWhatHelps has an answer that fills the cache.
func TestFullContextSaysWhatHelps(t *testing.T) {
	_, stderr, err := generate(t.Context(), "", "-prompt", "Tell me a story.", "-capacity", "40")
	if err != nil || !strings.Contains(stderr, "context full\nA larger -capacity gives more room") {
		t.Errorf("%q, %v", stderr, err)
	}
}

func TestJSON(t *testing.T) {
	stdout, stderr, err := generate(t.Context(), "", "-json", "-seed", "7", "-prompt", "What is the capital of Japan?")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%q: %v", stdout, err)
	}
	for key, want := range map[string]any{
		"text": "The capital of Japan is Tokyo.", "stop": "stop", "prompt_tokens": 20.0, "generated_tokens": 7.0,
		"seed": 7.0, "model": "pebble-Q4_0.gguf",
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	for _, key := range []string{"prefill_tokens_per_second", "decode_tokens_per_second"} {
		if speed, _ := got[key].(float64); speed <= 0 {
			t.Errorf("%s is %v", key, got[key])
		}
	}
	if stderr != "" {
		t.Errorf("stderr: %q", stderr)
	}
}

// TestDrafts compares answers with and without drafts, which must only make them quicker. Only those of lookup surely are computed:
// a model as large as the one that answers proposes nothing that is worth it.
func TestDrafts(t *testing.T) {
	for _, c := range []struct{ model, draft, prompt string }{
		{"flint", "lookup", edit},
		{"pebble", "pebble", "Tell me a story."},
		{"pebble", fixture.Path(t, "pebble/hf"), "Tell me a story."},
	} {
		var got [2]map[string]any
		for i, draft := range []string{"", c.draft} {
			stdout, _, err := generate(t.Context(), "", "-json", "-model", c.model, "-prompt", c.prompt, "-draft", draft)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(stdout), &got[i]); err != nil {
				t.Fatalf("%q: %v", stdout, err)
			}
		}
		if got[0]["text"] != got[1]["text"] || got[0]["drafted_tokens"] != 0.0 {
			t.Errorf("%s: %v without drafts, %v with", c.draft, got[0], got[1])
		}
		if c.draft != "lookup" {
			continue
		}
		drafted, _ := got[1]["drafted_tokens"].(float64)
		if accepted, _ := got[1]["accepted_tokens"].(float64); accepted > drafted { // how many depends on what rows cost now
			t.Errorf("%s: %v of %v proposed tokens accepted", c.draft, accepted, drafted)
		}
		_, stderr, err := generate(t.Context(), "", "-model", c.model, "-prompt", c.prompt, "-draft", c.draft)
		if err != nil || !strings.Contains(stderr, "proposed tokens accepted") {
			t.Errorf("%s: error %v, %q on stderr", c.draft, err, stderr)
		}
	}
}

// TestAdapter answers with an adapter, with a little of it, and with a folder that is no adapter.
func TestAdapter(t *testing.T) {
	const path = "../../llama/testdata/adapter"
	for adapter, want := range map[string]string{path: "The capital of Serbia is Belgrade.\n", path + ":0.3": "The capital of Japan is Tokyo.\n"} {
		if stdout, _, err := generate(t.Context(), "", "-adapter", adapter); err != nil || stdout != want {
			t.Errorf("-adapter %s: %q, %v", adapter, stdout, err)
		}
	}
	for adapter, want := range map[string]string{"nowhere": "nowhere", path + ":0": "scale", path + ":nowhere": "nowhere"} {
		if _, _, err := generate(t.Context(), "", "-adapter", adapter); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-adapter %s: %v", adapter, err)
		}
	}
}

func TestSeedDecides(t *testing.T) {
	answer := func(seed string) string {
		stdout, _, err := generate(t.Context(), "", "-temperature", "2", "-n", "30", "-seed", seed, "-prompt", "Tell me a story.")
		if err != nil {
			t.Fatal(err)
		}
		return stdout
	}
	if first := answer("1"); first != answer("1") || first == answer("2") {
		t.Error("the same seed must give the same answer, another seed another")
	}
}

func TestInterruptedJSONHasWhatThereIs(t *testing.T) {
	const looks = 228 // loading takes 138
	stdout, _, err := generate(countdown.New(t.Context(), looks), "", "-json", "-n", "200", "-prompt", "Tell me a story.")
	if !errors.Is(err, context.Canceled) || !strings.Contains(stdout, `"stop":"interrupted"`) {
		t.Errorf("%q, error %v", stdout, err)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		usage bool
		want  string
	}{
		{"no such flag", []string{"-colour"}, true, "-colour"},
		{"no such type", []string{"-kv-type", "q2"}, true, "f16"},
		{"a system message without messages", []string{"-raw", "-system", "x"}, true, "-raw"},
		{"a word too many", []string{"hello"}, true, "hello"},
		{"no such file", []string{"-model", "no/such.gguf"}, false, "no/such.gguf"},
		{"no such model for drafts", []string{"-draft", "no/such.gguf"}, false, "-draft no/such.gguf"},
		{"drafts in another vocabulary", []string{"-draft", "flint"}, true, "vocabulary"},
		{"no such backend", []string{"-backend", "abacus"}, true, "cpu"},
		{"a temperature below 0", []string{"-temperature", "-1"}, false, "-temperature is -1"},
		{"fewer than no threads", []string{"-threads", "-1"}, true, "-threads"},
		{"a prompt that does not fit", []string{"-capacity", "5"}, false, "-capacity"},
		{"a schema that is none", []string{"-schema", "main.go"}, false, "-schema main.go: "},
		{"a grammar that is none", []string{"-grammar", "main.go"}, false, "-grammar main.go: "},
		{"no such schema", []string{"-schema", "no/such.json"}, false, "-schema: open no/such.json"},
		{"an expression that is none", []string{"-regexp", "("}, false, `-regexp: regular expression: pattern "(": at byte 0: missing closing ): "("`},
		{"an endless answer with another policy", []string{"-endless", "-eviction-policy", "snapkv"}, true, "-endless"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, _, err := generate(t.Context(), "", c.args...)
			if stdout != "" {
				t.Errorf("an error comes with %q on stdout", stdout)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one that names %q", err, c.want)
			}
			var usage *cli.UsageError
			if errors.As(err, &usage) != c.usage {
				t.Errorf("%v: is a usage error: %v, want %v", err, !c.usage, c.usage)
			}
		})
	}
}
