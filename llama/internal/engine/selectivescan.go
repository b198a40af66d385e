package engine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// selectiveScan is the mixer of Mamba 2 (arXiv 2405.21060). A head remembers a matrix h [state, headDim]. A token chooses by its step Δ how
// much of h it lets go, and how much it adds:
//
//	z, x, B, C, Δ = W u;  x, B, C = silu(conv(x, B, C));  Δ = softplus(Δ + bias)
//	h ← h·e^(−e^A·Δ) + Δ·B·xᵀ;  y = hᵀC + D·x
//	out = W_o RMSNorm(y·silu(z))
//
// That is the recurrence of deltaRule without the difference, where C are queries, B keys, x values and Δ is β.
type selectiveScan struct {
	layer                 int
	shapes                []tensor.Shape
	c, b, x, z, dt, o     projection
	cConv, bConv, xConv   filter
	stepBias, decay, skip *tensor.Tensor // [heads]; decay is −e^A, and skip is D for each element, [heads·headDim]
	norm                  norm           // of all heads together, or of those that share a head of C and B
	grouped               bool           // which of the two
}

// newSelectiveScan makes the mixer of a layer without its tensors.
func newSelectiveScan(w *Weights, layer int) *selectiveScan {
	r := &w.Config.Recurrent
	m := &selectiveScan{layer: layer, shapes: stateShapes(r, backend.StateShape(r.Heads, r.KeyDim, r.ValueDim))}
	for _, p := range []struct {
		part model.Part
		at   *projection
	}{{model.RecurrentQuery, &m.c}, {model.RecurrentKey, &m.b}, {model.RecurrentValue, &m.x}, {model.RecurrentGate, &m.z},
		{model.RecurrentStep, &m.dt}, {model.RecurrentOutput, &m.o}} {
		w.placeProjection(p.part, layer, p.at)
	}
	m.cConv.build(w, model.QueryFilter, layer)
	m.bConv.build(w, model.KeyFilter, layer)
	m.xConv.build(w, model.ValueFilter, layer)
	w.place(model.StepBias, layer, &m.stepBias)
	w.place(model.Decay, layer, &m.decay)
	w.place(model.Skip, layer, &m.skip)
	m.norm.build(w, place{part: model.RecurrentNorm, layer: layer})
	m.grouped = r.KeyHeads > 1
	return m
}

func (m *selectiveScan) remembers() []tensor.Shape { return m.shapes }

// write passes the rows through the jobs' states.
func (m *selectiveScan) write(p *program, around *residual) {
	s := &p.recurrent
	around.project(p, s.scan[:], &m.z, &m.x, &m.b, &m.c, &m.dt)
	p.call(func() error { return s.begin(p.jobs, m.layer) })
	p.convolve(pastQueries, &s.qFlat, &m.cConv)
	p.convolve(pastKeys, &s.kFlat, &m.bConv)
	p.convolve(pastValues, &s.vFlat, &m.xConv)
	p.do(&backend.Softplus{A: &s.step, Bias: m.stepBias}) // Δ
	p.do(&backend.Cast{Src: &s.step, Dst: &s.decay})
	p.do(&backend.MulAssign{A: &s.decay, B: m.decay}) // the logarithms of the decays, −e^A·Δ
	p.call(func() error { return s.states.Recur(matrices, &s.q, &s.k, &s.v, &s.decay, &s.step, &s.out, false) })
	p.do(&backend.MulAssign{A: &s.vFlat, B: m.skip})
	p.do(&backend.AddAssign{A: &s.outFlat, B: &s.vFlat})
	p.do(&backend.SiLUMul{A: &s.gateFlat, B: &s.outFlat})
	if m.grouped && m.norm.weight != nil {
		p.do(&backend.RMSNorm{X: &s.gateGroups, W: s.groupOnes, Eps: m.norm.eps})
		p.do(&backend.MulAssign{A: &s.gateFlat, B: m.norm.weight})
	} else {
		m.norm.in(p, &s.gateFlat)
	}
	around.add(p, &s.gateFlat, &m.o)
}
