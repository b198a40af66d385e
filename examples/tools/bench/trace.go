package main

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/internal/timeline"
	"github.com/antigravity-go/antigravity/examples/tools/internal/recording"
)

// traceInto makes the file of -trace and makes the model, which is not loaded yet, report to it.
func traceInto(path string, events int, model *cli.Model) (*timeline.File, error) {
	file, err := timeline.Create(path, events)
	if err != nil {
		return nil, err
	}
	process := file.Process(model.Name() + " on " + model.Backend)
	model.Trace, model.Record = process.Trace(), process.Record()
	if model.Backend != "cpu" { // the processor's threads report by themselves: with the calls reported too, tracing would take twice the time
		model.Wrap = func(b backend.Backend) backend.Backend { return recording.New(b, operations{file.Timeline, process}) }
	}
	return file, nil
}

// operations is an Observer that puts operations into a trace while the time is measured. It does not wait for a device.
type operations struct {
	timeline *timeline.Timeline
	process  *timeline.Process
}

// Watch asks for the time of each operation's call.
func (o operations) Watch() recording.Mode {
	if o.timeline.Active() {
		return recording.Time
	}
	return recording.Compute
}

// Observe keeps an operation.
func (o operations) Observe(c recording.Call) {
	phase := backend.Phase{Operation: c.Name, Rows: c.Rows, Cols: c.Cols, DType: c.DType}
	o.process.Operation(timeline.Operation{Phase: phase, Began: c.Began, Took: c.Took})
}
