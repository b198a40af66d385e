//go:build linux || darwin || freebsd || netbsd || openbsd

package asmtest

import (
	"os"
	"syscall"
	"testing"
)

// Fenced returns n bytes that end at a page that can neither be read nor written.
func Fenced(t testing.TB, n int) []byte {
	t.Helper()
	page := os.Getpagesize()
	size := (n + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatalf("mapping %d bytes: %v", size+page, err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(memory) })
	if err := syscall.Mprotect(memory[size:], syscall.PROT_NONE); err != nil {
		t.Fatalf("protecting a page: %v", err)
	}
	return memory[size-n : size : size]
}
