package eviction

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
)

// A Monitor tells how much memory the process can still use. Its methods are safe for use by several goroutines. A monitor
// that holds files open is an io.Closer too.
type Monitor interface {
	// Name says what is measured and where, for reports: "cgroup v2 /sys/fs/cgroup/app.slice, /proc/meminfo".
	Name() string
	// Available returns the bytes that may still be used before something bad happens: the process is killed or
	// throttled, or the system starts to swap. It is never negative, 0 asks for memory now, and Unknown says that nothing
	// is known to bound it. A call allocates nothing and takes microseconds, so that a session may ask many
	// times a second.
	Available() (int64, error)
}

// ErrNoMonitor says that the system offers no figure that a monitor could read. It is an errors.ErrUnsupported. A host
// program can still tell a session about memory through a PushedMonitor.
var ErrNoMonitor = fmt.Errorf("eviction: no memory monitor: %w", errors.ErrUnsupported)

// unbounded is the memory available where nothing limits it.
const unbounded = math.MaxInt64

// NewSystemMonitor returns a monitor of the system that the process runs on. Of the figures that the system offers it answers with
// the least. The monitor is an io.Closer.
//
// On Linux and Android these are, for each control group that holds the process and has a limit (version 2, version 1 or a
// hybrid of them; the group itself and its visible ancestors), limit − (usage − inactive page cache), where the limit is
// the lower one of those that kill (memory.max) and that throttle (memory.high); and MemAvailable of /proc/meminfo for the
// machine as a whole. The groups are those that held the process when the monitor was made; limits are read anew at each
// call, so that one set later counts. Pages of mapped files that are in use count as used in a group and as available in
// /proc/meminfo. Swap never counts as available.
//
// On Windows it is the available physical memory or what may still be committed.
//
// Elsewhere, and where nothing can be read, the error is an ErrNoMonitor that says why.
func NewSystemMonitor() (Monitor, error) {
	return newSystemMonitor(openSystem())
}

// A source is one figure that bounds the process's memory.
type source interface {
	name() string
	// available is Monitor's Available. buf, of bufferSize bytes, is scratch memory for it.
	available(buf []byte) (int64, error)
	io.Closer
}

// bufferSize is more than the kernel writes into any file that a source reads up to the line it looks for (memory.stat
// has some 2 KiB, /proc/meminfo 1.5 KiB).
const bufferSize = 8192

// systemMonitor answers with the least of what its sources answer.
type systemMonitor struct {
	label   string
	mu      sync.Mutex // guards what follows
	sources []source
	buf     []byte
}

// newSystemMonitor makes a monitor of sources. At least one of them must bound memory now; the monitor's name lists those that do.
// why says which sources could not be opened, and becomes part of the error.
func newSystemMonitor(sources []source, why error) (Monitor, error) {
	m := &systemMonitor{sources: sources, buf: make([]byte, bufferSize)}
	var names []string
	for _, s := range sources {
		if n, err := s.available(m.buf); err == nil && n < unbounded {
			names = append(names, s.name())
		}
	}
	if len(names) == 0 {
		return nil, errors.Join(ErrNoMonitor, why, m.Close())
	}
	m.label = strings.Join(names, ", ")
	return m, nil
}

// Name implements Monitor.
func (m *systemMonitor) Name() string { return m.label }

// Available implements Monitor.
func (m *systemMonitor) Available() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	least := int64(unbounded)
	for _, s := range m.sources {
		n, err := s.available(m.buf)
		if err != nil {
			return 0, fmt.Errorf("eviction: reading the available memory from %s: %w", s.name(), err)
		}
		least = min(least, n)
	}
	return least, nil
}

// Close implements io.Closer. Available fails afterwards.
func (m *systemMonitor) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, s := range m.sources {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// closeMonitor closes a monitor if it is an io.Closer; nil is none.
func closeMonitor(m Monitor) error {
	if c, ok := m.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
