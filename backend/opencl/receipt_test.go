//go:build opencl && (amd64 || arm64)

package opencl_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/antigravity-go/antigravity/llama/receipt"
)

// TestPebbleReceipts verifies receipts that a processor made.
func TestPebbleReceipts(t *testing.T) {
	b := device(t)
	m := load(t, b)
	file, err := os.ReadFile("../../llama/receipt/testdata/receipts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		r, err := receipt.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if r.Statement.Parameters.Tools != nil {
			continue // Flint's
		}
		if err := receipt.Verify(t.Context(), m, r); err != nil {
			t.Error(err)
		}
	}
}
