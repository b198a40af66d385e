package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/internal/timeline"
	"github.com/antigravity-go/antigravity/examples/tools/internal/recording"
)

// trace is what -trace collects and where it goes. A nil trace does nothing.
type trace struct {
	path     string
	file     *os.File // nil before create
	timeline *timeline.Timeline
	process  *timeline.Process
}

// newTrace returns a trace of at most so many events of the model, which is not loaded yet.
func newTrace(path string, events int, model *cli.Model) *trace {
	t := &trace{path: path, timeline: timeline.New(events)}
	t.process = t.timeline.Process(model.Name() + " on " + model.Backend)
	model.Trace, model.Observe = t.process.Trace(), t.process.Share
	model.Wrap = func(b backend.Backend) backend.Backend { return recording.New(b, t) }
	return t
}

// Watch asks for the time of each operation's call, without waiting for a device, while the time is measured.
func (t *trace) Watch() recording.Mode {
	if t.timeline.Active() {
		return recording.Time
	}
	return recording.Compute
}

// Observe keeps an operation.
func (t *trace) Observe(c recording.Call) {
	phase := backend.Phase{Operation: c.Name, Rows: c.Rows, Cols: c.Cols, DType: c.DType}
	t.process.Operation(timeline.Operation{Phase: phase, Began: c.Began, Took: c.Took})
}

// begin begins a measurement; end ends it.
func (t *trace) begin(name string) {
	if t != nil {
		t.timeline.Begin(name)
	}
}

func (t *trace) end() {
	if t != nil {
		t.timeline.End()
	}
}

// create makes the file, so that one that cannot be made is told of before anything is measured.
func (t *trace) create() (err error) {
	if t == nil {
		return nil
	}
	if t.file, err = os.Create(t.path); err != nil {
		return fmt.Errorf("-trace: %w", err)
	}
	return nil
}

// write writes the file, and tells where it is and whether anything is missing.
func (t *trace) write(s setting, stderr io.Writer) error {
	if t == nil {
		return nil
	}
	events, err := t.timeline.Write(t.file, s)
	if err = errors.Join(err, t.file.Close()); err != nil {
		return fmt.Errorf("-trace: %w", err)
	}
	fmt.Fprintf(stderr, "%d events in %s: open it in https://ui.perfetto.dev or chrome://tracing\n", events, t.path)
	if after, full := t.timeline.Full(); full {
		fmt.Fprintf(stderr, "what came more than %v after the first measurement began is missing: -trace-events bounds the trace\n", after.Round(time.Millisecond))
	}
	return nil
}
