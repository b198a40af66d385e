package source_test

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// residentMemory returns the memory of the process that is in use now, in bytes, and a function that returns the most since then.
func residentMemory() (now int64, peak func() int64) {
	if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		return 0, func() int64 { return 0 } // no permission: only the heap is looked at
	}
	now = statusBytes("VmRSS:")
	return now, func() int64 { return statusBytes("VmHWM:") }
}

// statusBytes reads a line of /proc/self/status.
func statusBytes(key string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte(key))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	kilobytes, _ := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	return kilobytes << 10
}

// limitMemory bounds the address space of the process.
func limitMemory(n uint64) {
	_ = unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: n, Max: n})
}
