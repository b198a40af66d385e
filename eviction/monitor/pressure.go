package monitor

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/eviction"
)

// Pressure begins when tasks waited for memory for stallLimit within stallWindow. Per second that is about what Android's
// low-memory killer takes for its lowest level of pressure, 70 ms.
const (
	stallWindow = 2 * time.Second
	stallLimit  = 150 * time.Millisecond
)

// NewPressure returns a monitor that answers 0 while the kernel's pressure stall information (PSI, Linux 4.20) says that tasks wait for
// memory, 150 ms or more within 2 s, and as inner does otherwise. A machine that swaps, or reads its programs' pages again and again, is
// short of memory whatever its figures of free memory say. Once pressure is found, all calls answer 0 for the next 2 s, and longer while
// tasks go on waiting. The first call cannot find pressure, because pressure is how much tasks waited between two calls.
//
// It reads the figures of the process's own control group, version 2, or, if the group has no such figures, the machine's. Each call reads
// the kernel's counters. The kernel could also wake a waiting thread (a PSI trigger), but may refuse to, and a session asks between two
// tokens anyway. The counters of memory.events are no sign of pressure: a page cache that fills its group raises them without harm.
//
// Without PSI the error is an ErrUnsupported. The monitor is an io.Closer and closes inner too.
func NewPressure(inner eviction.Monitor) (eviction.Monitor, error) {
	if inner == nil {
		return nil, errors.New("eviction: a pressure monitor without an inner monitor: give NewSystem's, or NewPushed(nil)")
	}
	return openPressure("/", inner)
}

// A pressure lowers the answers of its inner monitor to 0 under pressure.
type pressure struct {
	inner eviction.Monitor
	label string
	file  kernelFile
	now   func() time.Time

	mu    sync.Mutex // guards what follows
	buf   []byte
	gauge stallGauge
}

// openPressure opens the pressure file of the process's group, or else the machine's.
func openPressure(root string, inner eviction.Monitor) (*pressure, error) {
	m := &pressure{inner: inner, now: time.Now, buf: make([]byte, bufferSize)}
	var errs []error
	for _, name := range pressureFiles(root) {
		f, err := openKernelFile(filepath.Join(root, name))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m.label, m.file = name, f
		if _, err := m.pressed(); err != nil { // PSI may be compiled in and off
			errs = append(errs, err, f.Close())
			continue
		}
		return m, nil
	}
	return nil, fmt.Errorf("%w: no pressure stall information: %w", ErrUnsupported, errors.Join(errs...))
}

// pressureFiles lists the files that pressure may be read from, the best one first.
func pressureFiles(root string) []string {
	const machine = "/proc/pressure/memory"
	groups, _ := memoryGroups(root) // after an error there are no groups, only the machine's file
	for _, g := range groups {
		if g.hierarchy == cgroup2 {
			return []string{g.dir + "/memory.pressure", machine}
		}
	}
	return []string{machine}
}

// Name implements eviction.Monitor.
func (m *pressure) Name() string { return m.label + ", " + m.inner.Name() }

// Available implements eviction.Monitor.
func (m *pressure) Available() (int64, error) {
	pressed, err := m.pressed()
	if err != nil || pressed {
		return 0, err
	}
	return m.inner.Available()
}

// pressed reports whether tasks wait for memory.
func (m *pressure) pressed() (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.file.read(m.buf)
	if err != nil {
		return false, fmt.Errorf("eviction: reading memory pressure: %w", err)
	}
	total, err := parseStall(b)
	if err != nil {
		return false, fmt.Errorf("eviction: reading memory pressure: %s: %w", m.label, err)
	}
	return m.gauge.update(m.now(), total), nil
}

// Close implements io.Closer.
func (m *pressure) Close() error {
	return errors.Join(m.file.Close(), closeInner(m.inner))
}

// A stallGauge turns a counter of the time that tasks waited into "under pressure" and "not". The zero value is ready.
type stallGauge struct {
	since time.Time     // when the window began; zero before the first reading
	base  time.Duration // the counter when the window began
	until time.Time     // when the pressure last found ends
}

// update takes a reading of the counter and reports whether there is pressure. Readings farther apart than the window count
// by their average: 150 ms of waiting in an idle hour were no pressure.
func (g *stallGauge) update(now time.Time, total time.Duration) bool {
	elapsed, stalled := now.Sub(g.since), total-g.base
	first := g.since.IsZero()
	windows := max(1, elapsed.Seconds()/stallWindow.Seconds())
	pressure := !first && stalled.Seconds() >= stallLimit.Seconds()*windows
	if pressure {
		g.until = now.Add(stallWindow)
	}
	if first || pressure || elapsed >= stallWindow {
		g.since, g.base = now, total
	}
	return now.Before(g.until)
}

// parseStall returns the total time that at least one task waited, from a line such as
//
//	some avg10=0.12 avg60=0.05 avg300=0.00 total=4250172
//
// The total is in microseconds.
func parseStall(b []byte) (time.Duration, error) {
	line, ok := lineOf(b, "some ")
	if !ok {
		return 0, errors.New(`no line "some"`)
	}
	const word = "total="
	for i := 0; i+len(word) <= len(line); i++ {
		if string(line[i:i+len(word)]) != word {
			continue
		}
		n, ok := parseSize(line[i+len(word):])
		if !ok || n > math.MaxInt64/int64(time.Microsecond) {
			break
		}
		return time.Duration(n) * time.Microsecond, nil
	}
	return 0, fmt.Errorf("line \"some\" holds %.60q, want a total of microseconds", line)
}
