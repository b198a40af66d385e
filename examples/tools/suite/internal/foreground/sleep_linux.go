package foreground

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleep blocks the thread: the runtime's own timers would wake another thread first.
func sleep(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &left, nil)
}

// ownTime returns how long the thread has had the processor, whatever else runs: the measure of a work's length. ok is false if the system
// does not report it.
func ownTime() (t time.Duration, ok bool) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	return time.Duration(now.Nano()), err == nil
}
