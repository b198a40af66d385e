//go:build !linux && !darwin && !windows

package sysinfo

// PeakResident returns 0: there is no portable way to ask.
func PeakResident() int64 { return 0 }
