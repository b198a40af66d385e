package experiment

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// TestConditionsAreBounded watches a machine for a day, and one that reports nothing.
func TestConditionsAreBounded(t *testing.T) {
	for _, c := range []struct {
		name        string
		d           time.Duration
		mhz         float64
		least, most int
	}{
		{"ten seconds", 10 * time.Second, 1000, 20, 22},
		{"a day", 24 * time.Hour, 1000, maxConditions / 2, maxConditions},
		{"nothing told", time.Minute, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stop := watch(time.Now(), func() runs.Condition { return runs.Condition{MHz: c.mhz} })
				time.Sleep(c.d)
				list := stop()
				if len(list) < c.least || len(list) > c.most {
					t.Fatalf("%d conditions, want %d to %d", len(list), c.least, c.most)
				}
				for i, a := range list {
					if i > 0 && a.At <= list[i-1].At {
						t.Errorf("%g s after %g", a.At, list[i-1].At)
					}
				}
				if len(list) > 0 && (list[0].At != 0 || list[len(list)-1].At < c.d.Seconds()*0.98) {
					t.Errorf("from %g to %g s", list[0].At, list[len(list)-1].At)
				}
			})
		})
	}
}

// TestMemoryIsBoundedAndKeepsThePeak takes samples of a long run.
func TestMemoryIsBoundedAndKeepsThePeak(t *testing.T) {
	var m memorySamples
	now := time.Unix(0, 0)
	for i := range 100_000 {
		now = now.Add(3 * time.Millisecond)
		s := runs.Memory{At: float64(i), Resident: 100, Cache: 100, Slots: 100}
		switch i {
		case 40_000:
			m.last, s.Resident = time.Time{}, 500
		case 70_001:
			m.last, s.Cache = time.Time{}, 300
		}
		if m.due(now) {
			m.add(now, s)
		}
	}
	resident, cache, at := int64(0), int64(0), -1.0
	for _, s := range m.list {
		if s.At <= at {
			t.Errorf("%g after %g", s.At, at)
		}
		resident, cache, at = max(resident, s.Resident), max(cache, s.Cache), s.At
	}
	if n := len(m.list); n >= maxMemory || n < maxMemory/4 || resident != 500 || cache != 300 || at < 99_000 {
		t.Errorf("%d samples until %g, at most %d and %d bytes", n, at, resident, cache)
	}
}

func TestYardstick(t *testing.T) {
	if short, long := yardstick(1000), yardstick(1_000_000); short <= 0 || long < 5*short {
		t.Errorf("a thousand steps took %g ms, and a million %g", short, long)
	}
}
