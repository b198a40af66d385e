package precise

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// The performance counter counts at a rate that stays the same until Windows starts again. Nothing changes these variables.
var (
	kernel32     = windows.NewLazySystemDLL("kernel32.dll")
	queryCounter = kernel32.NewProc("QueryPerformanceCounter").Addr()
	rate         = query(kernel32.NewProc("QueryPerformanceFrequency").Addr()) // counts a second

	start      = time.Now()
	startCount = query(queryCounter)
)

// query returns the number that a function of kernel32 writes. Since Windows XP these functions never fail.
func query(function uintptr) (n int64) {
	_, _, _ = syscall.SyscallN(function, uintptr(unsafe.Pointer(&n)))
	return n
}

// Now returns the time, to a microsecond or less. It goes on evenly: when the system's clock is set, it stays as it was.
func Now() time.Time { return start.Add(duration(query(queryCounter)-startCount, rate)) }

// duration returns how long a number of counts takes.
func duration(counts, rate int64) time.Duration {
	whole, rest := counts/rate, counts%rate
	return time.Duration(whole)*time.Second + time.Duration(rest)*time.Second/time.Duration(rate)
}
