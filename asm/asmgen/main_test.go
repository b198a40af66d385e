package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestFresh fails where the files of package asm are not what this generator writes.
func TestFresh(t *testing.T) {
	for _, f := range files {
		t.Run(f.name, func(t *testing.T) {
			folder := t.TempDir()
			if err := write(filepath.Join(folder, f.name), f.generate); err != nil {
				t.Fatal(err)
			}
			for _, suffix := range []string{"_amd64.s", "_stubs_amd64.go"} {
				want, err := os.ReadFile(filepath.Join(folder, f.name+suffix))
				if err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(filepath.Join("..", f.name+suffix))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s is stale: go run . ..", f.name+suffix)
				}
			}
		})
	}
}
