package monitor

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/antigravity-go/antigravity/eviction"
)

// ErrUnsupported is wrapped by the errors about a system that offers no figure that a monitor could read. It is an errors.ErrUnsupported. The
// host program can still say what it knows of memory through a Pushed monitor.
var ErrUnsupported = fmt.Errorf("eviction: no memory monitor: %w", errors.ErrUnsupported)

// NewSystem returns a monitor of the system that the process runs on. It answers with the least of the figures that the system offers. The
// monitor is an io.Closer.
//
// On Linux and Android these are, for each control group that holds the process and has a limit (version 2, version 1 or a
// hybrid of them; the group itself and its visible ancestors), limit − (usage − inactive page cache), the limit being
// the lower one of those that kill (memory.max) and that throttle (memory.high); and MemAvailable of /proc/meminfo for the
// machine as a whole. The groups are those that held the process when the monitor was made; limits are read anew at each
// call, so that one set later counts. Pages of mapped files that are in use count as used in a group and as available in
// /proc/meminfo. Swap never counts as available.
//
// On Windows it is the lesser of the available physical memory and the memory that may still be committed.
//
// On other systems, and if nothing can be read, the error wraps ErrUnsupported and says why.
func NewSystem() (eviction.Monitor, error) {
	return newSystem(openSystem())
}

// system answers with the least of its sources' answers.
type system struct {
	label   string
	mu      sync.Mutex // guards what follows
	sources []source
	buf     []byte
}

// newSystem makes a monitor of sources. At least one of them must bound memory now; the monitor's name lists those that do. If no source
// does, the error contains why, the error of the sources that could not be opened.
func newSystem(sources []source, why error) (eviction.Monitor, error) {
	m := &system{sources: sources, buf: make([]byte, bufferSize)}
	var names []string
	for _, s := range sources {
		if n, err := s.available(m.buf); err == nil && n < eviction.Unknown {
			names = append(names, s.name())
		}
	}
	if len(names) == 0 {
		return nil, errors.Join(ErrUnsupported, why, m.Close())
	}
	m.label = strings.Join(names, ", ")
	return m, nil
}

// Name implements eviction.Monitor.
func (m *system) Name() string { return m.label }

// Available implements eviction.Monitor.
func (m *system) Available() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	least := eviction.Unknown
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
func (m *system) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, s := range m.sources {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
