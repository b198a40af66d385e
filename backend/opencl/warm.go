//go:build opencl && (amd64 || arm64)

package opencl

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/precise"
)

// The first pass with a number of rows compiles kernels and, if time is left, tries how each of its products is best divided: see tuning.
// Warm lets a model compute such passes before anyone waits. For a model with Q4_0 weights on a device without results:
//
//	1 sequence of 1 token        the divisions of 5 products are tried, and saved one by one
//	2 sequences of 1 token       the ways of 5 products with 2 rows are tried
//	64 sequences of 1 token      the time is up: the kernels for 64 rows are compiled, and nothing is tried
//	4, 8, 16 … sequences         are left out: guess finds ways for them
//	1 sequence of 256 tokens     the kernels for prompts are compiled
//
// The next time, the passes for which there are results take no longer than any pass, and the others have the time.

// warmRows are the numbers of rows for which ways are tuned, those of most use first. The first mustWarm of them need kernels that no other
// does: they are computed when the time is up, too.
var warmRows = [...]int{1, 2, mostSeveral, 4, 8, 16, 3, 6, 12, 32, 24, 48}

const mustWarm = 3

// usualPrompt is how many rows of a prompt are computed if the backend does not want another number.
const usualPrompt = 256

// Warm compiles the kernels that passes of up to 64 rows and of prompts need, and tunes their products. On a processor nothing is tuned and
// kernels are compiled as they are used: there it does nothing. If several models are on the device, it also tunes products of shapes that
// another model is the first to compute meanwhile.
func (b *Backend) Warm(ctx context.Context, w backend.Warming) error {
	if !b.tuning.tunes() {
		return ctx.Err()
	}
	began := precise.Now()
	built := b.queue.programs.building.Load()
	late := func() bool { // compiling is not counted: it is done once, and has to be
		compiling := time.Duration(b.queue.programs.building.Load() - built)
		return ctx.Err() != nil || precise.Since(began)-compiling >= w.Within
	}
	b.tune(late)
	defer b.tune(nil)
	prompt, _ := b.PassRows()
	if prompt == 0 {
		prompt = usualPrompt
	}
	const total = len(warmRows) + 1
	compute := func(done, sequences, tokens int) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("opencl: warm up: %w", err)
		}
		if err := w.Compute(sequences, tokens); err != nil {
			return err
		}
		if w.Progress != nil {
			w.Progress(done, total)
		}
		return nil
	}
	for i, rows := range warmRows {
		if i >= mustWarm && late() {
			break
		}
		if err := compute(i+1, rows, 1); err != nil {
			return err
		}
	}
	if err := compute(total, 1, prompt); err != nil {
		return err
	}
	if err := b.moreSlabs(ctx); err != nil {
		return err
	}
	return b.Synchronize()
}

// moreSlabs compiles the kernels that take few slabs of pages for many, too: passes that are computed to warm up have few pages.
func (b *Backend) moreSlabs(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	few, many := fmt.Sprintf("-DSLABS=%d", fewSlabs), fmt.Sprintf("-DSLABS=%d", maxSlabs)
	for _, key := range slices.Collect(maps.Keys(b.queue.programs.kernels)) {
		options := strings.Replace(key.program.options, few, many, 1)
		if options == key.program.options || key.name == "chain" || key.name == "chain_rows" { // a chain has few slabs
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("opencl: warm up: %w", err)
		}
		if _, err := b.kernel(program{key.program.files, options}, key.name); err != nil {
			return err
		}
	}
	return nil
}

// tune begins to tune the shapes of products that are computed, until late returns true; nil ends it.
func (b *Backend) tune(late func() bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tuning.late = late
}

var _ backend.Warmer = (*Backend)(nil)
