//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package mmap

import (
	"fmt"
	"io"
	"os"
)

const openFlags = 0

type advice int

const (
	adviceDontNeed advice = iota
	adviceWillNeed
	adviceSequential
)

func mapFile(f *os.File, size int) ([]byte, error) {
	b, err := allocPages(size)
	if err != nil {
		return nil, err
	}
	_, err = io.ReadFull(f, b)
	return b, err
}

func unmapFile([]byte) error { return nil }

func advise([]byte, advice) error { return nil }

// maxAlloc bounds an allocation on the Go heap: running out of it ends the program, whereas an error can be handled.
const maxAlloc = 1<<31 - 1<<16

func allocPages(n int) ([]byte, error) {
	if n > maxAlloc {
		return nil, fmt.Errorf("more than the %d bytes that one buffer may have on this system", maxAlloc)
	}
	page := os.Getpagesize()
	b := make([]byte, n+page-1)
	skip := int(-addressOf(b) % uintptr(page))
	return b[skip : skip+n : skip+n], nil
}

func freePages([]byte) error { return nil }

func discardPages(b []byte) error {
	clear(b)
	return nil
}

const hugePage = 0

func adviseHuge([]byte) {}
