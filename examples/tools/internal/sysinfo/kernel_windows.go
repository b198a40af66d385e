package sysinfo

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// kernelRelease returns the system's name and version: "Windows 10.0.22631".
func kernelRelease() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("Windows %d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}
