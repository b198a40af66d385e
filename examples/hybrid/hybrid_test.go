package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/countdown"
)

func hybrid(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, notes bytes.Buffer
	if err := run(t.Context(), args, nil, &out, &notes); err != nil {
		t.Fatal(err)
	}
	return out.String(), notes.String()
}

func TestSwitches(t *testing.T) {
	want, _ := hybrid(t, "-to", "none", "-n", "120")
	// Another processor backend stands for the device: its logits are the same.
	var r result
	for range 5 { // it may be ready too late for a short answer
		out, _ := hybrid(t, "-to", "cpu", "-n", "120", "-switch-threshold", "1", "-json")
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		if r.Text != strings.TrimSuffix(want, "\n") {
			t.Fatalf("%q, want %q", r.Text, want)
		}
		if r.Moved {
			break
		}
	}
	t.Log(r.Report)
}

// TestTraceShowsTheMove looks for the move in a trace, if there was time for one, and for what both devices did.
func TestTraceShowsTheMove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	for range 5 { // the other device may be ready too late for a short answer
		_, notes := hybrid(t, "-to", "cpu", "-n", "120", "-switch-threshold", "1", "-trace", path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ TraceEvents []struct{ Name string } }
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		moves := 0
		for _, e := range file.TraceEvents {
			if e.Name == "move from cpu to cpu" {
				moves++
			}
		}
		if strings.Contains(notes, "no switch") {
			continue
		}
		if moves != 1 {
			t.Errorf("%d moves in the trace: %s", moves, notes)
		}
		return
	}
}

func TestWithoutADeviceItStays(t *testing.T) {
	out, notes := hybrid(t, "-to", "none", "-prompt", "What is the capital of Japan?")
	if out != "The capital of Japan is Tokyo.\n" || !strings.Contains(notes, "no switch") {
		t.Errorf("%q, %q", out, notes)
	}
}

func TestMistakes(t *testing.T) {
	var usage *cli.UsageError
	for _, args := range [][]string{{"-switch-threshold", "x"}, {"-eviction-policy", "none-such"}} {
		if err := run(t.Context(), args, nil, &bytes.Buffer{}, &bytes.Buffer{}); !errors.As(err, &usage) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestInterrupted(t *testing.T) {
	for _, looks := range []int{0, 100, 168, 188} { // loading takes 138
		err := run(countdown.New(t.Context(), looks), []string{"-to", "cpu", "-n", "60"}, nil, new(bytes.Buffer), new(bytes.Buffer))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("at look %d: %v", looks, err)
		}
	}
}
