package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/flint"
)

// TestSingle builds a program with Flint in it, and asks it a question.
func TestSingle(t *testing.T) {
	dir := t.TempDir()
	b, err := flint.FS.ReadFile(flint.Name)
	if err != nil {
		t.Fatal(err)
	}
	model, out := filepath.Join(dir, "flint.gguf"), filepath.Join(dir, "answer")
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	if err := os.WriteFile(model, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if err := run(t.Context(), []string{"-model", model, "-out", out}, nil, &said, &said); err != nil {
		t.Fatal(err)
	}
	answer, err := exec.CommandContext(t.Context(), out, "-question", "What is the capital of Japan?").CombinedOutput()
	if err != nil || !strings.Contains(string(answer), "Tokyo") {
		t.Errorf("%v: %s", err, answer)
	}
	for _, args := range [][]string{{}, {"-model", filepath.Join(dir, "none.gguf")}} {
		if err := run(t.Context(), args, nil, &said, &said); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
