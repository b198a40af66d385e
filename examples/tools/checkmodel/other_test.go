package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
)

// writeFiles writes files to a folder of their own and returns it.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ggufOf returns a GGUF file without tensors.
func ggufOf(t *testing.T, metadata ...gguf.KeyValue) string {
	t.Helper()
	var b strings.Builder
	w, err := gguf.NewWriter(&b, metadata, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWhatIsNoModel(t *testing.T) {
	hf := fixture.Path(t, "hf/llama2-mha-f32")
	small := `{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"ByteLevel"}}`
	for _, c := range []struct {
		name, path, want string
	}{
		{"a PEFT adapter", writeFiles(t, map[string]string{"adapter_config.json": `{"peft_type":"LORA","r":8,"lora_alpha":16,"base_model_name_or_path":"x/y"}`}), `LORA of rank 8`},
		{"a GGUF adapter", filepath.Join(writeFiles(t, map[string]string{"a.gguf": ggufOf(t, gguf.KeyValue{Key: checkpoint.TypeKey, Value: gguf.ValueOf("adapter")})}), "a.gguf"), "LoRA adapter"},
		{"an importance matrix", filepath.Join(writeFiles(t, map[string]string{"i.gguf": ggufOf(t, gguf.KeyValue{Key: checkpoint.TypeKey, Value: gguf.ValueOf("imatrix")})}), "i.gguf"), "importance matrix"},
		{"a vocabulary", fixture.Path(t, "tokenizer/llama-spm-vocab.gguf"), "vocabulary without a model"},
		{"a tokenizer's folder", writeFiles(t, map[string]string{"tokenizer.json": small}), "tokenizer without a model: 1 tokens"},
		{"a bad tokenizer's folder", writeFiles(t, map[string]string{"tokenizer.json": `{}`}), "does not load"},
		{"tokenizer.json", filepath.Join(writeFiles(t, map[string]string{"tokenizer.json": small}), "tokenizer.json"), "tokenizer without a model"},
		{"config.json", filepath.Join(hf, "config.json"), "give the folder"},
		{"weights alone", filepath.Join(hf, "model.safetensors"), "safetensors file of "},
		{"pickles", writeFiles(t, map[string]string{"config.json": "{}", "pytorch_model.bin": "PK\x03\x04"}), "not read: save it as safetensors"},
		{"a pickle", filepath.Join(writeFiles(t, map[string]string{"x.pt": "\x80\x02"}), "x.pt"), "PyTorch"},
		{"ONNX", filepath.Join(writeFiles(t, map[string]string{"x.onnx": "\x08\x07"}), "x.onnx"), "ONNX"},
		{"several GGUF files", writeFiles(t, map[string]string{"a.gguf": "", "b.gguf": ""}), "a.gguf, b.gguf"},
		{"weights of other names", writeFiles(t, map[string]string{"config.json": "{}", "w.safetensors": ""}), "w.safetensors"},
		{"weights without a configuration", writeFiles(t, map[string]string{"model.safetensors": ""}), "without the config.json"},
	} {
		out, err := check(t, "-model", c.path)
		if err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v, with %q; want something about %q", c.name, err, out, c.want)
		}
	}
	for name, data := range map[string]string{"old GGML": "tjgg....", "a page": "<html>", "nothing": "", "noise": "\x01\x02\x03\x04"} {
		if _, err := check(t, "-model", filepath.Join(writeFiles(t, map[string]string{"model.gguf": data}), "model.gguf")); err == nil {
			t.Errorf("%s is called a model", name)
		}
	}
}

func TestTellsAllProblems(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture.Path(t, "hf/llama2-mha-f32"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"model_type":"mamba"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(`{"model":{"type":"Morse"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := check(t, "-model", dir)
	if err == nil || !strings.Contains(err.Error(), "2 reasons") || !strings.Contains(out, "mamba") || !strings.Contains(out, "Morse") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestOneProblemIsOneReason(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture.Path(t, "hf/llama2-mha-f32"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(`{"model":{"type":"Morse"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := check(t, dir)
	if err == nil || !strings.Contains(err.Error(), "for this reason") || !strings.Contains(out, "Morse") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFileWithoutAFlag names the model before, after and without other flags, and twice.
func TestFileWithoutAFlag(t *testing.T) {
	dir := fixture.Path(t, "hf/llama2-mha-f32")
	want, err := check(t, "-model", dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{dir}, {dir, "-threads", "1"}, {"-threads", "1", dir}} {
		if out, err := check(t, args...); err != nil || out != want {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	for _, args := range [][]string{{dir, dir}, {"-model", dir, dir}} {
		if _, err := check(t, args...); !errors.As(err, new(*cli.UsageError)) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestDescribesFamilies(t *testing.T) {
	for name, wants := range map[string][]string{
		"families/gemma3": {"gemma3", "sliding window", "parameters"}, "hf/llama2-mha-f32": {"Hugging Face, 1 file", "tensors f32", "1000 tokens cached"},
	} {
		out, err := check(t, "-model", fixture.Path(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s: the description lacks %q:\n%s", name, want, out)
			}
		}
	}
}
