package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFresh fails if the generated files are not what this generator writes.
func TestFresh(t *testing.T) {
	names := []string{headersName}
	for _, o := range outputs {
		names = append(names, o.name)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			files, err := generate(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(files) == 0 {
				t.Fatal("there are no files")
			}
			for path, want := range files {
				got, err := os.ReadFile(filepath.Join(families, path))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s is stale: go generate ./asm/..., or here go run . %s", path, name)
				}
			}
		})
	}
}

// TestInstructionSets fails if a file has instructions that the processors it is meant for may lack: the machine that runs the
// tests may have them.
func TestInstructionSets(t *testing.T) {
	for name, foreign := range map[string]string{"avx2": "AVX512", "avxvnni": "AVX512", "avx512": "AVX512VNNI"} {
		text, err := os.ReadFile(filepath.Join(families, "panels/amd64", name+"_amd64.s"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "// Requires:") && strings.Contains(line, foreign) {
				t.Errorf("%s has instructions of %s: %s", name, foreign, line)
			}
		}
	}
}

// TestSharedMacrosAreUsed fails if a shared header has a definition that no folder gets.
func TestSharedMacrosAreUsed(t *testing.T) {
	files, err := headers()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sharedHeaders {
		h, err := readHeader(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range h.macros {
			used := false
			for path, text := range files {
				used = used || filepath.Base(path) == name+"_arm64.h" && bytes.Contains(text, []byte(m.text))
			}
			if !used {
				t.Errorf("no assembly uses %s of arm64/%s.h", m.name, name)
			}
		}
	}
}

// TestUnknownNames fails unless a name that is misspelt is refused.
func TestUnknownNames(t *testing.T) {
	if err := run([]string{"vector"}); err == nil {
		t.Error("there is no vector, and no error")
	}
}

// TestGoGenerate fails if a name is in no //go:generate line of the folder that its files go to.
func TestGoGenerate(t *testing.T) {
	for _, o := range outputs {
		folder := filepath.Join(families, o.folder)
		sources, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, name := range sources {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				found = found || strings.HasPrefix(line, "//go:generate go -C ") && slices.Contains(strings.Fields(line), o.name)
			}
		}
		if !found {
			t.Errorf("no //go:generate line in %s has asmgen write %s", folder, o.name)
		}
	}
}
