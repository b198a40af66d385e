package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns how long the processors have worked for the calling thread, and true.
func threadTime() (time.Duration, bool) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
