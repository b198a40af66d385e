package cost

import (
	"time"

	"golang.org/x/sys/unix"
)

// Seconds returns the time that processors have spent on this process.
func Seconds() float64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
