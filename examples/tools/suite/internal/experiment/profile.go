package experiment

import (
	"context"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/examples/tools/internal/recording"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/workload"
)

// recorded returns a wrapper of the model's backend that reports operations to the recorder, or nil unless a profile is wanted. While the
// recorder does not record, that costs less than can be measured.
func (e *experiment) recorded() func(backend.Backend) backend.Backend {
	if !e.config.Profile {
		return nil
	}
	return func(b backend.Backend) backend.Backend { return recording.New(b, &e.recorder) }
}

// profile reads the prompt and writes the answer once more, and times each operation: on a device each is waited for, which makes all of
// it slower than the run was.
func (e *experiment) profile(ctx context.Context) error {
	c := e.config
	e.progress(Profiling, 0, 2)
	session, err := e.ready(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	record := func(part string, compute func() error) error {
		e.recorder.Begin()
		err := compute()
		e.recorder.End()
		entries, took := e.recorder.Take()
		if err == nil {
			e.run.Profiles = append(e.run.Profiles, newProfile(part, entries, took))
		}
		return err
	}
	if err := record("prompt", func() error { return session.Prefill(ctx, workload.Tokens(e.model, 0, c.Prompt)) }); err != nil {
		return err
	}
	e.progress(Profiling, 1, 2)
	if c.Generate > 0 {
		if err := record("answer", func() error { return answer(ctx, e.model, session, c.Generate, func(int) {}) }); err != nil {
			return err
		}
	}
	e.progress(Profiling, 2, 2)
	return nil
}

// elsewhere is the name for the rest of a part's time, in which no operation of the backend was computed.
const elsewhere = "elsewhere"

// newProfile makes what a run's file says of the operations of a part. The machine's limits, which take seconds to measure, are not known.
func newProfile(part string, entries []*recording.Entry, took time.Duration) runs.Profile {
	p := runs.Profile{Part: part, Seconds: took.Seconds()}
	rest := took
	for _, e := range entries {
		rest -= e.Took
		p.Operations = append(p.Operations, runs.Operation{
			Name: e.Name, Shape: e.Shape("×"), Type: e.DType.String(), Calls: e.Calls, Seconds: e.Took.Seconds(),
			Figures: machine.Limits{}.Figures(e.Work, e.Took),
		})
	}
	p.Operations = append(p.Operations, runs.Operation{Name: elsewhere, Seconds: rest.Seconds()})
	return p
}
