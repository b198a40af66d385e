package foreground

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test's program be the experiment's processes as well.
func TestMain(m *testing.M) {
	var err error
	switch os.Getenv("FOREGROUND_TEST") + strings.Join(os.Args[1:], "") {
	case "1frames":
		err = Frames(context.Background(), os.Stdin, os.Stdout)
	case "1generate":
		err = Generate(context.Background(), os.Stdin, os.Stdout, os.Stderr)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// short is an experiment of a fraction of a second.
func short(t *testing.T) Options {
	t.Setenv("FOREGROUND_TEST", "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Plan: Plan{Frame: 10 * time.Millisecond, Work: time.Millisecond, Frames: 12}, Model: "pebble", Backend: "cpu",
		Threads: []int{1, 2}, Nice: []int{0}, Frames: []string{self, "frames"}, Generate: []string{self, "generate"}}
	if nicenessKnown {
		o.Nice = append(o.Nice, 19)
	}
	return o
}

func TestDo(t *testing.T) {
	o := short(t)
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Machine.OS != runtime.GOOS+"/"+runtime.GOARCH || r.Frame != 10 || r.Work != 1 || r.Alone.Units < 1 || r.Alone.Frames != 12 {
		t.Errorf("%+v", r)
	}
	if len(r.Beside) != len(o.Threads)*len(o.Nice) {
		t.Fatalf("%d measurements", len(r.Beside))
	}
	for i, b := range r.Beside {
		m := b.Frames
		if b.Threads != o.Threads[i/len(o.Nice)] || b.Nice != o.Nice[i%len(o.Nice)] || m.Units != r.Alone.Units || m.Frames != 12 {
			t.Errorf("%+v", b)
		}
		if m.Missed > m.Frames || m.Median <= 0 || m.P99 < m.Median || m.Longest < m.P99 || m.WakeLongest < m.WakeMedian {
			t.Errorf("%+v", m)
		}
		if b.RateAlone <= 0 || b.Rate < 0 {
			t.Errorf("%v tokens/s alone, %v beside", b.RateAlone, b.Rate)
		}
	}
}

func TestDoFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no model", func(o *Options) { o.Model = "/nowhere/model.gguf" }, "/nowhere/model.gguf"},
		{"no backend", func(o *Options) { o.Backend = "abacus" }, "abacus"},
		{"no program", func(o *Options) { o.Frames = []string{"/nowhere/suite"} }, "start /nowhere/suite"},
		{"no frames", func(o *Options) { o.Plan.Frames = 0 }, "has no frames"},
	} {
		o := short(t)
		c.change(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	o := short(t)
	o.Plan.Frames = maxFrames
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(string) { time.AfterFunc(50*time.Millisecond, cancel) }
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
