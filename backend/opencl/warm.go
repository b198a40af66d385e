//go:build opencl && (amd64 || arm64)

package opencl

import (
	"context"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/internal/precise"
)

// The first pass with a number of rows compiles kernels and, if time is left, tries how each of its products is best divided: see tuning.
// Warm lets a model compute such passes before anyone waits. For a model with Q4_0 weights on a device without results:
//
//	1 sequence of 1 token        the divisions of 5 products are tried, and saved one by one
//	1 sequence of 256 tokens     a prompt
//	2 sequences of 1 token       the ways of 5 products with 2 rows are tried
//	64 sequences of 1 token      the time is up: the pass is computed, and nothing is tried
//	4, 8, 16 … sequences         are left out: guess finds ways for them
//
// The next time, the passes for which there are results take no longer than any pass, and the others have the time.
//
// Only kernels that no others stand for are compiled meanwhile: those that ready has asked for come when Warm has ended, between answers.

// warmPasses are the passes, those of most use first. The first mustWarm of them need kernels that no other does: they are computed when the time is
// up, too.
var warmPasses = [...]struct{ sequences, tokens int }{
	{1, 1}, {1, usualPrompt}, {2, 1}, {mostSeveral, 1}, {4, 1}, {8, 1}, {16, 1}, {3, 1}, {6, 1}, {12, 1}, {32, 1}, {24, 1}, {48, 1},
}

const mustWarm = 4

// usualPrompt stands for as many rows of a prompt as the backend wants to compute at once, and is their number if it does not want any.
const usualPrompt = 256

// Warm compiles the kernels that passes of up to 64 rows and of prompts cannot do without, and tunes their products. On a processor nothing is tuned
// and kernels are compiled as they are used: there it does nothing. If several models are on the device, it also tunes products of shapes that
// another model is the first to compute meanwhile.
func (b *Backend) Warm(ctx context.Context, w backend.Warming) error {
	if !b.tuning.tunes() {
		return ctx.Err()
	}
	began := precise.Now()
	late := func() bool { return ctx.Err() != nil || precise.Since(began) >= w.Within }
	b.tune(late)
	defer b.tune(nil)
	programs := b.queue.programs
	b.mu.Lock()
	programs.Patient = b.device.Kind&cl.CPU == 0
	b.mu.Unlock()
	programs.Hold(true)
	defer programs.Hold(false)
	for i, pass := range warmPasses {
		if i >= mustWarm && late() {
			break
		}
		if prompt, _ := b.PassRows(); prompt != 0 && pass.tokens == usualPrompt {
			pass.tokens = prompt
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("opencl: warm up: %w", err)
		}
		if err := w.Compute(pass.sequences, pass.tokens); err != nil {
			return err
		}
		if w.Progress != nil {
			w.Progress(i+1, len(warmPasses))
		}
	}
	return b.Synchronize()
}

// tune begins to tune the shapes of products that are computed, until late returns true; nil ends it.
func (b *Backend) tune(late func() bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tuning.late = late
}

var _ backend.Warmer = (*Backend)(nil)
