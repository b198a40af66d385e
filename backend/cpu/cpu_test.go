package cpu_test

import (
	"testing"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
)

// TestBackend holds the processor's kernels, on several threads, to the bits of the portable reference. Unless the tests are long, it does the first
// check of each operation and type, and half of the others.
func TestBackend(t *testing.T) {
	b := cpu.New(3)
	defer b.Close()
	all := backendtest.Checks(true)
	checks := backendtest.FirstOfEach(all)
	first := map[string]bool{}
	for _, c := range checks {
		first[c.String()] = true
	}
	checks = checks[:0]
	for i, c := range all {
		if first[c.String()] || effort.Share(i/2, 8) { // prepared weights come after the same as they are
			checks = append(checks, c)
		}
	}
	backendtest.RunChecks(t, b, checks)
}
