package host

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/tensor"
)

// DeltaRule computes few rows in one phase, and more by the plain operations, whose pieces are smaller.
func (b Fused) DeltaRule(o *backend.DeltaRule, of *[backend.DeltaParts][]backend.Stretch) error {
	for _, s := range of[backend.DeltaMatrices] {
		if s.Rows >= passRows {
			return backend.ComposeDeltaRule(b.Base, o, of)
		}
	}
	d, err := backend.CheckDeltaRule(o, of)
	if err != nil || d.Rows == 0 {
		return err
	}
	const op = "DeltaRule"
	var maps mapped
	defer maps.unmap()
	if err := maps.add(op, o.Query, o.Key, o.Value, o.Gate, o.Step, o.Beta, o.Out, o.StepBias, o.Decay, o.QueryUnit, o.KeyUnit, o.Norm); err != nil {
		return err
	}
	for part := range of {
		if err := maps.addStates(op, of[part]); err != nil {
			return err
		}
	}
	t := b.deltaRules.get()
	defer b.deltaRules.put(t)
	for part, f := range o.Filtered {
		if err := maps.add(op, f.Rows, f.Filter); err != nil {
			return err
		}
		c := &t.filters[part]
		c.kernels, c.channels, c.width = b.kernels, f.Filter.Shape().Dim(1), f.Filter.Shape().Dim(0)
		c.x, c.w, c.out = floats(f.Rows), floats(f.Filter), floats(f.Rows)
		c.stretches = appendStretches(c.stretches[:0], of[part])
		c.reserve(b.runner.Size())
	}
	r := &t.recurrence
	r.kernels, r.RecurDims, r.delta = b.kernels, d, true
	r.q, r.k, r.v, r.g, r.beta, r.out = floats(o.Query), floats(o.Key), floats(o.Value), floats(o.Step), floats(o.Beta), floats(o.Out)
	r.stretches = appendStretches(r.stretches[:0], of[backend.DeltaMatrices])
	r.reserve(b.runner.Size())
	t.gate, t.stepBias, t.decay, t.norm, t.normEps = floats(o.Gate), floats(o.StepBias), floats(o.Decay), floats(o.Norm), o.NormEps
	t.units, t.unitEps = [2][]float32{floats(o.QueryUnit), floats(o.KeyUnit)}, o.UnitEps
	return b.runner.Run(t, len(r.stretches)*r.KeyHeads)
}

// deltaRule is a DeltaRule as a task. A piece is a stretch's rows with a key head and the heads that share it: no other piece needs what
// it computes.
type deltaRule struct {
	recurrence
	filters                     [3]convolution
	gate, stepBias, decay, norm []float32
	units                       [2][]float32 // of queries and keys
	unitEps, normEps            float32
}

// reset forgets the operands, and keeps the scratch.
func (t *deltaRule) reset() {
	for i := range t.filters {
		t.filters[i].reset()
	}
	t.recurrence.reset()
	*t = deltaRule{recurrence: t.recurrence, filters: t.filters}
}

// Phase says what the operation is.
func (t *deltaRule) Phase() timing.Phase {
	return timing.Phase{Operation: "DeltaRule", Rows: t.KeyDim, Cols: t.Heads * t.ValueDim, DType: tensor.F32}
}

// Do computes one piece.
func (t *deltaRule) Do(worker, piece int) {
	number, keyHead := piece/t.KeyHeads, piece%t.KeyHeads
	s, group := &t.stretches[number], t.Heads/t.KeyHeads
	first, last := keyHead*group, (keyHead+1)*group
	k := t.kernels
	for part := range t.filters {
		lo, hi := keyHead*t.KeyDim, (keyHead+1)*t.KeyDim
		if part == backend.DeltaValues {
			lo, hi = first*t.ValueDim, last*t.ValueDim
		}
		c := &t.filters[part]
		c.convolve(&c.workers[worker], &c.stretches[number], lo, hi)
		for row := s.first; row < s.first+s.rows; row++ {
			k.SiLU(c.out[row*c.channels:][lo:hi])
		}
	}
	for row := s.first; row < s.first+s.rows; row++ {
		for i, x := range [2][]float32{t.q, t.k} {
			head := x[(row*t.KeyHeads+keyHead)*t.KeyDim:][:t.KeyDim]
			k.RMSNorm(head, head, t.units[i], t.unitEps)
		}
		for head := first; head < last; head++ {
			at := row*t.Heads + head
			t.beta[at] = exact.Sigmoid(t.beta[at])
			t.g[at] = exact.Softplus(t.g[at]+t.stepBias[head]) * t.decay[head]
		}
	}
	for head := first; head < last; head++ {
		for block := range t.Blocks() {
			t.pass(&t.recurrence.workers[worker], s, head, block, 0, s.rows)
		}
	}
	for row := s.first; row < s.first+s.rows; row++ {
		for head := first; head < last; head++ {
			at := (row*t.Heads + head) * t.ValueDim
			out, gate := t.out[at:][:t.ValueDim], t.gate[at:][:t.ValueDim]
			k.RMSNorm(out, out, t.norm, t.normEps)
			k.SiLUMul(gate, gate, out)
		}
	}
}
