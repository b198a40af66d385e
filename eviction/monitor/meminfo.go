package monitor

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/antigravity-go/antigravity/eviction"
)

// meminfo is the machine's memory as a whole, by the kernel's own estimate of the memory available without swapping.
type meminfo struct{ file kernelFile }

// openMeminfo opens /proc/meminfo under root.
func openMeminfo(root string) (*meminfo, error) {
	f, err := openKernelFile(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return nil, err
	}
	return &meminfo{f}, nil
}

func (m *meminfo) name() string { return "/proc/meminfo" }

// available reads MemAvailable.
func (m *meminfo) available(buf []byte) (int64, error) {
	b, err := m.file.read(buf)
	if err != nil {
		return 0, err
	}
	return parseMemAvailable(b)
}

// Close implements io.Closer.
func (m *meminfo) Close() error { return m.file.Close() }

// parseMemAvailable returns MemAvailable in bytes. Kernels before 3.14 lack it.
func parseMemAvailable(b []byte) (int64, error) {
	line, ok := lineOf(b, "MemAvailable:")
	if !ok {
		return 0, fmt.Errorf("no MemAvailable, which Linux has had since 3.14")
	}
	number, found := bytes.CutSuffix(bytes.TrimSpace(line), []byte(" kB"))
	n, ok := parseSize(number)
	if !found || !ok {
		return 0, fmt.Errorf("MemAvailable is %.40q, want a number of kB", line)
	}
	return min(n, eviction.Unknown/1024) * 1024, nil
}
