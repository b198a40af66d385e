package engine

import (
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// AdapterOff is the scale with which an adapter changes nothing.
const AdapterOff = math.SmallestNonzeroFloat32

// adapted is the rows of a pass that have adapters, and memory for the adapters' products. A pass without such rows does not touch it, and
// computes what it would compute if there were no adapters.
//
// A row with an adapter gets what the other rows get, by the same calls, and then its adapter's share on top of it. So no row's result
// depends on whether others have adapters.
type adapted struct {
	runs    []adaptedRun // in the order of the pass's rows
	touched []bool       // by the numbers of projections: an adapter adds something to it

	low, high                  sheets        // in·aᵀ, by its width, and the product of that with b
	in, out, lowView, highView tensor.Tensor // the rows of a run

	// The operations, which allocate nothing. The weights differ from pass to pass, so that they are in no program; the fused operation is
	// asked for by its name.
	product backend.Call[backend.MatMulTransposed, *backend.MatMulTransposed]
	scaled  backend.Call[backend.Scale, *backend.Scale]
	added   backend.Call[backend.MatMulAdd, *backend.MatMulAdd]
}

// adaptedRun is neighbouring rows of a pass that have the same adapter.
type adaptedRun struct {
	adapter *Adapter
	scale   float32
	lo, hi  int
}

// find lists the rows of a pass's jobs that have adapters, and reserves the memory that they need. The arena counts its bytes.
func (ad *adapted) find(a *arena, jobs []*Job) error {
	ad.runs = ad.runs[:0]
	clear(ad.touched)
	for _, j := range jobs {
		if j.Adapter == nil || j.rows == 0 || j.Scale == AdapterOff {
			continue
		}
		if ad.touched == nil {
			ad.touched = make([]bool, len(j.Adapter.deltas))
		}
		for i := range j.Adapter.deltas {
			ad.touched[i] = ad.touched[i] || j.Adapter.deltas[i].a != nil
		}
		if n := len(ad.runs); n > 0 && ad.runs[n-1].joins(j) {
			ad.runs[n-1].hi += j.rows
			continue
		}
		ad.runs = append(ad.runs, adaptedRun{j.Adapter, j.Scale, j.first, j.first + j.rows})
		if err := ad.low.reserve(a, j.Adapter.inner); err != nil {
			return err
		}
		if err := ad.high.reserve(a, j.Adapter.outer); err != nil {
			return err
		}
	}
	return nil
}

// joins reports whether a job's rows continue the run.
func (r *adaptedRun) joins(j *Job) bool {
	return r.adapter == j.Adapter && r.scale == j.Scale && r.hi == j.first
}

// needs reports whether an adapter of the pass's rows adds something to the projection with a number.
func (ad *adapted) needs(number int) bool {
	return len(ad.runs) > 0 && ad.touched[number]
}

// add adds to out [rows, n], the projection of in [rows, k] with a number, what adapters make of in.
func (ad *adapted) add(d backend.Backend, number int, in, out *tensor.Tensor) error {
	for i := range ad.runs {
		r := &ad.runs[i]
		if delta := &r.adapter.deltas[number]; delta.a != nil {
			if err := ad.addRun(d, r, delta, in, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// addRun adds scale·(in·aᵀ)·bᵀ to a run's rows of out.
func (ad *adapted) addRun(d backend.Backend, r *adaptedRun, delta *delta, in, out *tensor.Tensor) error {
	if err := in.SliceInto(&ad.in, r.lo, r.hi); err != nil {
		return err
	}
	if err := out.SliceInto(&ad.out, r.lo, r.hi); err != nil {
		return err
	}
	if err := ad.low.cut(&ad.lowView, r.hi-r.lo, delta.a.Shape().Dim(0)); err != nil {
		return err
	}
	if err := ad.high.cut(&ad.highView, r.hi-r.lo, delta.b.Shape().Dim(0)); err != nil {
		return err
	}
	if err := ad.product.Run(d, backend.MatMulTransposed{X: &ad.in, W: delta.a, Out: &ad.lowView}); err != nil {
		return err
	}
	if by := float32(delta.scale * float64(r.scale)); by != 1 {
		if err := ad.scaled.Run(d, backend.Scale{X: &ad.lowView, By: by}); err != nil {
			return err
		}
	}
	return ad.added.Run(d, backend.MatMulAdd{X: &ad.lowView, W: delta.b, Product: &ad.highView, Out: &ad.out})
}

// sheets are tensors [most, cols], one for each width that was asked for.
type sheets []*tensor.Tensor

// reserve makes a tensor of each width that is missing.
func (s *sheets) reserve(a *arena, widths []int) error {
	for _, cols := range widths {
		if s.of(cols) != nil {
			continue
		}
		t, err := a.allocate(a.most, cols)
		if err != nil {
			return err
		}
		*s = append(*s, t)
	}
	return nil
}

// cut makes view the first rows of the tensor of a width, which was reserved.
func (s sheets) cut(view *tensor.Tensor, rows, cols int) error {
	return s.of(cols).SliceInto(view, 0, rows)
}

// of returns the tensor of a width, nil if it is missing.
func (s sheets) of(cols int) *tensor.Tensor {
	for _, t := range s {
		if t.Shape().Dim(1) == cols {
			return t
		}
	}
	return nil
}
