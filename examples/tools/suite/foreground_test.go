package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/foreground"
)

func TestForegroundFlags(t *testing.T) {
	o, err := parseForeground(strings.Fields("-threads 1,2 -nice 0,19 -frame 10ms -work 2ms -seconds 3"), nil)
	if err != nil || !slices.Equal(o.Threads, []int{1, 2}) || !slices.Equal(o.Nice, []int{0, 19}) || o.Plan.Frames != 300 {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = parseForeground(nil, nil); err != nil || len(o.Threads) != 0 || o.Plan.Frames != 598 {
		t.Errorf("without flags: %+v, %v", o, err)
	}
	for _, args := range []string{"-threads 0", "-threads 1,,2", "-threads two", "-nice 20", "-nice 1.5", "-frame 1us", "-work 20ms", "-work 0s",
		"-seconds 0", "-seconds NaN", "-seconds -1", "-program x", "-frame 0", "frames too"} {
		var usage *cli.UsageError
		if _, err := parseForeground(strings.Fields(args), nil); !errors.As(err, &usage) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestForegroundResult(t *testing.T) {
	m := foreground.FrameTimes{Frames: 200, Missed: 1, Median: 8, P99: 9, Longest: 20, WakeP99: 0.5}
	r := &foreground.Result{Began: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), Target: "adb:X", Machine: runs.Machine{Processor: "Fast", Processors: 8},
		Model: "pebble", Frame: 16.7, Work: 8, Alone: m, Beside: []foreground.Concurrent{{Threads: 1, Nice: 19, Frames: m, Rate: 99.6, RateAlone: 120}}}
	var out bytes.Buffer
	if err := printForeground(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"on adb:X, Fast with 8 processors", "nothing", "0.5 %", "1 thread, nice 19", "20.0 ms", "100", "120"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\ndoes not say %q", &out, want)
		}
	}
	if strings.Contains(out.String(), "busy") {
		t.Errorf("%s\na calm machine is called busy", &out)
	}
	r.Alone.Missed = 100
	out.Reset()
	if err := printForeground(&out, r); err != nil || !strings.Contains(out.String(), "50 % of the frames were missed already") {
		t.Errorf("%s\na busy machine is not called so, %v", &out, err)
	}
	path, err := keep(r, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	back := new(foreground.Result)
	if err != nil || json.Unmarshal(text, back) != nil || back.Target != r.Target || !slices.Equal(back.Beside, r.Beside) {
		t.Errorf("%s: %s, %v", path, text, err)
	}
}
