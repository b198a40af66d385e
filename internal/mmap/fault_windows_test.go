package mmap

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/windows"
)

// unreadable returns memory that the processor may not read. Windows lets no file shrink that is mapped, so that only a disk or a share that
// goes away takes mapped memory from a program.
func unreadable(t *testing.T) []byte {
	t.Helper()
	b, err := Alloc(4 * os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	protect := func(to uint32) {
		t.Helper()
		var old uint32
		if err := windows.VirtualProtect(addressOf(b), uintptr(len(b)), to, &old); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		protect(windows.PAGE_READWRITE) // freed memory may serve again
		if err := Free(b); err != nil {
			t.Error(err)
		}
	})
	protect(windows.PAGE_NOACCESS)
	return b
}

// TestMappedFileStays has others truncate and remove a file that is mapped, which Windows refuses them, and then one that was closed.
func TestMappedFileStays(t *testing.T) {
	path := writeFile(t, []byte("mapped"))
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(path, 0); !errors.Is(err, windows.ERROR_USER_MAPPED_FILE) {
		t.Errorf("truncating a mapped file: %v", err)
	}
	if string(f.Bytes()) != "mapped" {
		t.Errorf("the mapping reads %q", f.Bytes())
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Truncate(path, 0), os.Remove(path)); err != nil {
		t.Errorf("after Close: %v", err)
	}
}
