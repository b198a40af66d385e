package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/llama"
)

// splitInto converts Pebble to several files, and returns their names.
func splitInto(t *testing.T, dir, kind string) []string {
	t.Helper()
	args := []string{"-in", fixture.Path(t, "pebble/hf"), "-out", filepath.Join(dir, "m.gguf"), "-type", kind, "-split-max-size", "1M"}
	if err := run(t.Context(), args, nil, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "m-*.gguf"))
	if err != nil || len(names) < 4 {
		t.Fatalf("the files are %v, %v", names, err)
	}
	return names
}

// TestSplitFiles writes a model in several files, loads it and converts it: all is as with one file.
func TestSplitFiles(t *testing.T) {
	names := splitInto(t, t.TempDir(), "q4_0")
	whole := quantized(t, fixture.Path(t, "pebble/hf"), "-type", "q4_0")
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || name != names[0] && info.Size() > 1<<20 {
			t.Errorf("%s has %d bytes, %v", name, info.Size(), err)
		}
	}
	if !slices.Equal(logits(t, names[0], nil), logits(t, whole, nil)) {
		t.Error("the logits of the model in several files are others")
	}
	if !bytes.Equal(readFile(t, quantized(t, names[0], "-type", "q4_0", "-name", "hf")), readFile(t, whole)) {
		t.Error("the model in several files, put together, is another file")
	}
	m, err := llama.LoadFS(t.Context(), os.DirFS(filepath.Dir(names[0])), filepath.Base(names[0]), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSplitRefusals loads and converts parts that do not make a model.
func TestSplitRefusals(t *testing.T) {
	copied := func(t *testing.T, names []string) []string {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Dir(names[0]))); err != nil {
			t.Fatal(err)
		}
		list := make([]string, len(names))
		for i, name := range names {
			list[i] = filepath.Join(dir, filepath.Base(name))
		}
		return list
	}
	good, other := splitInto(t, t.TempDir(), "q4_0"), splitInto(t, t.TempDir(), "q4_1")
	move := func(t *testing.T, from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, names []string) (path string)
		want  []string
	}{
		"a part is missing": {func(t *testing.T, names []string) string {
			if err := os.Remove(names[2]); err != nil {
				t.Fatal(err)
			}
			return names[0]
		}, []string{"part 3 of", filepath.Base(good[2])}},
		"the second part is given": {func(t *testing.T, names []string) string { return names[1] }, []string{"it is part 2 of", "give the first part"}},
		"the first part has another name": {func(t *testing.T, names []string) string {
			to := filepath.Join(filepath.Dir(names[0]), "model.gguf")
			move(t, names[0], to)
			return to
		}, []string{"its name must end in"}},
		"two parts changed places": {func(t *testing.T, names []string) string {
			move(t, names[1], names[1]+"x")
			move(t, names[2], names[1])
			move(t, names[1]+"x", names[2])
			return names[0]
		}, []string{"is in fact part 3 of"}},
		"a part of another model": {func(t *testing.T, names []string) string {
			if err := os.WriteFile(names[1], readFile(t, other[1]), 0o666); err != nil {
				t.Fatal(err)
			}
			return names[0]
		}, []string{"part"}},
		"a part is damaged": {func(t *testing.T, names []string) string {
			if err := os.WriteFile(names[1], readFile(t, names[1])[:200], 0o666); err != nil {
				t.Fatal(err)
			}
			return names[0]
		}, []string{filepath.Base(good[1])}},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.spoil(t, copied(t, good))
			_, loading := llama.Load(path, nil)
			converting := run(t.Context(), []string{"-in", path, "-out", filepath.Join(t.TempDir(), "out.gguf")}, nil, io.Discard, io.Discard)
			for _, err := range []error{loading, converting} {
				for _, want := range c.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("got %v, want an error with %q", err, want)
					}
				}
			}
		})
	}
}

// TestSplitAgain splits a file that llama.cpp joined from parts, with the first part's keys still in it, and copies it: the copy has no
// such keys.
func TestSplitAgain(t *testing.T) {
	plain := parseGGUF(t, readFile(t, quantized(t, writtenModel(t), "-type", "f16")))
	path := filepath.Join(t.TempDir(), "JOINED.GGUF")
	err := atomicfile.Write(path, func(f io.Writer) error {
		var infos []gguf.TensorInfo
		for _, tensor := range plain.Tensors() {
			infos = append(infos, gguf.TensorInfo{Name: tensor.Name, Type: tensor.Type, Shape: tensor.Shape})
		}
		keys := append(plain.Metadata(), gguf.PartKeys(0, 0, len(infos))...)
		w, err := gguf.NewWriter(f, keys, infos)
		if err != nil {
			return err
		}
		for _, tensor := range plain.Tensors() {
			if err := w.WriteTensor(tensor.Name, tensor.Data); err != nil {
				return err
			}
		}
		return w.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range parseGGUF(t, readFile(t, quantized(t, path, "-type", "f16"))).Keys() {
		if strings.HasPrefix(key, "split.") {
			t.Errorf("the copy has the key %s", key)
		}
	}
	out := filepath.Join(t.TempDir(), "UP.GGUF")
	if err := run(t.Context(), []string{"-in", path, "-out", out, "-type", "f16", "-split-max-size", "4K"}, nil, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(out), "UP-00001-of-*.gguf"))
	if err != nil || len(names) != 1 {
		t.Fatalf("the first parts are %v, %v", names, err)
	}
	if !bytes.Equal(readFile(t, quantized(t, names[0], "-type", "f16", "-name", "a")), readFile(t, quantized(t, path, "-type", "f16", "-name", "a"))) {
		t.Error("the parts, put together, are another file")
	}
}
