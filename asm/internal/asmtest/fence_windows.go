package asmtest

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// mapFence returns size bytes before a page that can neither be read nor written.
func mapFence(t testing.TB, size, page int) []byte {
	t.Helper()
	addr, err := windows.VirtualAlloc(0, uintptr(size+page), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		t.Fatalf("allocating %d bytes: %v", size+page, err)
	}
	var old uint32
	if err := windows.VirtualProtect(addr+uintptr(size), uintptr(page), windows.PAGE_NOACCESS, &old); err != nil {
		t.Fatalf("protecting a page: %v", err)
	}
	// Through a pointer, because vet cannot know that the address lies outside Go's heap.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size)
}

// unmapFence gives what mapFence returned back to the system.
func unmapFence(memory []byte) {
	_ = windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(memory))), 0, windows.MEM_RELEASE)
}
