package engine

import (
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// filter is a causal convolution of each channel by itself: weight [taps, channels], and bias [channels] or nil.
type filter struct{ weight, bias *tensor.Tensor }

// build registers the filter's tensors.
func (f *filter) build(w *Weights, p model.Part, layer int) {
	w.place(p, layer, &f.weight)
	w.register(place{p, layer, true}, &f.bias)
}

// stateShapes returns the shapes of the tensors that a layer of the delta rule or of Mamba remembers: the last inputs of the convolutions of
// queries, keys and values, and the matrix of each head.
func stateShapes(r *model.Recurrent, matrices tensor.Shape) []tensor.Shape {
	keys, values := r.KeyHeads*r.KeyDim, r.Heads*r.ValueDim
	return []tensor.Shape{tensor.ShapeOf(r.Taps-1, keys), tensor.ShapeOf(r.Taps-1, keys), tensor.ShapeOf(r.Taps-1, values), matrices}
}

// The parts of such a state.
const (
	pastQueries = iota
	pastKeys
	pastValues
	matrices
)

// recurrentRows is the memory of a pass's rows in layers with a state. By heads it is [rows, heads, …]; the same memory as rows is flat.
type recurrentRows struct {
	q, k, v, out, gate                     tensor.Tensor // by heads: [rows, keyHeads, keyDim], or [rows, heads, valueDim]
	qFlat, kFlat, vFlat, outFlat, gateFlat tensor.Tensor
	beta, step, decay                      tensor.Tensor // [rows, heads]

	delta [6]*tensor.Tensor // what a layer of the delta rule projects to
	scan  [5]*tensor.Tensor // and one of Mamba
	short shortRows

	normRows

	order  headOrder
	states *kvcache.States // of the layer under way
}

// normRows has the operands of norms.
type normRows struct {
	// Unit vectors are the result of RMSNorm with these weights [keyDim], all the same: x/√(Σx²/n) times 1/√n. Those of queries are
	// multiplied by another 1/√n.
	unit, unitQuery *tensor.Tensor
	gateGroups      tensor.Tensor  // gate as [rows, keyHeads, …]: value heads that share a key head may be normed together
	groupOnes       *tensor.Tensor // weights that change nothing, for a row of gateGroups
}

// shortRows is the memory of a pass's rows in short convolutions: [rows, hidden] each. projected are b, c and x.
type shortRows struct {
	b, c, x   tensor.Tensor
	projected [3]*tensor.Tensor
}

// headOrder is what puts heads in the tiled order, if the columns of the output projection are in that: see model.Tiling.
type headOrder struct {
	heads, gated tensor.Tensor // [most·heads, valueDim]: all of outFlat's and gateFlat's memory
	rows         tensor.Tensor // some rows of heads
	grouped      []int32       // which of gated's rows comes where in heads; nil: the order is the usual one
}

// reserve allocates the memory, if the model has such layers.
func (s *recurrentRows) reserve(a *arena, c *model.Config) error {
	has, scans := map[model.Mixer]bool{}, false
	for i := range c.Layers {
		is := c.Layer(i)
		has[is.Mixer], scans = true, scans || is.Mixer.Scans()
	}
	if has[model.ShortConvolution] {
		s.short.projected = [...]*tensor.Tensor{&s.short.b, &s.short.c, &s.short.x}
		for _, t := range s.short.projected {
			if err := a.reserve(t, c.HiddenSize); err != nil {
				return err
			}
		}
	}
	if !has[model.DeltaRule] && !scans {
		return nil
	}
	r := &c.Recurrent
	s.delta = [...]*tensor.Tensor{&s.qFlat, &s.kFlat, &s.vFlat, &s.gateFlat, &s.beta, &s.step}
	s.scan = [...]*tensor.Tensor{&s.gateFlat, &s.vFlat, &s.kFlat, &s.qFlat, &s.step}
	for _, t := range []struct {
		flat, byHeads *tensor.Tensor
		heads, length int
	}{{&s.qFlat, &s.q, r.KeyHeads, r.KeyDim}, {&s.kFlat, &s.k, r.KeyHeads, r.KeyDim}, {&s.vFlat, &s.v, r.Heads, r.ValueDim},
		{&s.outFlat, &s.out, r.Heads, r.ValueDim}, {&s.gateFlat, &s.gate, r.Heads, r.ValueDim}} {
		if err := a.reserveHeads(t.flat, t.byHeads, t.heads, t.length); err != nil {
			return err
		}
	}
	for _, t := range []*tensor.Tensor{&s.beta, &s.step, &s.decay} {
		if err := a.reserve(t, r.Heads); err != nil {
			return err
		}
	}
	var err error
	if s.unit, err = a.allocateConstant(r.KeyDim, 1/math.Sqrt(float64(r.KeyDim))); err != nil {
		return err
	}
	if s.unitQuery, err = a.allocateConstant(r.KeyDim, 1/float64(r.KeyDim)); err != nil {
		return err
	}
	group := r.Heads / r.KeyHeads * r.ValueDim
	full, err := a.whole(&s.gateFlat).Reshape(a.most, r.KeyHeads, group)
	if err != nil {
		return err
	}
	a.add(full, &s.gateGroups)
	if s.groupOnes, err = a.allocateConstant(group, 1); err != nil {
		return err
	}
	return s.order.reserve(a, &s.outFlat, &s.gateFlat, r)
}

// reserve prepares for heads that are tiled, if they are.
func (o *headOrder) reserve(a *arena, out, gate *tensor.Tensor, r *model.Recurrent) error {
	if !r.Tiled || r.Heads == r.KeyHeads {
		return nil
	}
	for _, t := range []struct{ of, all *tensor.Tensor }{{out, &o.heads}, {gate, &o.gated}} {
		all, err := a.whole(t.of).Reshape(a.most*r.Heads, r.ValueDim)
		if err != nil {
			return err
		}
		*t.all = *all
	}
	order := model.Tiling{KeyHeads: r.KeyHeads, Repeats: r.Heads / r.KeyHeads, Length: 1}
	o.grouped = make([]int32, a.most*r.Heads)
	for i := range o.grouped {
		o.grouped[i] = int32(i - i%r.Heads + order.Grouped(i%r.Heads))
	}
	return nil
}

// begin makes s.states the jobs' states of a layer, for the rows of the pass.
func (s *recurrentRows) begin(jobs []*Job, layer int) error {
	s.states.Reset()
	for _, j := range jobs {
		of := &j.Memory.States
		if err := s.states.Add(of.list[of.at[layer]], j.Rows); err != nil {
			return err
		}
	}
	return nil
}

// convolve passes x through a filter and SiLU, in place. The filter's last inputs are the state's part.
func (p *program) convolve(part int, x *tensor.Tensor, f *filter) {
	p.call(func() error { return p.recurrent.states.Convolve(part, x, f.weight, f.bias, x) })
	p.do(&backend.SiLUMul{A: x})
}
