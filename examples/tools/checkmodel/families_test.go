package main

import (
	"bytes"
	"os"
	"testing"
)

// TestFamiliesPage compares llama/MODELS.md with what the tables say.
func TestFamiliesPage(t *testing.T) {
	const page = "../../../llama/MODELS.md"
	var made bytes.Buffer
	if err := writeFamilies(&made); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written, made.Bytes()) {
		t.Errorf("%s is not what the tables say: go run ./examples/tools/checkmodel -families > llama/MODELS.md", page)
	}
}
