package timeline

import (
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/llama"
)

// Process is what one model does. Its methods are safe for concurrent use.
type Process struct {
	timeline *Timeline
	name     string

	passes     store[llama.PassInfo]
	operations store[Operation]
	steps      store[llama.StepInfo]
	choices    store[llama.ChooseInfo]
	drafts     store[llama.DraftInfo]
	evictions  store[llama.EvictInfo]
	moves      store[llama.MoveInfo]

	record *backend.Record
}

// Operation is a call of a backend.
type Operation struct {
	backend.Phase
	Began time.Time
	Took  time.Duration // of the call: a device may have computed it later
}

// Trace returns the functions that a model is to call.
func (p *Process) Trace() *llama.Trace {
	t := p.timeline
	return &llama.Trace{
		Pass:   func(i llama.PassInfo) { p.passes.add(t, &i) },
		Step:   func(i llama.StepInfo) { p.steps.add(t, &i) },
		Choose: func(i llama.ChooseInfo) { p.choices.add(t, &i) },
		Draft:  func(i llama.DraftInfo) { p.drafts.add(t, &i) },
		Evict:  func(i llama.EvictInfo) { p.evictions.add(t, &i) },
		Move:   func(i llama.MoveInfo) { p.moves.add(t, &i) },
	}
}

// Record is what a backend on the host is to fill, as backend.Options.Record.
func (p *Process) Record() *backend.Record { return p.record }

// Operation keeps a call of a backend.
func (p *Process) Operation(o Operation) { p.operations.add(p.timeline, &o) }

// count returns how many events were kept.
func (p *Process) count() int {
	return p.passes.count() + p.operations.count() + p.steps.count() + p.choices.count() + p.drafts.count() + p.evictions.count() +
		p.moves.count() + p.record.Count()
}
