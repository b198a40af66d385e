package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// A tower loads with the model of text of its shape, and towers of published shapes are whole blocks of the usual types.
func TestTower(t *testing.T) {
	dir := t.TempDir()
	text, tower := filepath.Join(dir, "tiny-f16.gguf"), filepath.Join(dir, "mmproj-tiny-f16.gguf")
	for _, args := range [][]string{{"-out", text}, {"-out", tower, "-tower"}} {
		if err := run(t.Context(), append([]string{"-shape", "tiny-qwen3.5", "-type", "f16"}, args...), nil, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	r, err := llama.Inspect(text)
	if err != nil || len(r.Problems) > 0 || r.Sight == "" {
		t.Fatalf("%v, %v, it sees %q", err, r.Problems, r.Sight)
	}
	m, err := llama.Load(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	for name := range towers {
		for _, kind := range []tensor.DType{tensor.F16, tensor.Q8_0} {
			o := &options{shape: name, kind: kind.String(), format: "gguf"}
			tower, err := o.tower()
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range tower.plan() {
				if err := p.check(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}
