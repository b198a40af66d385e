package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/llama"
)

// TestUnknownArchitecturesAreRefused names those that are known.
func TestUnknownArchitecturesAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"model_type":"mamba"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := llama.Load(dir, nil)
	if !errors.Is(err, llama.ErrUnsupported) {
		t.Fatalf("%v does not wrap ErrUnsupported", err)
	}
	for _, name := range []string{"mamba", "llama", "mistral", "qwen2", "qwen3", "smollm3", "granite", "phi3", "olmo2", "gemma3_text"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

// TestGemma3nIsRefused loads what says that it is Gemma 3n, as folders, as a wrapper and in GGUF: the error has its name.
func TestGemma3nIsRefused(t *testing.T) {
	refused := func(path, name string) {
		t.Helper()
		if _, err := llama.Load(path, nil); !errors.Is(err, llama.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want an error with %q that wraps ErrUnsupported", err, name)
		}
	}
	for name, config := range map[string]string{
		`"gemma3n_text"`: `{"model_type": "gemma3n_text"}`,
		`"gemma3n"`:      `{"model_type": "gemma3n"}`,
		`gemma3n`:        `{"model_type": "gemma3n", "vision_config": {}, "text_config": {"model_type": "gemma3n_text", "hidden_size": 64}}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		refused(dir, name)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := gguf.NewWriter(file, []gguf.KeyValue{{Key: checkpoint.ArchitectureKey, Value: gguf.ValueOf("gemma3n")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	refused(path, `"gemma3n"`)
}
