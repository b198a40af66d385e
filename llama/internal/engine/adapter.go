package engine

import (
	"errors"
	"slices"

	"github.com/antigravity-go/antigravity/tensor"
)

// Adapter is a LoRA adapter (arXiv 2106.09685) on a model's devices: what it adds to the model's projections. It does not change once all of it
// is set.
type Adapter struct {
	weights *Weights
	order   uint64  // by which jobs with one adapter come to stand side by side
	deltas  []delta // by the projections' numbers
	inner   []int   // the different inner dimensions of the products
	outer   []int   // the different outer dimensions
}

// delta is what an adapter adds to a projection: scale·b·a; nothing if a is nil.
type delta struct {
	a, b  *tensor.Tensor // [inner, in], [out, inner]
	scale float64
	stage *stage // that computes the projection
}

// size returns the bytes of the matrices.
func (d *delta) size() int64 { return int64(d.a.Size() + d.b.Size()) }

// Target is a projection that an adapter changes.
type Target struct {
	number int // among the model's projections
	stage  *stage
}

// Stage returns the number of the stage that computes the projection; see Weights.Stages.
func (t Target) Stage() int { return t.stage.number }

// Set makes the adapter add scale·b·a to a projection. down is a [inner, in] and up is b [out, inner], as the projection's device has prepared them;
// from then on they belong to the adapter. No projection is set twice.
func (a *Adapter) Set(to Target, down, up *tensor.Tensor, scale float64) {
	d := &a.deltas[to.number]
	*d = delta{down, up, scale, to.stage}
	d.stage.sizes.set.Add(d.size())
	a.inner, a.outer = addOnce(a.inner, down.Shape().Dim(0)), addOnce(a.outer, up.Shape().Dim(0))
}

// RankUnit is what the inner dimensions of adapters should be padded to a multiple of, with zeros: kernels work on that many rows of weights at
// once, and slowly on less.
const RankUnit = 16

// addOnce appends n to a list that does not have it yet.
func addOnce(list []int, n int) []int {
	if slices.Contains(list, n) {
		return list
	}
	return append(list, n)
}

// Free gives the memory back, when no job uses the adapter any more.
func (a *Adapter) Free() error {
	_ = a.weights.synchronize() // a device may still be computing the last step of a session; nobody wants its error
	var errs []error
	for i := range a.deltas {
		if d := &a.deltas[i]; d.a != nil {
			d.stage.sizes.set.Add(-d.size())
			errs = append(errs, d.a.Free(), d.b.Free())
		}
	}
	clear(a.deltas)
	return errors.Join(errs...)
}

// place returns the adapter's order; 0 if there is no adapter.
func (a *Adapter) place() uint64 {
	if a == nil {
		return 0
	}
	return a.order
}
