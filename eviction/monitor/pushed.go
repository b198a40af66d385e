package monitor

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/antigravity-go/antigravity/eviction"
)

// A Pushed monitor is one that the host program can overrule for a while. It is how a phone's warnings reach a
// session:
//
//	Android, onTrimMemory(level ≥ TRIM_MEMORY_RUNNING_CRITICAL): Signal(0, 2*time.Second)
//	Android, ActivityManager.getMemoryInfo:                      Signal(availMem - threshold, 0), whenever it is read
//	iOS, didReceiveMemoryWarning:                                Signal(0, 2*time.Second)
//	iOS, os_proc_available_memory:                               Signal(available, 0), whenever it is read
//
// Systems say when memory is short, and not when it is plenty again: that is why a signal ends after a time. While a signal asks for
// memory a session gives up slots step by step, and so the more slots the longer the signal lasts. The methods are safe for use by
// several goroutines, and one monitor may serve all the sessions of a program.
type Pushed struct {
	inner  eviction.Monitor
	signal atomic.Pointer[signal]
}

// signal is one call of Signal. It never changes once it is stored in a Pushed.
type signal struct {
	available int64
	end       time.Time // zero: until the next signal
}

// NewPushed returns a monitor that answers as inner does until the host program says otherwise. inner may be nil:
// then nothing is known to bound memory without a signal.
func NewPushed(inner eviction.Monitor) *Pushed {
	return &Pushed{inner: inner}
}

// Signal says that the process may still use available bytes; 0 or less says that it should give memory back now. The signal lasts
// for the given time or, with a time of 0 or less, until the next Signal or Clear, and replaces the signal before. Sessions act on
// it between two tokens; Signal itself does not wait.
func (m *Pushed) Signal(available int64, lasting time.Duration) {
	s := &signal{available: max(available, 0)}
	if lasting > 0 {
		s.end = time.Now().Add(lasting)
	}
	m.signal.Store(s)
}

// Clear ends the signal.
func (m *Pushed) Clear() { m.signal.Store(nil) }

// Name implements eviction.Monitor.
func (m *Pushed) Name() string {
	if m.inner == nil {
		return "the host program"
	}
	return "the host program, " + m.inner.Name()
}

// Available returns the lesser of the signalled value and the inner monitor's. While the signalled value is 0, the inner monitor is not
// asked.
func (m *Pushed) Available() (int64, error) {
	pushed := m.pushed()
	if m.inner == nil || pushed == 0 {
		return pushed, nil
	}
	n, err := m.inner.Available()
	if err != nil {
		return 0, err
	}
	return min(n, pushed), nil
}

// pushed returns what the host program's signal allows.
func (m *Pushed) pushed() int64 {
	s := m.signal.Load()
	switch {
	case s == nil:
		return eviction.Unknown
	case !s.end.IsZero() && time.Now().After(s.end):
		m.signal.CompareAndSwap(s, nil)
		return eviction.Unknown
	}
	return s.available
}

// Close implements io.Closer: it closes the inner monitor if that one is an io.Closer.
func (m *Pushed) Close() error { return closeInner(m.inner) }

// closeInner closes a monitor if it is an io.Closer. nil is not.
func closeInner(m eviction.Monitor) error {
	if c, ok := m.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
