//go:build linux || darwin || freebsd || netbsd || openbsd

package asmtest

import (
	"syscall"
	"testing"
)

// mapFence returns size bytes before a page that can neither be read nor written.
func mapFence(t testing.TB, size, page int) []byte {
	t.Helper()
	memory, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatalf("mapping %d bytes: %v", size+page, err)
	}
	if err := syscall.Mprotect(memory[size:], syscall.PROT_NONE); err != nil {
		t.Fatalf("protecting a page: %v", err)
	}
	return memory[:size]
}

// unmapFence gives what mapFence returned back to the system.
func unmapFence(memory []byte) { _ = syscall.Munmap(memory[:cap(memory)]) }
