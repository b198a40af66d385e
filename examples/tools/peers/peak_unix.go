//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakBytes returns the most memory that a process had resident; 0 if the system does not report it.
func peakBytes(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10 // the others count kilobytes
}
