package monitor

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestStallGauge(t *testing.T) {
	type reading struct {
		at, total time.Duration // since the first reading
		want      bool
	}
	const ms, s = time.Millisecond, time.Second
	for name, readings := range map[string][]reading{
		"the first reading tells nothing": {{0, 0, false}},
		"calm":                            {{1 * s, 0, false}, {2 * s, 10 * ms, false}, {3 * s, 20 * ms, false}},
		"just enough":                     {{1 * s, 150 * ms, true}},
		"just too little":                 {{1 * s, 149 * ms, false}},
		"many small ones in a window":     {{500 * ms, 50 * ms, false}, {1 * s, 100 * ms, false}, {1500 * ms, 150 * ms, true}},
		"the same spread over windows":    {{2 * s, 50 * ms, false}, {4 * s, 100 * ms, false}, {6 * s, 150 * ms, false}},
		"it lasts a window":               {{1 * s, 200 * ms, true}, {2999 * ms, 200 * ms, true}, {3 * s, 200 * ms, false}},
		"it goes on":                      {{1 * s, 200 * ms, true}, {2 * s, 400 * ms, true}, {3999 * ms, 400 * ms, true}, {4 * s, 400 * ms, false}},
		"long ago, for an idle program":   {{time.Hour, 10 * s, false}, {time.Hour + 2*s, 10 * s, false}},
		"all the time, for an idle one":   {{time.Hour, time.Hour / 10, true}},
		"a counter that goes back":        {{1 * s, -5 * s, false}, {4 * s, -5 * s, false}, {5 * s, -4 * s, true}},
	} {
		t.Run(name, func(t *testing.T) {
			const since = 4250172 * time.Microsecond // boot's total is not 0
			var g stallGauge
			now := time.Now()
			if g.update(now, since) {
				t.Error("pressure at the first reading")
			}
			for _, r := range readings {
				if got := g.update(now.Add(r.at), since+r.total); got != r.want {
					t.Errorf("after %v, %v of waiting: pressure %v, want %v", r.at, r.total, got, r.want)
				}
			}
		})
	}
}

func TestPressure(t *testing.T) {
	const group = "sys/fs/cgroup/"
	for _, c := range []struct{ layout, file string }{
		{"docker-v2", group + "memory.pressure"},
		{"systemd-nested", group + "ai.slice/ai-chat.slice/bot.service/worker/memory.pressure"},
		{"hybrid", group + "unified/lab/memory.pressure"},
		{"android", "proc/pressure/memory"},
	} {
		t.Run(c.layout, func(t *testing.T) {
			root := layout(t, c.layout)
			m, err := openPressure(root, fixedMonitor{available: 100})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if want := "/" + c.file + ", fixed"; m.Name() != want {
				t.Errorf("Name %q, want %q", m.Name(), want)
			}
			now := time.Now()
			m.now = func() time.Time { return now }
			expect := func(when string, want int64) {
				t.Helper()
				if got, err := m.Available(); got != want || err != nil {
					t.Errorf("%s: %d, %v; want %d", when, got, err, want)
				}
			}
			expect("calm", 100)
			write(t, root, c.file, "some avg10=3.10 avg60=0.51 avg300=0.10 total=4450172\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
			now = now.Add(time.Second)
			expect("after 200 ms of waiting", 0)
			now = now.Add(3 * time.Second)
			expect("calm again", 100)
			if n := testing.AllocsPerRun(100, func() { m.Available() }); n != 0 {
				t.Errorf("%v allocations", n)
			}
			write(t, root, c.file, "some avg10=0.00\n")
			if _, err := m.Available(); err == nil || !strings.Contains(err.Error(), c.file) {
				t.Errorf("a file without a total: %v, want an error that names it", err)
			}
		})
	}
}

func TestPressureRefuses(t *testing.T) {
	if _, err := openPressure(layout(t, "unlimited"), fixedMonitor{}); !errors.Is(err, ErrUnsupported) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no PSI: %v, want ErrUnsupported and what is missing", err)
	}
	if _, err := NewPressure(nil); err == nil {
		t.Error("no inner monitor: no error")
	}
}

func TestPressureClosesInner(t *testing.T) {
	inner, root := openLayout(t, "docker-v2")
	m, err := openPressure(root, inner)
	if err != nil {
		t.Fatal(err)
	}
	var c io.Closer = m
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := inner.Available(); err == nil {
		t.Error("the inner monitor is still open")
	}
}
