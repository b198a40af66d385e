package mmap

import "golang.org/x/sys/unix"

// discardPages relies on Linux's promise that anonymous pages read as zero after MADV_DONTNEED.
func discardPages(b []byte) error { return unix.Madvise(b, unix.MADV_DONTNEED) }

func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
