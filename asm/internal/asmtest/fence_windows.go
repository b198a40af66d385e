package asmtest

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Fenced returns n bytes that end at a page that can neither be read nor written.
func Fenced(t testing.TB, n int) []byte {
	t.Helper()
	page := os.Getpagesize()
	size := (n + page - 1) / page * page
	addr, err := windows.VirtualAlloc(0, uintptr(size+page), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		t.Fatalf("allocating %d bytes: %v", size+page, err)
	}
	t.Cleanup(func() { _ = windows.VirtualFree(addr, 0, windows.MEM_RELEASE) })
	var old uint32
	if err := windows.VirtualProtect(addr+uintptr(size), uintptr(page), windows.PAGE_NOACCESS, &old); err != nil {
		t.Fatalf("protecting a page: %v", err)
	}
	// Through a pointer, because vet cannot know that the address lies outside Go's heap.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size)[size-n:]
}
