//go:build unix

package server

import (
	"math"
	"syscall"
)

// maxDescriptors returns how many files the process may have open; ok is false if nobody knows.
func maxDescriptors() (n int, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return int(min(uint64(limit.Cur), math.MaxInt32)), true
}
