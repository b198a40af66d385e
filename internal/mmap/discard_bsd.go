//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package mmap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// discardPages maps fresh pages over the old ones: outside Linux, MADV_DONTNEED does not promise zeros.
func discardPages(b []byte) error {
	_, err := unix.MmapPtr(-1, 0, unsafe.Pointer(&b[0]), uintptr(len(b)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_FIXED)
	return err
}

// hugePage says that there is nothing to ask for: these systems choose page sizes by themselves.
const hugePage = 0

func adviseHuge([]byte) {}
