package eviction

import (
	"errors"
	"io"
	"testing"
)

// systemMonitorOf opens the monitor of the machine that the test runs on.
func systemMonitorOf(t testing.TB) Monitor {
	t.Helper()
	m, err := NewSystemMonitor()
	if errors.Is(err, ErrNoMonitor) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.(io.Closer).Close() })
	return m
}

func TestSystemMonitorHere(t *testing.T) {
	m := systemMonitorOf(t)
	n, err := m.Available()
	if n <= 0 || err != nil {
		t.Fatalf("%s: %d, %v", m.Name(), n, err)
	}
	t.Logf("%s: %d MiB", m.Name(), n/mib)
	if allocs := testing.AllocsPerRun(20, func() { m.Available() }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// Where there is no monitor the error names the way out.
func TestSystemMonitorUnsupported(t *testing.T) {
	if m, err := NewSystemMonitor(); err == nil {
		m.(io.Closer).Close()
		t.Skip("this system has a monitor")
	} else if !errors.Is(err, ErrNoMonitor) || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, want an ErrNoMonitor", err)
	}
}

// What a session pays each time it asks.
func BenchmarkSystemMonitor(b *testing.B) {
	m := systemMonitorOf(b)
	b.Log(m.Name())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Available(); err != nil {
			b.Fatal(err)
		}
	}
}
