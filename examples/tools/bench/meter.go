package main

import "github.com/antigravity-go/antigravity/examples/tools/internal/recording"

// meter is what watches the time that is measured, besides the clock. The zero value is nothing.
type meter struct {
	recorder *recording.Recorder
	trace    *trace
	name     string // of the measurement, in the trace
}

// begin is called when the time begins, and end when it ends.
func (m meter) begin() {
	m.recorder.Begin()
	m.trace.begin(m.name)
}

func (m meter) end() {
	m.trace.end()
	m.recorder.End()
}
