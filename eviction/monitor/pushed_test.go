package monitor

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/antigravity-go/antigravity/eviction"
)

// fixedMonitor answers always the same.
type fixedMonitor struct {
	available int64
	err       error
}

func (m fixedMonitor) Name() string              { return "fixed" }
func (m fixedMonitor) Available() (int64, error) { return m.available, m.err }

func TestPushed(t *testing.T) {
	for _, c := range []struct {
		name  string
		inner eviction.Monitor
		act   func(*Pushed)
		want  int64
	}{
		{"no signal", fixedMonitor{available: 100}, func(m *Pushed) {}, 100},
		{"no signal, nothing inside", nil, func(m *Pushed) {}, math.MaxInt64},
		{"less than inside", fixedMonitor{available: 100}, func(m *Pushed) { m.Signal(30, 0) }, 30},
		{"more than inside", fixedMonitor{available: 100}, func(m *Pushed) { m.Signal(300, 0) }, 100},
		{"negative", nil, func(m *Pushed) { m.Signal(-1, 0) }, 0},
		{"replaced", nil, func(m *Pushed) { m.Signal(0, time.Second); m.Signal(70, 0) }, 70},
		{"cleared", nil, func(m *Pushed) { m.Signal(0, 0); m.Clear() }, math.MaxInt64},
		{"still lasting", nil, func(m *Pushed) { m.Signal(5, 10*time.Second); time.Sleep(9 * time.Second) }, 5},
		{"ended", nil, func(m *Pushed) { m.Signal(5, 10*time.Second); time.Sleep(11 * time.Second) }, math.MaxInt64},
		{"without end", nil, func(m *Pushed) { m.Signal(5, 0); time.Sleep(time.Hour) }, 5},
		{"0 does not ask inside", fixedMonitor{err: errors.New("asked")}, func(m *Pushed) { m.Signal(0, 0) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := NewPushed(c.inner)
				c.act(m)
				if got, err := m.Available(); got != c.want || err != nil {
					t.Errorf("%d, %v; want %d", got, err, c.want)
				}
			})
		})
	}
}

func TestPushedPassesErrors(t *testing.T) {
	broken := errors.New("broken")
	if got, err := NewPushed(fixedMonitor{7, broken}).Available(); got != 0 || err != broken {
		t.Errorf("%d, %v; want 0 and the inner monitor's error", got, err)
	}
}

func TestPushedConcurrent(t *testing.T) {
	m := NewPushed(fixedMonitor{available: 1000})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range int64(1000) {
				m.Signal(i, time.Nanosecond)
				if n, err := m.Available(); n < 0 || n > 1000 || err != nil {
					t.Errorf("%d, %v", n, err)
				}
				m.Clear()
			}
		})
	}
	wg.Wait()
}

func TestPushedClosesInner(t *testing.T) {
	if err := NewPushed(nil).Close(); err != nil {
		t.Error(err)
	}
	inner, _ := openLayout(t, "docker-v2")
	if err := NewPushed(inner).Close(); err != nil {
		t.Error(err)
	}
	if _, err := inner.Available(); err == nil {
		t.Error("the inner monitor is still open")
	}
}

// A phone's program makes one monitor for all its sessions and passes the system's warnings on.
func ExamplePushed() {
	m := NewPushed(nil) // NewSystem's on Android

	// In onTrimMemory or didReceiveMemoryWarning, on the user interface's thread:
	m.Signal(0, 2*time.Second)

	n, err := m.Available()
	fmt.Println(n, err)
	// Output: 0 <nil>
}

func BenchmarkPushed(b *testing.B) {
	m := NewPushed(fixedMonitor{available: 100})
	m.Signal(50, time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Available(); err != nil {
			b.Fatal(err)
		}
	}
}
