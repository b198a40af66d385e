package mmap

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

const openFlags = 0

type advice int

const (
	adviceDontNeed advice = iota
	adviceWillNeed
	adviceSequential
)

func mapFile(f *os.File, size int) ([]byte, error) {
	mapping, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateFileMapping", err)
	}
	defer windows.CloseHandle(mapping) // the view keeps the mapping alive
	addr, err := windows.MapViewOfFile(mapping, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		return nil, os.NewSyscallError("MapViewOfFile", err)
	}
	return sliceAt(addr, size), nil
}

func unmapFile(b []byte) error {
	return os.NewSyscallError("UnmapViewOfFile", windows.UnmapViewOfFile(addressOf(b)))
}

// advise drops pages that are not needed by unlocking them: pages that were not locked leave the process's memory, and the error says no
// more than that. What to read ahead Windows decides by itself.
func advise(b []byte, a advice) error {
	if a == adviceDontNeed {
		_ = windows.VirtualUnlock(addressOf(b), uintptr(len(b)))
	}
	return nil
}

func allocPages(n int) ([]byte, error) {
	addr, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		return nil, os.NewSyscallError("VirtualAlloc", err)
	}
	return sliceAt(addr, n), nil
}

func freePages(b []byte) error {
	return os.NewSyscallError("VirtualFree", windows.VirtualFree(addressOf(b), 0, windows.MEM_RELEASE))
}

// discardPages takes the pages away and commits new ones, which Windows zeroes.
func discardPages(b []byte) error {
	addr, n := addressOf(b), uintptr(len(b))
	if err := windows.VirtualFree(addr, n, windows.MEM_DECOMMIT); err != nil {
		return os.NewSyscallError("VirtualFree", err)
	}
	_, err := windows.VirtualAlloc(addr, n, windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return os.NewSyscallError("VirtualAlloc", err)
}

// hugePage says that there is nothing to ask for: large pages need a privilege that ordinary processes lack.
const hugePage = 0

func adviseHuge([]byte) {}

// sliceAt views memory that the system mapped at addr. The address is read through a pointer because vet, rightly wary of
// turning integers into pointers, cannot know that this one lies outside the Go heap.
func sliceAt(addr uintptr, n int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n)
}
