//go:build !race

package mmap

import "testing"

// The race detector's instrumentation keeps Catch from being inlined, which is what keeps its closure on the stack.
func TestCatchAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _ = guarded(func() {}) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}
