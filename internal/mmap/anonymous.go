package mmap

import (
	"errors"
	"fmt"
	"os"
)

// Alloc returns n bytes of zeroed memory outside the Go heap, aligned to a page. The system provides a page when it is
// first written, so a large buffer that is used in part costs that part; freed memory serves a small buffer again. The memory lasts
// until Free. A negative n, or more than the system will promise, is an error.
func Alloc(n int) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("mmap: allocating %d bytes: the size is negative", n)
	}
	if n == 0 {
		return []byte{}, nil
	}
	alloc := allocPages
	if n <= maxSmall {
		alloc = smallPieces.alloc
	}
	b, err := alloc(n)
	if err != nil {
		return nil, fmt.Errorf("mmap: allocating %d bytes: %w", n, err)
	}
	return b, nil
}

// AllocHuge is Alloc for memory that is read again and again: it asks the system for huge pages if n is at least one of them. Then a page fault
// and an address translation serve more bytes, and the first byte that is written takes a huge page of memory.
func AllocHuge(n int) ([]byte, error) {
	b, err := Alloc(n)
	if err == nil && hugePage > 0 && n >= hugePage {
		adviseHuge(b)
	}
	return b, err
}

// Free returns memory to the system, or keeps a bounded amount of it for the next Alloc. b must be a whole result of Alloc; no view of it may be
// used afterwards. Freeing an empty slice does nothing; freeing anything else is an error, detected if the system keeps account of it.
func Free(b []byte) error {
	if cap(b) == 0 {
		return nil
	}
	if len(b) != cap(b) {
		return errors.New("mmap: freeing a part of a buffer: Free wants the slice that Alloc returned")
	}
	free := freePages
	if len(b) <= maxSmall {
		free = smallPieces.free
	}
	if err := free(b); err != nil {
		return fmt.Errorf("mmap: freeing %d bytes that Alloc may not have returned: %w", len(b), err)
	}
	return nil
}

// Discard makes the bytes of b, a part of what Alloc returned, zero, and gives the whole pages among them back to the
// system, which provides them anew when they are next written.
func Discard(b []byte) error {
	first, end := wholePages(b)
	if first >= end {
		clear(b)
		return nil
	}
	clear(b[:first])
	clear(b[end:])
	if err := discardPages(b[first:end]); err != nil {
		return fmt.Errorf("mmap: giving back %d bytes: %w", end-first, err)
	}
	return nil
}

// wholePages returns the range of b that consists of whole pages; it is empty, first ≥ end, if b holds no whole page.
func wholePages(b []byte) (first, end int) {
	page := os.Getpagesize()
	misaligned := int(addressOf(b) % uintptr(page))
	first = (page - misaligned) % page
	if first > len(b) {
		return 0, 0
	}
	return first, len(b) - (len(b)-first)%page
}
