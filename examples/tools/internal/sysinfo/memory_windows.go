package sysinfo

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel32             = windows.NewLazySystemDLL("kernel32.dll")
	globalMemoryStatusEx = kernel32.NewProc("GlobalMemoryStatusEx")
	getProcessMemoryInfo = kernel32.NewProc("K32GetProcessMemoryInfo")
)

// totalMemory returns the machine's memory in bytes, 0 if the system does not report it.
func totalMemory() int64 {
	var status struct { // MEMORYSTATUSEX
		length, load uint32
		totalPhys    uint64
		_            [6]uint64
	}
	status.length = uint32(unsafe.Sizeof(status))
	if ok, _, _ := globalMemoryStatusEx.Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return 0
	}
	return int64(status.totalPhys)
}

// memoryCounters is PROCESS_MEMORY_COUNTERS. Sizes are in bytes.
type memoryCounters struct {
	size           uint32 // of this structure
	faults         uint32
	peakWorkingSet uintptr
	workingSet     uintptr
	_              [6]uintptr
}

// ownMemory returns what Windows counts for this process; the zero value if it does not report it.
func ownMemory() (c memoryCounters) {
	c.size = uint32(unsafe.Sizeof(c))
	if ok, _, _ := getProcessMemoryInfo.Call(uintptr(windows.CurrentProcess()), uintptr(unsafe.Pointer(&c)), uintptr(c.size)); ok == 0 {
		return memoryCounters{}
	}
	return c
}

// residentSource asks for the working set.
type residentSource struct{}

func openResident() residentSource { return residentSource{} }

func (*residentSource) bytes() int64 { return int64(ownMemory().workingSet) }

func (*residentSource) close() error { return nil }

// PeakResident returns the most memory that the program has had resident, in bytes; 0 if the system does not report it.
func PeakResident() int64 { return int64(ownMemory().peakWorkingSet) }
