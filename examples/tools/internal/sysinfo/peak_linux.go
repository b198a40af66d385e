package sysinfo

import (
	"fmt"
	"os"
	"strings"
)

// PeakResident returns the most memory that the program has had resident, in bytes; 0 if the system does not report it.
func PeakResident() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	return 0
}
