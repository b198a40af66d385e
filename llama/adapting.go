package llama

import "github.com/antigravity-go/antigravity/tensor"

// adapting is what a pass needs for rows of sessions with adapters: which rows these are, and memory for the products. A pass without
// such rows does not touch it, and computes what it would compute if there were no adapters.
//
// A row with an adapter gets what the other rows get, by the same calls, and then its adapter's share on top of it. So no row's result
// depends on whether others have adapters.
type adapting struct {
	runs  []adaptedRun // of the present pass, in the order of its rows
	layer int          // that is being computed

	low, high                  sheets        // x·aᵀ, by its width, and the product of that with b
	in, out, lowView, highView tensor.Tensor // the rows of a run
}

// adaptedRun is neighbouring rows of a pass that have the same adapter.
type adaptedRun struct {
	weights *adapterWeights
	scale   float32
	lo, hi  int
}

// order returns by what jobs with one adapter come to stand side by side.
func (w *adapterWeights) order() uint64 {
	if w == nil {
		return 0
	}
	return w.number
}

// findAdapted lists the pass's rows with adapters, and makes sure that there is memory for what they need.
func (b *batch) findAdapted(ws *workspace, jobs []*job) error {
	ad := &ws.adapting
	ad.runs = ad.runs[:0]
	for _, j := range jobs {
		if j.adapter == nil || j.scale == AdapterOff {
			continue
		}
		if n := len(ad.runs); n > 0 && ad.runs[n-1].joins(j) {
			ad.runs[n-1].hi += j.rows
			continue
		}
		ad.runs = append(ad.runs, adaptedRun{j.adapter, j.scale, j.first, j.first + j.rows})
		taken, err := ad.reserve(b.model.device, j.adapter, ws.most)
		ws.bytes += taken
		b.memory.Add(taken)
		if err != nil {
			return err
		}
	}
	return nil
}

// joins tells whether a job's rows continue the run.
func (r *adaptedRun) joins(j *job) bool {
	return r.weights == j.adapter && r.scale == j.scale && r.hi == j.first
}

// reserve makes memory for the products of an adapter, and returns how many bytes it took.
func (ad *adapting) reserve(d *device, w *adapterWeights, most int) (bytes int64, err error) {
	for _, cols := range w.inner {
		n, err := ad.low.reserve(d, most, cols)
		if bytes += n; err != nil {
			return bytes, err
		}
	}
	for _, cols := range w.outer {
		n, err := ad.high.reserve(d, most, cols)
		if bytes += n; err != nil {
			return bytes, err
		}
	}
	return bytes, nil
}

// tensors returns the memory.
func (ad *adapting) tensors() []*tensor.Tensor {
	return append(ad.low[:len(ad.low):len(ad.low)], ad.high...)
}

// needs tells whether the pass has rows that an adapter adds something to at one of some places of the present layer.
func (ad *adapting) needs(at ...place) bool {
	for i := range ad.runs {
		l := &ad.runs[i].weights.layers[ad.layer]
		for _, p := range at {
			if l[p].a != nil {
				return true
			}
		}
	}
	return false
}

// addOfNorm adds to outs, which belong to projections of the normed x, what adapters make of it. A nil norm changes nothing; normed is
// memory for its result.
func (ad *adapting) addOfNorm(d *device, to []*projection, x, norm *tensor.Tensor, eps float32, normed *tensor.Tensor, outs []*tensor.Tensor) error {
	in := x
	for i, p := range to {
		if !ad.needs(p.at) {
			continue
		}
		if norm != nil && in == x {
			if err := ad.norm(d, x, norm, eps, normed); err != nil {
				return err
			}
			in = normed
		}
		if err := ad.add(d, p.at, in, outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// add adds to out [rows, n] what adapters make of in [rows, k] at a place of the present layer.
func (ad *adapting) add(d *device, at place, in, out *tensor.Tensor) error {
	for i := range ad.runs {
		r := &ad.runs[i]
		if delta := &r.weights.layers[ad.layer][at]; delta.a != nil {
			if err := ad.addRun(d, r, delta, in, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// addRun adds scale·(in·aᵀ)·bᵀ to a run's rows of out.
func (ad *adapting) addRun(d *device, r *adaptedRun, delta *delta, in, out *tensor.Tensor) error {
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
	if err := d.MatMulTransposed(&ad.in, delta.a, &ad.lowView); err != nil {
		return err
	}
	if scale := float32(delta.scale * float64(r.scale)); scale != 1 {
		if err := d.Scale(&ad.lowView, scale); err != nil {
			return err
		}
	}
	return d.fused.MatMulAdd(&ad.lowView, delta.b, &ad.highView, &ad.out)
}

// norm makes the rows with adapters of normed [rows, k] the norm of x's, which the fused operations leave undefined.
func (ad *adapting) norm(d *device, x, weights *tensor.Tensor, eps float32, normed *tensor.Tensor) error {
	width := x.Shape().Dim(1)
	for i := range ad.runs {
		r := &ad.runs[i]
		if err := d.CopySlice(x, normed, r.lo*width, r.lo*width, (r.hi-r.lo)*width); err != nil {
			return err
		}
		if err := normed.SliceInto(&ad.in, r.lo, r.hi); err != nil {
			return err
		}
		if err := d.RMSNorm(&ad.in, weights, eps); err != nil {
			return err
		}
	}
	return nil
}

// sheets are tensors [most, cols], one for each width that was asked for.
type sheets []*tensor.Tensor

// reserve makes a tensor of a width where there is none, and returns how many bytes it took.
func (s *sheets) reserve(d *device, most, cols int) (int64, error) {
	if s.of(cols) != nil {
		return 0, nil
	}
	t, err := tensor.New(d.Backend, tensor.F32, tensor.ShapeOf(most, cols))
	if err != nil {
		return 0, err
	}
	*s = append(*s, t)
	return int64(t.Size()), nil
}

// cut makes view the first rows of the tensor of a width, which was reserved.
func (s sheets) cut(view *tensor.Tensor, rows, cols int) error {
	return s.of(cols).SliceInto(view, 0, rows)
}

// of returns the tensor of a width, nil where there is none.
func (s sheets) of(cols int) *tensor.Tensor {
	for _, t := range s {
		if t.Shape().Dim(1) == cols {
			return t
		}
	}
	return nil
}
