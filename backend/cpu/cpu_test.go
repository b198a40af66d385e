package cpu_test

import (
	"testing"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
)

// TestBackend holds the processor's kernels, on several threads, to the bits of the portable reference.
func TestBackend(t *testing.T) {
	b := cpu.New(3)
	defer b.Close()
	backendtest.Run(t, b)
}
