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
