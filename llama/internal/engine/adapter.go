package engine

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Adapter is a LoRA adapter (arXiv 2106.09685) on a model's device: what it adds to the model's projections. It does not change once all of it
// is set.
type Adapter struct {
	device backend.Backend
	bytes  *atomic.Int64    // of the model's weights
	order  uint64           // by which jobs with one adapter come to stand side by side
	deltas []delta          // by the projections' numbers
	all    []*tensor.Tensor // each once
	inner  []int            // the different inner dimensions of the products
	outer  []int            // the different outer dimensions
}

// delta is what an adapter adds to a projection: scale·b·a; nothing if a is nil.
type delta struct {
	a, b  *tensor.Tensor // [inner, in], [out, inner]
	scale float64
}

// Set makes the adapter add scale·b·a to the projection with a number (see Weights.Projection). down is a [inner, in] and up is b [out, inner], as the
// device has prepared them; from then on they belong to the adapter.
func (a *Adapter) Set(number int, down, up *tensor.Tensor, scale float64) {
	a.deltas[number] = delta{down, up, scale}
	for _, t := range []*tensor.Tensor{down, up} {
		a.all = append(a.all, t)
		a.bytes.Add(int64(t.Size()))
	}
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
	_ = a.device.Synchronize() // the device may still be computing the last step of a session; nobody wants its error
	var errs []error
	for _, t := range a.all {
		a.bytes.Add(-int64(t.Size()))
		errs = append(errs, t.Free())
	}
	a.all = nil
	return errors.Join(errs...)
}

// place returns the adapter's order; 0 if there is no adapter.
func (a *Adapter) place() uint64 {
	if a == nil {
		return 0
	}
	return a.order
}
