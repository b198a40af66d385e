//go:build linux || darwin || freebsd || netbsd || openbsd

package sysinfo

import "golang.org/x/sys/unix"

// kernelRelease returns the system's name and version: "Linux 6.1.75".
func kernelRelease() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
}
