package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

func check(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, notes bytes.Buffer
	err := run(t.Context(), args, nil, &out, &notes)
	return out.String(), err
}

func TestCheckpointsEqualTheReference(t *testing.T) {
	for _, name := range []string{"llama32-tied-bf16", "llama32-sharded-f16", "llama2-mha-f32"} {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "hf/"+name)
			out, err := check(t, "-model", dir, "-golden", filepath.Join(dir, "golden.safetensors"))
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !strings.Contains(out, "greedy: 40 of 40") {
				t.Errorf("no 40 greedy tokens agree:\n%s", out)
			}
		})
	}
}

func TestLastPositionsOnly(t *testing.T) {
	golden := fixture.Path(t, "pebble/golden.safetensors")
	if out, err := check(t, "-golden", golden, "-model", fixture.Path(t, "pebble/hf")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := check(t, "-golden", golden, "-tolerance", "0.2"); err != nil { // four-bit weights
		t.Errorf("embedded: %v\n%s", err, out)
	}
}

func TestOutOfToleranceFails(t *testing.T) {
	dir := fixture.Path(t, "hf/llama2-mha-f32")
	_, err := check(t, "-model", dir, "-golden", filepath.Join(dir, "golden.safetensors"), "-tolerance", "0")
	if err == nil || !strings.Contains(err.Error(), "tolerance") {
		t.Errorf("error %v, want one about the tolerance", err)
	}
}

func TestAnotherModelsGoldenFileFails(t *testing.T) {
	_, err := check(t, "-golden", fixture.Path(t, "hf/llama2-mha-f32/golden.safetensors"))
	if err == nil || !strings.Contains(err.Error(), "vocabulary") {
		t.Errorf("error %v, want one about the vocabulary", err)
	}
}

func TestDescribesTheEmbeddedModel(t *testing.T) {
	out, err := check(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pebble-Q4_0.gguf", "GGUF version 3", "4 query heads, 2 key and value heads of 64", "tensors q4_0",
		"tensors q6_k", "4096 tokens", "llama-bpe", "<|eot_id|>", "chat template"} {
		if !strings.Contains(out, want) {
			t.Errorf("the description lacks %q:\n%s", want, out)
		}
	}
}

// TestNamesTowers describes models that also see.
func TestNamesTowers(t *testing.T) {
	for name, want := range map[string]string{
		"qwen3vl-wrapper": "of model.visual: ", "mistral3-wrapper": "vision_tower", "gemma3-wrapper": "multi_modal_projector",
	} {
		out, err := check(t, "-model", fixture.Path(t, "families/"+name))
		if err != nil || !strings.Contains(out, "not loaded") || !strings.Contains(out, want) {
			t.Errorf("%s: %v; the description lacks %q:\n%s", name, err, want, out)
		}
	}
}

// TestSees describes models with towers that are loaded.
func TestSees(t *testing.T) {
	for name, want := range map[string]string{"vl-qwen3vl": "kind qwen3vl of 3 layers", "vl-gemma4-e": "60 tokens for 640×426 pixels"} {
		out, err := check(t, "-model", fixture.Path(t, "families/"+name))
		if err != nil || !strings.Contains(out, want) || strings.Contains(out, "not loaded") {
			t.Errorf("%s: %v; the description lacks %q:\n%s", name, err, want, out)
		}
	}
}

// TestMemoryOfExperts finds what will be in memory and what stays in the file.
func TestMemoryOfExperts(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{fixture.Path(t, "families/qwen3moe")}, nil, &out, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"in memory", "of experts", "of which a token reads", "no less"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, &out)
		}
	}
}

// TestKinds checks that models of all kinds say whether they load and what they are for, and nothing that does not concern them.
func TestKinds(t *testing.T) {
	for name, want := range map[string]string{
		"pebble/gguf/pebble-Q4_K_M.gguf": "loads yes|kind chat|chat template tokenizer.chat_template|not used llama.vocab_size",
		"families/enc-bert":              "loads yes|kind encoder|positions 160, learned|-RoPE|-1000 tokens cached|-output head",
		"families/rank-bert":             "loads yes|kind reranker",
		"families/enc-qwen3":             "loads yes|kind embedder",
		"families/qwen3":                 "loads yes|kind generator",
		"families/qwen3vl-wrapper":       "27 tensors of model.visual: of a part that sees or hears",
	} {
		out, err := check(t, fixture.Path(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		lines := strings.Split(out, "\n")
		for i, line := range lines {
			lines[i] = strings.Join(strings.Fields(line), " ")
		}
		for _, w := range strings.Split(want, "|") {
			begin, not := strings.CutPrefix(w, "-")
			if slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, begin) }) == not {
				t.Errorf("%s: %q must be there: %v\n%s", name, begin, !not, out)
			}
		}
	}
}
