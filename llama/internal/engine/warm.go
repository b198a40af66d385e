package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Some devices are slow with everything that they compute for the first time: see backend.Warmer. Before the first job they compute passes
// of tokens 0 through a sample of the layers, with the output head, and throw everything away. Example: of 26 layers every sixth sees all
// positions, the others see a window, and the last three have matrices of another type:
//
//	sample        layers 0, 1, 5 and 23: layer 0 counts as a kind of its own, 1 has a window, 5 sees all, 23 has the other type
//	Compute(2, 1) two conversations, with caches for these four layers, have a row each in two passes

// Warm lets the device of a new Batch compute what passes will compute, for the first time. It does nothing unless the device is a
// backend.Warmer, which tries ways to compute for as long as within says. Of several devices one warms up after the other. Conversations will have keys and values of type kv.
// Nobody runs jobs meanwhile.
func (b *Batch) Warm(ctx context.Context, kv tensor.DType, within time.Duration, progress func(done, total int)) error {
	t := trial{batch: b, context: ctx, kv: kv}
	for _, device := range b.weights.devices() {
		if err := backend.Warm(ctx, device, backend.Warming{Within: within, Progress: progress, Compute: t.compute}); err != nil {
			return err
		}
	}
	return nil
}

// trial computes passes before the first job.
type trial struct {
	batch   *Batch
	context context.Context
	kv      tensor.DType
	sample  []bool // which layers are computed; nil before the first pass
}

// compute computes a pass of sequences that have some tokens each. If that is one token, as in answers, it computes a second pass: a token
// that goes to a new page may be computed by other kernels than the next one. All memory is given back.
func (t *trial) compute(sequences, tokens int) (err error) {
	b, w := t.batch, t.batch.weights
	if t.sample == nil {
		t.sample = w.sample()
	}
	sequences, tokens = min(sequences, b.most), min(tokens, b.prompts.usual, w.Config.ContextLength)
	passes := 1
	if tokens == 1 && w.Config.ContextLength > 1 {
		passes = 2
	}
	defer func() { err = errors.Join(err, b.Free()) }()
	var logits Logits
	defer logits.Free()
	jobs, list := make([]*Job, sequences), make([]int32, tokens)
	for i := range jobs {
		j := &Job{Request: Request{Context: t.context, Tokens: list, Answer: tokens == 1}}
		jobs[i] = j
		if w.Config.Whole {
			j.Output.Hide, j.Output.Each = true, func(*tensor.Tensor) error { return nil }
			continue
		}
		if j.Memory, err = w.NewMemory(&MemoryOptions{KV: t.kv, Capacity: passes * tokens, Snapshots: -1, sample: t.sample}); err != nil {
			return err
		}
		defer j.Memory.Free()
		if j.Output, err = logits.Output(w, 1, 1, 0); err != nil { // all have the same place
			return err
		}
	}
	for i := range passes {
		for _, j := range jobs {
			j.Output.Temperature = float32(i) // the first pass finds the largest logits, the second the likeliest tokens
		}
		if err := t.pass(jobs, sequences*tokens); err != nil {
			return err
		}
	}
	return w.synchronize()
}

// pass computes jobs, rows in all.
func (t *trial) pass(jobs []*Job, rows int) error {
	for _, j := range jobs {
		j.Rows = len(j.Tokens)
		if err := j.reserve(); err != nil {
			return err
		}
	}
	p, err := t.batch.passOf(rows)
	if err != nil {
		return err
	}
	for at := p; at != nil; at = at.next {
		at.sample = t.sample
	}
	err = t.batch.forward(jobs, rows)
	for _, j := range jobs {
		err = errors.Join(err, t.batch.outputs.collect(j))
		j.block = nil
		j.Start += j.Rows
	}
	return err
}

// sample returns which layers to compute so that each kind is among those of each device, and each layer with a cache that one of them reads. A kind is what makes
// a difference to the device: operations, types and shapes.
func (w *Weights) sample() []bool {
	kinds := make([]strings.Builder, len(w.layers))
	for i := range w.layers {
		is := w.Config.Layer(i)
		is.Source = 0
		fmt.Fprintf(&kinds[i], "%d %+v", w.of[i].first, is)
	}
	for i := range w.tensors {
		t := &w.tensors[i]
		m := *w.at(t)
		fmt.Fprintln(&kinds[t.Layer], t.Part, t.Bias, m.DType(), m.Shape())
	}
	sample, seen := make([]bool, len(w.layers)), map[string]bool{}
	for i := range kinds {
		if kind := kinds[i].String(); !seen[kind] {
			seen[kind] = true
			sample[i] = true
			if cached := w.cacheOf[i]; cached >= 0 {
				sample[cached] = true
			}
		}
	}
	return sample
}
