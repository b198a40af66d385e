package source_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// folderCopy copies a fixture folder, so that a test can damage it.
func folderCopy(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture.Path(t, name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// loadFails loads and returns the error, which there must be, in a bounded time and memory.
func loadFails(t *testing.T, path string) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var m *llama.Model
	var err error
	units := cost.Units(func() { m, err = llama.Load(path, nil) })
	if err == nil {
		m.Close()
		t.Fatalf("%s was loaded", path)
	}
	runtime.ReadMemStats(&after)
	if units > 50 {
		t.Errorf("refusing took %.0f units of processor time", units)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 256<<20 {
		t.Errorf("refusing allocated %d bytes", grown)
	}
	return err
}

func TestLoadRefusesDamagedFolders(t *testing.T) {
	effort.Turn(t, 8)
	const shard = "model-00002-of-00005.safetensors"
	for _, c := range []struct {
		name   string
		damage func(dir string) error
		format bool // a *FormatError
		says   string
	}{
		{"no config", func(dir string) error { return os.Remove(filepath.Join(dir, "config.json")) }, false, "config.json"},
		{"config is no JSON", func(dir string) error { return os.WriteFile(filepath.Join(dir, "config.json"), []byte("{"), 0o600) }, true, "config.json"},
		{"a shard is missing", func(dir string) error { return os.Remove(filepath.Join(dir, shard)) }, false, shard},
		{"a shard is empty", func(dir string) error { return os.Truncate(filepath.Join(dir, shard), 0) }, true, shard},
		{"a shard is cut short", func(dir string) error { return os.Truncate(filepath.Join(dir, shard), 100000) }, true, shard},
		{"a shard is a directory", func(dir string) error {
			if err := os.Remove(filepath.Join(dir, shard)); err != nil {
				return err
			}
			return os.Mkdir(filepath.Join(dir, shard), 0o700)
		}, false, shard},
		{"the index leads out", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(`{"weight_map":{"a":"../secret.safetensors"}}`), 0o600)
		}, true, "index.json"},
		{"the index lacks a tensor", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(`{"weight_map":{"a":"`+shard+`"}}`), 0o600)
		}, true, "missing"},
		{"other sizes", func(dir string) error {
			path := filepath.Join(dir, "config.json")
			config, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, bytes.Replace(config, []byte(`"intermediate_size": 256`), []byte(`"intermediate_size": 512`), 1), 0o600)
		}, true, "512"},
		{"a tokenizer that is none", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(`{"model":3}`), 0o600)
		}, true, "tokenizer.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folderCopy(t, "hf/llama32-sharded-f16")
			if err := c.damage(dir); err != nil {
				t.Fatal(err)
			}
			err := loadFails(t, dir)
			var format *llama.FormatError
			if errors.As(err, &format) != c.format {
				t.Errorf("%v: being a FormatError should be %v", err, c.format)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q does not mention %q", err, c.says)
			}
		})
	}
}

func TestLoadRefusesOtherThings(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "model.txt")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := loadFails(t, text); !errors.Is(err, llama.ErrUnsupported) {
		t.Errorf("a text file: %v", err)
	}
	if err := loadFails(t, filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing path: %v", err)
	}
	if err := loadFails(t, dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := pebble.Load(&llama.LoadOptions{Weights: tensor.U8}); err == nil {
		t.Error("weights were quantised to what is no format")
	}
	if _, err := pebble.Load(&llama.LoadOptions{Threads: -1}); !errors.As(err, new(*llama.ParamError)) {
		t.Errorf("a negative number of threads: %v", err)
	}
	if _, err := llama.LoadFS(t.Context(), os.DirFS(dir), "", nil); !errors.As(err, new(*llama.ParamError)) {
		t.Errorf("no name in a file system: %v", err)
	}
}

