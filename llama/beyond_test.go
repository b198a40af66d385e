package llama_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// TestLayersBeyondTheConfiguration loads a folder with fewer layers in its configuration than in its tensors, as after a wrong key: half a
// model would compute.
func TestLayersBeyondTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture.Path(t, "pebble/hf"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.json")
	config, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fewer := strings.Replace(string(config), `"num_hidden_layers": 8`, `"num_hidden_layers": 4`, 1)
	if fewer == string(config) {
		t.Fatal("the configuration has another form")
	}
	if err := os.WriteFile(path, []byte(fewer), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = llama.Load(dir, nil)
	if err == nil || !strings.Contains(err.Error(), "belongs to layer 4, and the configuration has 4 layers") {
		t.Errorf("loading: %v", err)
	}
	report, err := llama.Inspect(dir)
	if err != nil || !slices.ContainsFunc(report.Problems, func(err error) bool { return strings.Contains(err.Error(), "belongs to layer 4") }) {
		t.Errorf("inspecting: %v, %v", report, err)
	}
}

// TestMemoryOfAClosedModel has no weights, caches and workspaces left.
func TestMemoryOfAClosedModel(t *testing.T) {
	m, err := llama.Load(fixture.Path(t, "pebble/gguf/pebble-Q4_K_M.gguf"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Prefill(context.Background(), stream(10)); err != nil {
		t.Fatal(err)
	}
	if used := m.MemoryUsage(); used.Weights == 0 || used.Caches == 0 || used.Workspaces == 0 {
		t.Errorf("in use: %v", used)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if left := m.MemoryUsage(); left.Weights != 0 || left.Caches != 0 || left.Workspaces != 0 {
		t.Errorf("after Close: %v", left)
	}
}

func TestMemoryInWords(t *testing.T) {
	m := llama.Memory{Weights: 1234567890, Caches: 34567890, Workspaces: 999_600_000, Scratch: 999}
	if got, want := m.String(), "weights 1.2 GB, caches 35 MB, workspaces 1.0 GB, scratch 999 B"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	m = llama.Memory{Weights: 2.7e9, Mapped: 1.5e9, Caches: 35e6, CacheParts: llama.CacheParts{Whole: 5e6, Windows: 20e6, Shared: 10e6}}
	if got, want := m.String(), "weights 2.7 GB (1.5 GB in mapped files), caches 35 MB (whole 5 MB, windows 20 MB, shared 10 MB), workspaces 0 B, scratch 0 B"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAdapterScales has scales that would overflow, in both ways of having an adapter, and the one with which it changes nothing.
func TestAdapterScales(t *testing.T) {
	m := pebbleModel(t)
	a := pebbleAdapter(t, m)
	for _, scale := range []float32{3e38, -3e38, 101, float32(math.Inf(1)), float32(math.NaN())} {
		if _, err := m.NewSession(&llama.SessionOptions{Adapter: a, AdapterScale: scale}); err == nil || !strings.Contains(err.Error(), "-100 to 100") {
			t.Errorf("a session with %g: %v", scale, err)
		}
		if _, err := a.Embed(t.Context(), m, scale, "a"); err == nil || !strings.Contains(err.Error(), "-100 to 100") {
			t.Errorf("embedding with %g: %v", scale, err)
		}
		_, err := llama.Load(fixture.Path(t, "pebble/hf"), &llama.LoadOptions{Adapters: []llama.AdapterFile{{Path: "x", Scale: scale}}})
		if err == nil || !strings.Contains(err.Error(), "-100 to 100") {
			t.Errorf("merging with %g: %v", scale, err)
		}
	}
	logits := func(o *llama.SessionOptions) []float32 {
		s := newSession(t, m, o)
		if err := s.Prefill(t.Context(), stream(10)); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(logitsOf(s))
	}
	if !slices.Equal(logits(&llama.SessionOptions{Adapter: a, AdapterScale: llama.AdapterOff}), logits(nil)) {
		t.Error("an adapter that is off changes the logits")
	}
	if slices.Equal(logits(&llama.SessionOptions{Adapter: a}), logits(nil)) {
		t.Error("the adapter changes nothing")
	}
	for _, v := range logits(&llama.SessionOptions{Adapter: a, AdapterScale: llama.MaxAdapterScale}) {
		if v != v {
			t.Fatal("the largest scale gives logits that are not numbers")
		}
	}
}
