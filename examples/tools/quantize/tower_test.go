package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// A folder's tower becomes a file that loads with the model of text, and that file one of other types.
func TestTower(t *testing.T) {
	for _, name := range []string{"vl-qwen3vl", "vl-qwen35", "vl-glmocr", "vl-qwen2vl", "vl-qwen25vl", "vl-gemma4-e", "vl-gemma4-dense", "vl-gemma4-unified", "vl-gemma3", "vl-smolvlm", "vl-lfm2", "vl-mistral3"} {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "families/"+name)
			wide := quantized(t, dir, "-tower", "-type", "f32")
			for _, kind := range []string{"f16", "q8_0"} {
				direct, again := parseGGUF(t, readFile(t, quantized(t, dir, "-tower", "-type", kind))), parseGGUF(t, readFile(t, quantized(t, wide, "-type", kind)))
				for _, w := range direct.Tensors() {
					other, ok := again.Tensor(w.Name)
					if !ok || other.Type != w.Type || !slices.Equal(other.Shape, w.Shape) || !slices.Equal(other.Data, w.Data) {
						t.Errorf("%s: %s differs from that by way of f32", kind, w.Name)
					}
				}
				linear, ok := direct.Tensor("mm.0.weight")
				if !ok { // Gemma's, which has rows of 48
					continue
				}
				if !strings.EqualFold(linear.Type.String(), kind) {
					t.Errorf("%s: a matrix is %v", kind, linear.Type)
				}
			}
			m, err := llama.Load(dir, &llama.LoadOptions{Towers: []string{wide}})
			if err != nil {
				t.Fatal(err)
			}
			m.Close()
		})
	}
	if err := run(t.Context(), []string{"-in", fixture.Path(t, "families/qwen3"), "-out", filepath.Join(t.TempDir(), "x.gguf"), "-tower"}, nil, nil, nil); err == nil || !strings.Contains(err.Error(), "no tower") {
		t.Errorf("a model without a tower: %v", err)
	}
}
