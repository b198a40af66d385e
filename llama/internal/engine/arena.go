package engine

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// arena is the memory of a model's passes: tensors [most, …] of float32 mostly, allocated once. Each pass uses the first rows. The system
// provides host memory only as it is touched, so a model that never sees a long prompt takes memory only for the rows that it uses.
//
// Invariants: 1 ≤ rows ≤ most; views[i] is the first rows·times[i] rows of full[i], which has most·times[i] rows.
type arena struct {
	device backend.Backend
	most   int // rows that there is memory for
	rows   int // of the present pass
	full   []*tensor.Tensor
	views  []*tensor.Tensor
	times  []int
	owned  []*tensor.Tensor // all that was allocated
	bytes  int64            // of owned
	total  *atomic.Int64    // the batch's memory, to which bytes are added
}

// allocate returns a tensor [rows, cols] that is freed with the arena.
func (a *arena) allocate(rows, cols int) (*tensor.Tensor, error) {
	return a.allocateAs(tensor.F32, rows, cols)
}

// allocateAs is allocate for a type.
func (a *arena) allocateAs(d tensor.DType, rows, cols int) (*tensor.Tensor, error) {
	t, err := tensor.New(a.device, d, tensor.ShapeOf(rows, cols))
	if err != nil {
		return nil, err
	}
	a.own(t)
	return t, nil
}

// own makes t a tensor that is freed with the arena.
func (a *arena) own(t *tensor.Tensor) {
	a.owned = append(a.owned, t)
	a.bytes += int64(t.Size())
	a.total.Add(int64(t.Size()))
}

// reserve makes view [rows, cols] in each pass.
func (a *arena) reserve(view *tensor.Tensor, cols int) error {
	return a.reserveTimes(view, tensor.F32, 1, cols)
}

// reserveTimes makes view [rows·times, cols], of a type, in each pass.
func (a *arena) reserveTimes(view *tensor.Tensor, d tensor.DType, times, cols int) error {
	full, err := a.allocateAs(d, a.most*times, cols)
	if err != nil {
		return err
	}
	a.addTimes(full, view, times)
	return nil
}

// addTimes is add for a full of most·times rows.
func (a *arena) addTimes(full, view *tensor.Tensor, times int) {
	a.add(full, view)
	a.times[len(a.times)-1] = times
}

// share makes view [rows, cols] in each pass, in memory that other views may have too: a tensor [most, ≥ cols].
func (a *arena) share(memory, view *tensor.Tensor, cols int) error {
	all, err := memory.Reshape(memory.Shape().NumElements())
	if err != nil {
		return err
	}
	if all, err = all.Slice(0, a.most*cols); err != nil {
		return err
	}
	full, err := all.Reshape(a.most, cols)
	if err != nil {
		return err
	}
	a.add(full, view)
	return nil
}

// shareHeads makes flat [rows, heads·headDim] in each pass, and byHeads the same memory as [rows, heads, headDim], in memory that other views may have
// too.
func (a *arena) shareHeads(memory, flat, byHeads *tensor.Tensor, heads, headDim int) error {
	if err := a.share(memory, flat, heads*headDim); err != nil {
		return err
	}
	full, err := a.full[len(a.full)-1].Reshape(a.most, heads, headDim)
	if err != nil {
		return err
	}
	a.add(full, byHeads)
	return nil
}

// reserveHeads is shareHeads in memory of its own.
func (a *arena) reserveHeads(flat, byHeads *tensor.Tensor, heads, headDim int) error {
	memory, err := a.allocate(a.most, heads*headDim)
	if err != nil {
		return err
	}
	return a.shareHeads(memory, flat, byHeads, heads, headDim)
}

// allocateConstant returns a tensor [n] with all elements equal to v, which is freed with the arena.
func (a *arena) allocateConstant(n int, v float64) (*tensor.Tensor, error) {
	from, err := tensor.FromFloats(slices.Repeat([]float32{float32(v)}, n), n)
	if err != nil {
		return nil, err
	}
	t, err := tensor.New(a.device, tensor.F32, tensor.ShapeOf(n))
	if err != nil {
		return nil, err
	}
	a.own(t)
	return t, a.device.Run(backend.Copy(from, t))
}

// add makes view a view of full, which has most rows: resize keeps it cut to the present number of rows.
func (a *arena) add(full, view *tensor.Tensor) {
	a.full = append(a.full, full)
	a.views = append(a.views, view)
	a.times = append(a.times, 1)
}

// resize cuts the views to a number of rows, at most most.
func (a *arena) resize(rows int) error {
	if rows == a.rows {
		return nil
	}
	for i, full := range a.full {
		if err := full.SliceInto(a.views[i], 0, rows*a.times[i]); err != nil {
			return err
		}
	}
	a.rows = rows
	return nil
}

// cut makes view n rows in the memory of another view, which loses its content. n is at most the rows that the other view has in the
// largest pass.
func (a *arena) cut(of, view *tensor.Tensor, n int) error {
	for i := range a.views {
		if a.views[i] == of {
			return a.full[i].SliceInto(view, 0, n)
		}
	}
	return nil
}

// whole returns all of a view's memory, [most, …].
func (a *arena) whole(of *tensor.Tensor) *tensor.Tensor { return a.full[slices.Index(a.views, of)] }

// free gives the memory back.
func (a *arena) free() error {
	var errs []error
	for _, t := range a.owned {
		errs = append(errs, t.Free())
	}
	a.total.Add(-a.bytes)
	a.owned, a.bytes = nil, 0
	return errors.Join(errs...)
}
