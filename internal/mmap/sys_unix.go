//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package mmap

import (
	"os"

	"golang.org/x/sys/unix"
)

// openFlags keeps Open from waiting for a writer if a pipe has taken the file's place.
const openFlags = unix.O_NONBLOCK

type advice = int

const (
	adviceDontNeed   advice = unix.MADV_DONTNEED
	adviceWillNeed   advice = unix.MADV_WILLNEED
	adviceSequential advice = unix.MADV_SEQUENTIAL
)

func mapFile(f *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
}

func unmapFile(b []byte) error { return unix.Munmap(b) }

func advise(b []byte, a advice) error { return unix.Madvise(b, a) }

func allocPages(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func freePages(b []byte) error { return unix.Munmap(b) }
