package source_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// TestGGUFIsToldByItsMagic loads GGUF files of any name, by path and from a file system.
func TestGGUFIsToldByItsMagic(t *testing.T) {
	data := ggufOf(&smallShapes[2])
	for _, name := range []string{"model.gguf", "MODEL.GGUF", "sha256-8eeb52dfb3bb9aefdf9d1ef24b3bdbcfbe82238798c4b918278320b6fcef18fe", "model", "model.bin", "tokenizer.json"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := llama.Load(path, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m.Close()
		if m, err = llama.LoadFS(context.Background(), os.DirFS(dir), name, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m.Close()
		tokenizer, err := llama.LoadTokenizer(path)
		if err != nil || tokenizer.VocabSize() != 300 {
			t.Errorf("%s: the tokenizer: %v", name, err)
		}
	}
}

// TestOtherFilesAreNamed gives Load and LoadTokenizer files that are no models: the error names the kind of file and the remedy.
func TestOtherFilesAreNamed(t *testing.T) {
	safetensors, err := os.ReadFile(fixture.Path(t, "hf/llama2-mha-f32/model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, contents, says string }{
		{"model.safetensors", string(safetensors[:100]), "a safetensors file"},
		{"model.bin", "PK\x03\x04rest", "PyTorch"},
		{"old.bin", "tjgg\x01\x00", "GGUF has replaced"},
		{"pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:12", "not downloaded"},
		{"page", "<!DOCTYPE html>", "HTML"},
		{"config.json", `{"model_type":"llama"}`, "JSON"},
		{"empty", "", "empty"},
		{"text", "hello", `begins with "hello"`},
		{"text.gguf", "hello", `begins with "hello"`},
		{"pointer.gguf", "version https://git-lfs.github.com/spec/v1", "not downloaded"},
		{"short.gguf", "GGU", `begins with "GGU"`},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.contents), 0o600); err != nil {
			t.Fatal(err)
		}
		_, byPath := llama.Load(path, nil)
		_, byFS := llama.LoadFS(context.Background(), os.DirFS(dir), c.name, nil)
		for _, err := range []error{byPath, byFS} {
			var format *llama.FormatError
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "GGUF") {
				t.Errorf("%s: %v: does not say %q and GGUF", c.name, err, c.says)
			} else if errors.Is(err, llama.ErrUnsupported) == errors.As(err, &format) {
				t.Errorf("%s: %v: must be either a FormatError or ErrUnsupported", c.name, err)
			}
		}
		if _, err := llama.LoadTokenizer(path); err == nil || strings.Count(err.Error(), path) != 1 {
			t.Errorf("%s: the tokenizer: %v: names the file not once", c.name, err)
		}
	}
}

// TestDirectoryOfOneGGUF gives Load a directory with a GGUF file in it: the error names the file.
func TestDirectoryOfOneGGUF(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"one.gguf", "two.gguf"} {
		if err := os.WriteFile(filepath.Join(dir, name), ggufOf(&smallShapes[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		_, byPath := llama.Load(dir, nil)
		_, byFS := llama.LoadFS(context.Background(), os.DirFS(dir), ".", nil)
		_, tokenizer := llama.LoadTokenizer(dir)
		for _, err := range []error{byPath, byFS, tokenizer} {
			if err == nil || strings.Contains(err.Error(), "one.gguf") != (i == 0) {
				t.Errorf("with %d files: %v", i+1, err)
			}
		}
	}
}
