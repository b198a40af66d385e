//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !windows

package sysinfo

// kernelRelease returns nothing: there is no way to ask.
func kernelRelease() string { return "" }
