//go:build unix

package llama_test

import (
	"syscall"
	"testing"
	"time"
)

// limitMemory bounds the addresses that the process may use, so that an allocation without bounds ends it at once.
func limitMemory(t *testing.T) {
	const bytes = 4 << 30 // Go reserves far more addresses than it uses
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		t.Logf("memory is not limited: %v", err)
	}
}

// cpuTime returns the processor time of all threads so far.
func cpuTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
