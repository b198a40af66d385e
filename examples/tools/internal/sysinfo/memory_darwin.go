package sysinfo

import "golang.org/x/sys/unix"

// totalMemory returns the machine's memory in bytes, 0 if the system does not report it.
func totalMemory() int64 {
	bytes, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(bytes)
}
