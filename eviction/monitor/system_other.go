//go:build !linux && !windows

package monitor

import (
	"fmt"
	"runtime"
)

// openSystem opens nothing: what these systems say without cgo is not what a process may still use. (iOS and macOS have
// os_proc_available_memory and memory warnings, which the host program passes on through a Pushed.)
func openSystem() ([]source, error) {
	return nil, fmt.Errorf("%s tells a Go program nothing reliable; push what the host program knows through NewPushed", runtime.GOOS)
}
