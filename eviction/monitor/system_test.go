package monitor

import (
	"errors"
	"io"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
)

// systemOf opens the monitor of the machine that the test runs on.
func systemOf(t testing.TB) eviction.Monitor {
	t.Helper()
	m, err := NewSystem()
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.(io.Closer).Close() })
	return m
}

func TestSystemHere(t *testing.T) {
	m := systemOf(t)
	n, err := m.Available()
	if n <= 0 || err != nil {
		t.Fatalf("%s: %d, %v", m.Name(), n, err)
	}
	t.Logf("%s: %d MiB", m.Name(), n/mib)
	if allocs := testing.AllocsPerRun(20, func() { m.Available() }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// Without a monitor for the system, the error names the remedy.
func TestSystemUnsupported(t *testing.T) {
	if m, err := NewSystem(); err == nil {
		m.(io.Closer).Close()
		t.Skip("this system has a monitor")
	} else if !errors.Is(err, ErrUnsupported) || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, want ErrUnsupported", err)
	}
}

// What a session pays each time it asks.
func BenchmarkSystem(b *testing.B) {
	m := systemOf(b)
	b.Log(m.Name())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Available(); err != nil {
			b.Fatal(err)
		}
	}
}
