package monitor

import (
	"fmt"
	"syscall"
	"unsafe"

	"github.com/antigravity-go/antigravity/eviction"
	"golang.org/x/sys/windows"
)

// memoryStatusEx is the MEMORYSTATUSEX of Windows. Sizes are in bytes.
type memoryStatusEx struct {
	length        uint32 // of this structure
	load          uint32 // percent
	totalPhys     uint64
	availPhys     uint64
	totalPageFile uint64
	availPageFile uint64 // what the process may still commit, page files included
	totalVirtual  uint64
	availVirtual  uint64
	_             uint64
}

// globalMemory is the memory of the machine by GlobalMemoryStatusEx.
type globalMemory struct {
	proc   uintptr
	status memoryStatusEx
}

// openSystem opens what Windows offers.
func openSystem() ([]source, error) {
	proc := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if err := proc.Find(); err != nil {
		return nil, err
	}
	g := &globalMemory{proc: proc.Addr()}
	if _, err := g.available(nil); err != nil {
		return nil, err
	}
	return []source{g}, nil
}

func (g *globalMemory) name() string { return "GlobalMemoryStatusEx" }

// available returns the physical memory or the commitment that is left, whichever is less.
func (g *globalMemory) available([]byte) (int64, error) {
	g.status.length = uint32(unsafe.Sizeof(g.status))
	if ok, _, errno := syscall.SyscallN(g.proc, uintptr(unsafe.Pointer(&g.status))); ok == 0 {
		return 0, fmt.Errorf("asking Windows for its memory status: %w", errno)
	}
	return int64(min(g.status.availPhys, g.status.availPageFile, uint64(eviction.Unknown))), nil
}

// Close does nothing: the library stays loaded.
func (g *globalMemory) Close() error { return nil }
