package engine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// deltaRule is the mixer of Gated DeltaNet (arXiv 2412.06464). A head remembers a matrix S [keyDim, valueDim], from which a key gets the value
// stored under it. A token lets some of S go, by its decay, and then changes what its key gets towards its value, by β of the difference:
//
//	q, k, v = silu(conv(W x));  q, k = q/‖q‖/√keyDim, k/‖k‖;  β = σ(W_b x);  g = −e^A·softplus(W_a x + bias)
//	S ← e^g·S;  S ← S + k·(β·(v − Sᵀk))ᵀ;  o = Sᵀq
//	out = W_o (RMSNorm(o)·silu(W_z x))
type deltaRule struct {
	layer               int
	shapes              []tensor.Shape
	q, k, v, z, b, a, o projection
	qConv, kConv, vConv filter
	stepBias, decay     *tensor.Tensor // [heads]; decay is −e^A
	norm                norm           // of each head
	unitEps             float32        // added to the mean of the squares
	tiled               bool           // the columns of o are of tiled heads
}

// squaresEps is added to a vector's sum of squares before its length is computed.
const squaresEps = 1e-6

// newDeltaRule makes the mixer of a layer without its tensors.
func newDeltaRule(w *Weights, layer int) *deltaRule {
	r := &w.Config.Recurrent
	m := &deltaRule{layer: layer, shapes: stateShapes(r, backend.StateShape(r.Heads, r.KeyDim, r.ValueDim)), tiled: r.Tiled && r.Heads > r.KeyHeads}
	m.unitEps = squaresEps / float32(r.KeyDim)
	for _, p := range []struct {
		part model.Part
		at   *projection
	}{{model.RecurrentQuery, &m.q}, {model.RecurrentKey, &m.k}, {model.RecurrentValue, &m.v}, {model.RecurrentGate, &m.z},
		{model.RecurrentBeta, &m.b}, {model.RecurrentStep, &m.a}, {model.RecurrentOutput, &m.o}} {
		w.placeProjection(p.part, layer, p.at)
	}
	m.qConv.build(w, model.QueryFilter, layer)
	m.kConv.build(w, model.KeyFilter, layer)
	m.vConv.build(w, model.ValueFilter, layer)
	w.place(model.StepBias, layer, &m.stepBias)
	w.place(model.Decay, layer, &m.decay)
	m.norm.build(w, place{part: model.RecurrentNorm, layer: layer})
	return m
}

func (m *deltaRule) remembers() []tensor.Shape { return m.shapes }

// write passes the rows through the jobs' states.
func (m *deltaRule) write(p *program, around *residual) {
	s := &p.recurrent
	around.project(p, s.delta[:], &m.q, &m.k, &m.v, &m.z, &m.b, &m.a)
	p.call(func() error { return s.begin(p.jobs, m.layer) })
	p.convolve(pastQueries, &s.qFlat, &m.qConv)
	p.convolve(pastKeys, &s.kFlat, &m.kConv)
	p.do(&backend.RMSNorm{X: &s.q, W: s.unitQuery, Eps: m.unitEps}) // unit vectors, and queries are divided by √keyDim
	p.do(&backend.RMSNorm{X: &s.k, W: s.unit, Eps: m.unitEps})
	p.convolve(pastValues, &s.vFlat, &m.vConv)
	p.do(&backend.SigmoidMul{A: &s.beta})
	p.do(&backend.Softplus{A: &s.step, Bias: m.stepBias})
	p.do(&backend.MulAssign{A: &s.step, B: m.decay}) // the logarithms of the decays
	p.call(func() error { return s.states.Recur(matrices, &s.q, &s.k, &s.v, &s.step, &s.beta, &s.out, true) })
	m.norm.in(p, &s.out)
	p.do(&backend.SiLUMul{A: &s.gateFlat, B: &s.outFlat})
	if !m.tiled {
		around.add(p, &s.gateFlat, &m.o)
		return
	}
	p.call(func() error { return s.order.tile(p.pass) })
	around.add(p, &s.outFlat, &m.o)
}

// tile copies the heads of gate, which are grouped, to out in the tiled order.
func (o *headOrder) tile(p *pass) error {
	n := p.rows * len(o.grouped) / p.most
	if err := o.heads.SliceInto(&o.rows, 0, n); err != nil {
		return err
	}
	return p.gathered.Run(p.device, backend.Gather{Table: &o.gated, Indices: o.grouped[:n], Out: &o.rows})
}