// TestLoadOfNames gives names of the hub, and nothing, in place of paths.
func TestLoadOfNames(t *testing.T) {
	for path, want := range map[string]string{
		"hf:owner/name": "hub.Get", "HF:owner/name:Q4_K_M": "hub.Get", "https://example.org/a.gguf": "hub.Get", "owner/name": "hub.Get",
		"": `the path is ""`, "./owner/name": "", "models/a.gguf": "", "/owner/name": "", "a/b/c": "", "Llama-3.2-1B-Instruct": "antigravity/llama/hub", "name.gguf": "",
	} {
		inspect := func(path string) error { _, err := llama.Inspect(path); return err }
		tokenizer := func(path string) error { _, err := llama.LoadTokenizer(path); return err }
		for function, err := range map[string]error{"Load": loadFails(t, path), "Inspect": inspect(path), "LoadTokenizer": tokenizer(path)} {
			switch {
			case err == nil:
				t.Errorf("%s(%q) succeeds", function, path)
			case want == "" && strings.Contains(err.Error(), "hub"), !strings.Contains(err.Error(), want):
				t.Errorf("%s(%q): %v, want an error with %q", function, path, err, want)
			case path == "" && (!errors.As(err, new(*llama.ParamError)) || strings.Contains(err.Error(), "load")):
				t.Errorf("%s of no path: %v", function, err)
			}
		}
	}
}

// TestLoadSurvivesDamagedGGUF cuts the file at many places, and overwrites words of its header.
func TestLoadSurvivesDamagedGGUF(t *testing.T) {
	whole, err := pebble.FS.ReadFile(pebble.Name)
	if err != nil {
		t.Fatal(err)
	}
	try := func(data []byte) {
		t.Helper()
		m, err := llama.LoadFS(context.Background(), fstest.MapFS{"m.gguf": {Data: data}}, "m.gguf", nil)
		if err == nil {
			m.Close()
			return
		}
		var format *llama.FormatError
		if !errors.As(err, &format) && !errors.Is(err, llama.ErrUnsupported) && !strings.HasPrefix(err.Error(), "llama: ") {
			t.Errorf("the error does not say where it comes from: %v", err)
		}
	}
	for n := range 200 {
		if !effort.Share(n, 4) {
			continue
		}
		try(whole[:n*n*len(whole)/200/200])
	}
	for n := range 120 {
		if !effort.Share(n, 3) {
			continue
		}
		data := bytes.Clone(whole)
		at := n * 8
		if n >= 60 {
			at = n * 997
		}
		binary.LittleEndian.PutUint64(data[at:], ^uint64(0)>>uint(n%40))
		try(data)
	}
}

func TestShrunkFileIsAnError(t *testing.T) {
	dir := folderCopy(t, "hf/llama32-tied-bf16")
	m, err := llama.Load(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := llamatest.Session(t, m, &llama.SessionOptions{KV: tensor.F32})
	if err := os.Truncate(filepath.Join(dir, "model.safetensors"), 4096); err != nil {
		t.Skip(err) // a system that does not let mapped files shrink
	}
	// Weights that were copied into panels are safe; ones that are still read from the file give an error.
	if err := s.Prefill(t.Context(), []llama.Token{1, 2, 3}); err != nil && !strings.Contains(err.Error(), "truncated") {
		t.Errorf("the error does not say what happened: %v", err)
	}
}

// FuzzLoad damages a small model's file at one place and cuts it.
func FuzzLoad(f *testing.F) {
	whole, err := pebble.FS.ReadFile(pebble.Name)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(8), uint64(1<<40), uint32(len(whole)))
	f.Add(uint32(500), uint64(0), uint32(70000))
	f.Fuzz(func(t *testing.T, at uint32, word uint64, n uint32) {
		data := bytes.Clone(whole[:min(int(n), len(whole))])
		if int(at)+8 <= len(data) {
			binary.LittleEndian.PutUint64(data[at:], word)
		}
		if m, err := llama.LoadFS(context.Background(), fstest.MapFS{"m.gguf": {Data: data}}, "m.gguf", &llama.LoadOptions{Threads: 1}); err == nil {
			m.Close()
		}
	})
}
