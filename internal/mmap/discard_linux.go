package mmap

import "golang.org/x/sys/unix"

// discardPages relies on Linux's promise that anonymous pages read as zero after MADV_DONTNEED.
func discardPages(b []byte) error { return unix.Madvise(b, unix.MADV_DONTNEED) }

// hugePage is the usual size of huge pages.
const hugePage = 2 << 20

// adviseHuge asks the system to back b with huge pages. It is a hint: if the system ignores it, nothing happens.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
