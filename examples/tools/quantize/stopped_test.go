package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/atomicfile/filetest"
)

// convertWith is quantized with a System.
func convertWith(ctx context.Context, system atomicfile.System, args ...string) error {
	o, err := parse(args, io.Discard)
	if err != nil {
		return err
	}
	o.system = system
	return o.convert(ctx, io.Discard, io.Discard)
}

// otherWeights is a model of writeModel with other weights.
func otherWeights(t *testing.T) string {
	dir := writtenModel(t)
	path := filepath.Join(dir, "model.safetensors")
	data := readFile(t, path)
	weights := data[8+binary.LittleEndian.Uint64(data):]
	for i := range weights {
		weights[i] = byte(i%2) * 0x3e // 0.125
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// parts reads the files of a model in a folder.
func parts(folder string) (list [][]byte, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "m*.gguf"))
	for _, name := range names {
		data, readErr := os.ReadFile(name)
		list, err = append(list, data), errors.Join(err, readErr)
	}
	return list, err
}

// TestStopped stops the writer of one file, and of several, at every step. The old files are those of a model that differs in its weights
// alone, so that no reader could see a mixture of both.
func TestStopped(t *testing.T) {
	for name, args := range map[string][]string{
		"one file":      {"-type", "q8_0"},
		"several files": {"-type", "q8_0", "-split-max-size", "3K"},
	} {
		t.Run(name, func(t *testing.T) {
			write := func(s atomicfile.System, in, folder string) error {
				return convertWith(t.Context(), s, append([]string{"-in", in, "-name", "a", "-out", filepath.Join(folder, "m.gguf"), "-threads", "1"}, args...)...)
			}
			other, model := otherWeights(t), writtenModel(t)
			var whole [2][][]byte
			old := t.TempDir()
			for i, folder := range []string{old, t.TempDir()} {
				err := write(nil, [2]string{other, model}[i], folder)
				if err == nil {
					whole[i], err = parts(folder)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if n := len(whole[0]); n != len(whole[1]) || n != 1 && n < 3 {
				t.Fatalf("%d and %d files", n, len(whole[1]))
			}
			filetest.EveryStep(t, func(folder string) {
				err := os.CopyFS(folder, os.DirFS(old))
				if err = errors.Join(err, os.WriteFile(filepath.Join(folder, "m.gguf.part"), []byte("precious"), 0o666)); err != nil {
					t.Fatal(err)
				}
			}, func(s atomicfile.System, folder string) error { return write(s, model, folder) },
				func(folder string) error { return noMixture(folder, whole) })
		})
	}
}

// noMixture fails if a folder has all files of a model, and not all of one.
func noMixture(folder string, whole [2][][]byte) error {
	list, err := parts(folder)
	if len(list) < len(whole[0]) || err != nil {
		return err // a file is missing, so nothing loads
	}
	for _, w := range whole {
		if slices.EqualFunc(list, w, bytes.Equal) {
			return nil
		}
	}
	return errors.New("some files are the old ones and some are the new ones")
}

// TestLinks has links with the name that the file had while it was written: what they point to stays.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	in := quantized(t, writtenModel(t))
	before := readFile(t, in)
	out := filepath.Join(dir, "out.gguf")
	if err := os.Link(in, out+".part"); err != nil {
		t.Skip(err)
	}
	if err := convertWith(t.Context(), nil, "-in", in, "-out", out, "-type", "q8_0"); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(readFile(t, in), before) {
		t.Error("the file that was read has changed")
	}
	if !bytes.Equal(readFile(t, out+".part"), before) {
		t.Error("the link is gone")
	}
}

func writtenModel(t *testing.T) string {
	dir := t.TempDir()
	writeModel(t, dir, 8, 2)
	return dir
}

// TestTogether lets several write one file: what stays is what one of them writes alone.
func TestTogether(t *testing.T) {
	in, out := writtenModel(t), filepath.Join(t.TempDir(), "out.gguf")
	types := []string{"q4_0", "q8_0", "f16", "q4_1"}
	whole := map[string]bool{}
	for _, kind := range types {
		whole[string(readFile(t, quantized(t, in, "-type", kind)))] = true
	}
	var group sync.WaitGroup
	for _, kind := range types {
		group.Go(func() {
			if err := convertWith(t.Context(), nil, "-in", in, "-out", out, "-type", kind, "-name", filepath.Base(in)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if !whole[string(readFile(t, out))] {
		t.Error("the file is none that one of them writes alone")
	}
}
