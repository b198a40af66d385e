// Package mmap puts model files and large buffers into memory that the garbage collector neither scans nor counts.
//
// Open maps a whole file for reading: weights are then paged in as they are first used, shared between processes, and
// dropped by the system when memory runs short, because the file can always be read again. Alloc returns anonymous
// memory for what the program writes itself, such as caches and repacked weights.
//
// A mapped file brings one hazard that a read file does not: when somebody truncates it, touching the lost pages raises a
// fault, which ends a Go program. Catch turns that fault into an error.
//
// Systems without mappings (js/wasm, plan9, …) get the same interface over ordinary Go memory.
package mmap

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"unsafe"
)

// File is a file mapped for reading. Its methods may be called by several goroutines at once; what Bytes returned must
// not be used after Close, nor after the last reference to the File has gone.
type File struct {
	path    string
	size    int
	mu      sync.Mutex
	data    []byte // nil once closed, and for an empty file
	closed  bool
	cleanup runtime.Cleanup
}

// Open maps the file at path. Anything but a regular file is an error, at once: Open does not wait for a pipe's writer.
// A File that is dropped without Close is unmapped by the garbage collector some time later.
func Open(path string) (*File, error) {
	// The file's kind is looked at before opening, since opening a device can have effects, and once more afterwards, by the
	// open file, since another file may have taken the path meanwhile.
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	} else if err := checkRegular(path, info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	if err := checkRegular(path, info); err != nil {
		return nil, err
	}
	return mapOpen(f, path, info.Size())
}

func checkRegular(path string, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("mmap: %s is no regular file (its mode is %v)", path, info.Mode())
	}
	return nil
}

func mapOpen(f *os.File, path string, size int64) (*File, error) {
	if size > math.MaxInt {
		return nil, fmt.Errorf("mmap: %s has %d bytes, more than this system's address space", path, size)
	}
	m := &File{path: path, size: int(size)}
	if size == 0 {
		return m, nil
	}
	data, err := mapFile(f, int(size))
	if err != nil {
		return nil, fmt.Errorf("mmap: mapping the %d bytes of %s: %w", size, path, err)
	}
	m.data = data
	m.cleanup = runtime.AddCleanup(m, func(b []byte) { _ = unmapFile(b) }, data)
	return m, nil
}

// Bytes returns the contents: a view, valid until Close, which must not be written to (a write faults). It is nil for an
// empty or closed file.
func (f *File) Bytes() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.data
}

// Size returns the number of bytes that were mapped, also after Close.
func (f *File) Size() int { return f.size }

// Close unmaps the file. Every view of it becomes invalid: using one faults. Closing again does nothing.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.data == nil {
		return nil
	}
	f.cleanup.Stop()
	data := f.data
	f.data = nil
	if err := unmapFile(data); err != nil {
		return fmt.Errorf("mmap: unmapping %s: %w", f.path, err)
	}
	return nil
}

// Release hints to the system that the whole pages within [off, off+n) are not needed for now. They stay readable: the next touch reads
// them from the file again. On systems without such a hint it does nothing.
func (f *File) Release(off, n int) error { return f.advise(off, n, inward, adviceDontNeed) }

// Forget is Release of a part of Bytes. It is a hint, so that nobody learns of errors; memory that is no part of Bytes stays as it is.
func (f *File) Forget(part []byte) {
	whole := f.Bytes()
	if len(part) == 0 || len(whole) == 0 {
		return
	}
	if off := addressOf(part) - addressOf(whole); off < uintptr(len(whole)) {
		_ = f.Release(int(off), len(part))
	}
}

// WillNeed asks the system to start reading the pages that hold [off, off+n) ahead of their use.
func (f *File) WillNeed(off, n int) error { return f.advise(off, n, outward, adviceWillNeed) }

// Sequential hints to the system that the file is about to be read from its beginning to its end.
func (f *File) Sequential() error { return f.advise(0, f.size, outward, adviceSequential) }

func (f *File) advise(off, n int, round func(off, end, size int) (int, int), a advice) error {
	if off < 0 || n < 0 || off > f.size || n > f.size-off {
		return fmt.Errorf("mmap: bytes [%d, %d+%d) lie outside %s, which has %d", off, off, n, f.path, f.size)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fmt.Errorf("mmap: %s: %w", f.path, os.ErrClosed)
	}
	first, end := round(off, off+n, f.size)
	if first >= end {
		return nil
	}
	if err := advise(f.data[first:end], a); err != nil {
		return fmt.Errorf("mmap: advice on bytes [%d, %d) of %s: %w", first, end, f.path, err)
	}
	return nil
}

// inward rounds [off, end) to the whole pages inside it. The last page of a file of size bytes counts as whole.
func inward(off, end, size int) (int, int) {
	page := os.Getpagesize()
	if end < size {
		end -= end % page
	}
	return off + (page-off%page)%page, end
}

// outward rounds [off, end) to the pages that it touches, without passing size.
func outward(off, end, size int) (int, int) {
	page := os.Getpagesize()
	if rest := end % page; rest != 0 {
		end += min(page-rest, size-end)
	}
	return off - off%page, end
}

// addressOf returns the address of b.
func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
