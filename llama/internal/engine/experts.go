package engine

import (
	"cmp"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// experts is the feed-forward network Σ weightᵢ·downᵢ(activate(gateᵢ(x))·upᵢ(x)) of the experts i that a router chooses for a token x
// (arXiv 1701.06538). Some families add the network of a shared expert, which computes every token; it may have a router of its own.
//
// A token is added to in this order: by the shared expert, then by its experts in the order of their ranks. Which rows are computed together changes
// nothing. Networks without a gate are down(activate(up(x))). If experts have a width of their own, one projection makes what they read, and
// another one turns their sum back. There is no norm between the sum of the experts and the residual stream.
type experts struct {
	router  projection
	routing backend.Routing
	network backend.ExpertNetwork
	shared  *sharedExpert // nil: no shared expert
	// What the products with gate and up are multiplied by, [experts, 1]: GGUF files of four bits have them. Nil: by nothing.
	gateScales, upScales *tensor.Tensor
	activate             func(up *tensor.Tensor) backend.Op // of networks without a gate; nil: they have one
	sumBias              *tensor.Tensor                     // [hidden]: is added to the sum; nil: nothing is
	latentDown, latentUp *projection                        // to and from the experts' own width; nil: they have the stream's

	projections []*projection // of the normed stream: the router, then those of the shared expert
}

// sharedExpert is the network of all tokens, down(activate(gate(x))·up(x))·σ(router(x)).
type sharedExpert struct {
	gate, up, down projection
	ungated        bool        // there is no gate
	router         *projection // [1, hidden]; nil: the factor is 1
	routing        backend.Routing
	activate       activation
}

// scoresOf are the backend's kinds of scores.
var scoresOf = map[model.Scores]backend.Scores{
	model.SoftmaxAll: backend.SoftmaxAll, model.SoftmaxChosen: backend.SoftmaxChosen, model.Sigmoid: backend.Sigmoid,
}

// expertActivations are the activations of experts by model.Variant's Activation.
var expertActivations = map[string]backend.Activation{"": backend.ActivateSiLU, "gelu_tanh": backend.ActivateGELU}

func newExperts(w *Weights, layer int) (*experts, error) {
	c, e := w.Config, &w.Config.Experts
	activate, known := expertActivations[c.Activation]
	var alone func(up *tensor.Tensor) backend.Op
	if e.Ungated {
		alone, known = aloneActivations[c.Activation]
		known = known && !e.Biased && len(c.ExpertScaled) == 0 && (e.SharedWidth == 0 || c.Activation == "relu2")
	}
	scores, scored := scoresOf[e.Scores]
	if !known || !scored {
		return nil, fmt.Errorf("experts with the activation %.100q and scores of kind %d: %w", c.Activation, e.Scores, fault.ErrUnsupported)
	}
	f := &experts{activate: alone, routing: backend.Routing{Scores: scores, Normalize: e.Normalized, Scale: float32(e.Scale), Groups: e.Groups, ChosenGroups: e.ChosenGroups}}
	if f.network.Activation = activate; e.Limit != 0 {
		f.network.Activation, f.network.Limit = backend.ActivateClamped, float32(e.Limit)
	}
	if scale := c.ResidualScale; scale != 0 && e.Latent == 0 { // of the sum of the experts, and so of their weights
		f.routing.Scale = float32(cmp.Or(e.Scale, 1) * scale)
	}
	w.placeProjection(model.Router, layer, &f.router)
	w.place(model.RouterCorrection, layer, &f.routing.Bias)
	w.place(model.ExpertScales, layer, &f.routing.ExpertScales)
	w.place(model.ExpertGateScales, layer, &f.gateScales)
	w.place(model.ExpertUpScales, layer, &f.upScales)
	w.place(model.ExpertSumBias, layer, &f.sumBias)
	for _, p := range []model.Part{model.ExpertScales, model.ExpertGateScales, model.ExpertUpScales} {
		if e.Biased && c.ExpertScaled[model.Place{Part: p, Layer: layer}] {
			return nil, fmt.Errorf("%v in layer %d of experts that have biases: %w", p, layer, fault.ErrUnsupported)
		}
	}
	for _, t := range []struct {
		part         model.Part
		weight, bias **tensor.Tensor
	}{
		{model.ExpertGate, &f.network.Gate, &f.network.GateBias}, {model.ExpertUp, &f.network.Up, &f.network.UpBias},
		{model.ExpertDown, &f.network.Down, &f.network.DownBias},
	} {
		w.place(t.part, layer, t.weight)
		w.register(place{t.part, layer, true}, t.bias)
	}
	f.projections = []*projection{&f.router}
	if e.SharedWidth != 0 {
		f.shared = newSharedExpert(w, layer)
		if !e.Ungated {
			f.projections = append(f.projections, &f.shared.gate)
		}
		f.projections = append(f.projections, &f.shared.up)
		if f.shared.router != nil {
			f.projections = append(f.projections, f.shared.router)
		}
	}
	if e.Latent != 0 {
		f.latentDown, f.latentUp = &projection{}, &projection{}
		w.placeProjection(model.LatentDown, layer, f.latentDown)
		w.placeProjection(model.LatentUp, layer, f.latentUp)
	}
	return f, nil
}

func newSharedExpert(w *Weights, layer int) *sharedExpert {
	f := &sharedExpert{activate: activations[w.Config.Activation], ungated: w.Config.Experts.Ungated}
	w.placeProjection(model.SharedGate, layer, &f.gate)
	w.placeProjection(model.SharedUp, layer, &f.up)
	w.placeProjection(model.SharedDown, layer, &f.down)
	if w.Config.Experts.SharedGated {
		f.router = &projection{}
		f.routing = backend.Routing{Scores: backend.Sigmoid, Scale: float32(w.Config.ResidualScale)}
		w.placeProjection(model.SharedRouter, layer, f.router)
	}
	return f
}

func (f *experts) write(p *program, around *residual) {
	s := &p.experts
	x := around.norm.of(p, &p.x, &p.normed)
	if x == &p.x { // which is added to while the experts read
		p.do(&backend.Cast{Src: x, Dst: &p.normed})
		x = &p.normed
	}
	p.project(x, f.outs(s), f.projections...)
	p.do(&backend.Route{Logits: &s.logits, Routing: f.routing, Chosen: &s.chosen, Weights: &s.weights})
	if f.shared != nil {
		f.shared.add(p, around)
	}
	if f.latentDown == nil {
		f.feed(p, x, &p.x)
		p.addBias(&p.x, f.sumBias)
		return
	}
	p.project(x, []*tensor.Tensor{&s.latent}, f.latentDown)
	p.zero(&s.latentSum)
	f.feed(p, &s.latent, &s.latentSum)
	around.add(p, &s.latentSum, f.latentUp)
}

// outs returns what the projections of the normed stream are computed to.
func (f *experts) outs(s *expertRows) []*tensor.Tensor {
	if f.activate != nil {
		return []*tensor.Tensor{&s.logits, &s.sharedUp, &s.sharedLogit}[:len(f.projections)]
	}
	return s.projected[:len(f.projections)]
}

// feed adds to each row of out the results of its experts for the row of x, once the rows have chosen.
func (f *experts) feed(p *program, x, out *tensor.Tensor) {
	s := &p.experts
	if n := &f.network; f.activate != nil {
		p.do(&backend.MatMulExperts{X: x, W: n.Up, Chosen: &s.chosen, Out: &s.up})
		p.do(f.activate(&s.up))
		p.do(&backend.MatMulExperts{X: &s.up, W: n.Down, Chosen: &s.chosen, Out: &s.down})
		p.do(&backend.SumExperts{Y: &s.down, Weights: &s.weights, Out: out})
		return
	}
	if f.gateScales != nil || f.upScales != nil {
		f.feedScaled(p, x, out)
		return
	}
	fused := backend.FeedExperts{X: x, Network: f.network, Chosen: &s.chosen, Weights: &s.weights, Gate: &s.gate, Up: &s.up, Down: &s.down, Out: out}
	for _, op := range fused.Plain() {
		p.do(op)
	}
}

// add adds the shared expert's result to the stream. Its projections of the normed stream have been computed.
func (f *sharedExpert) add(p *program, around *residual) {
	s := &p.experts
	hidden := &s.sharedGate
	if f.ungated {
		hidden = &s.sharedUp
		p.do(&backend.ReLUSquared{A: hidden})
	} else {
		p.do(f.activate(hidden, &s.sharedUp)...)
	}
	if f.router == nil {
		around.add(p, hidden, &f.down)
		return
	}
	// With a router of its own it is the only one of its kind to choose from.
	p.do(&backend.Route{Logits: &s.sharedLogit, Routing: f.routing, Chosen: &s.sharedChosen, Weights: &s.sharedWeight})
	p.do(&backend.MatMulTransposed{X: hidden, W: f.down.weight, Out: &p.product})
	p.complete(&f.down, hidden, &p.product)
	p.do(&backend.SumExperts{Y: &p.product, Weights: &s.sharedWeight, Out: &p.x})
}

// feedScaled is feed if products are scaled, with the bits of FeedExperts. The scales of ExpertDown are in the weights: see backend.Routing.
func (f *experts) feedScaled(p *program, x, out *tensor.Tensor) {
	s, n := &p.experts, &f.network
	p.do(&backend.MatMulExperts{X: x, W: n.Gate, Chosen: &s.chosen, Out: &s.gate})
	gate := p.scalePairs(&s.gate, &s.scaled, f.gateScales)
	up := &s.up
	p.do(&backend.MatMulExperts{X: x, W: n.Up, Chosen: &s.chosen, Out: up})
	if f.upScales != nil {
		if gate == &s.gate {
			gate = &s.scaled
			p.do(&backend.Cast{Src: &s.gate, Dst: gate})
		}
		up = p.scalePairs(up, &s.gate, f.upScales)
	}
	switch n.Activation {
	case backend.ActivateGELU:
		p.do(&backend.GELUMul{A: gate, B: up})
	case backend.ActivateClamped:
		p.do(&backend.SwiGLUClamped{A: gate, B: up, Limit: n.Limit})
	default:
		p.do(&backend.SiLUMul{A: gate, B: up})
	}
	p.do(&backend.MatMulExperts{X: gate, W: n.Down, Chosen: &s.chosen, Out: &s.down})
	p.do(&backend.SumExperts{Y: &s.down, Weights: &s.weights, Out: out})
}

// scalePairs writes the rows of pairs, each multiplied by its expert's number of scales, to out, and returns it; without scales it returns rows.
func (p *program) scalePairs(rows, out, scales *tensor.Tensor) *tensor.Tensor {
	if scales == nil {
		return rows
	}
	s := &p.experts
	p.zero(&s.factors)
	p.do(&backend.AddExpertBias{Out: &s.factors, Bias: scales, Chosen: &s.chosen})
	p.zero(out)
	p.do(&backend.SumExperts{Y: rows, Weights: &s.factors, Out: out})
	return out
}

// zero makes all elements of a tensor 0.
func (p *program) zero(x *tensor.Tensor) {
	p.call(func() error {
		return p.copied.Run(p.device, backend.CopySlice{Src: p.experts.zeros, Dst: x, N: x.Shape().NumElements()})
	})
}

// expertRows is the memory of a pass's rows in layers with experts; a model without experts has no such memory. projected are the results
// of experts.projections.
type expertRows struct {
	logits, chosen, weights                 tensor.Tensor  // [rows, experts], and [rows, k] of the chosen ones
	gate, up, down                          tensor.Tensor  // [rows·k, width], and [rows·k, hidden]
	sharedGate, sharedUp                    tensor.Tensor  // [rows, width]
	sharedLogit, sharedChosen, sharedWeight tensor.Tensor  // [rows, 1]
	sum                                     tensor.Tensor  // [rows, hidden]: of the experts, if it is not added to the stream at once
	latent, latentSum                       tensor.Tensor  // [rows, latent]: what experts of their own width read, and their sum
	factors, scaled                         tensor.Tensor  // [rows·k, 1] and [rows·k, width], if products are scaled
	zeros                                   *tensor.Tensor // what sum, latentSum, factors and scaled begin with, since experts are added to them
	projected                               [4]*tensor.Tensor
}

// reserve allocates the memory.
func (s *expertRows) reserve(a *arena, c *model.Config) error {
	e := &c.Experts
	if e.Count == 0 {
		return nil
	}
	s.projected = [...]*tensor.Tensor{&s.logits, &s.sharedGate, &s.sharedUp, &s.sharedLogit}
	for _, t := range []struct {
		view        *tensor.Tensor
		dtype       tensor.DType
		times, cols int
	}{
		{&s.logits, tensor.F32, 1, e.Count}, {&s.chosen, tensor.I32, 1, e.Chosen}, {&s.weights, tensor.F32, 1, e.Chosen},
		{&s.gate, tensor.F32, e.Chosen, e.Width}, {&s.up, tensor.F32, e.Chosen, e.Width}, {&s.down, tensor.F32, e.Chosen, c.ExpertInput()},
		{&s.latent, tensor.F32, 1, e.Latent}, {&s.latentSum, tensor.F32, 1, e.Latent},
		{&s.sharedGate, tensor.F32, 1, e.SharedWidth}, {&s.sharedUp, tensor.F32, 1, e.SharedWidth},
		{&s.sharedLogit, tensor.F32, 1, 1}, {&s.sharedChosen, tensor.I32, 1, 1}, {&s.sharedWeight, tensor.F32, 1, 1},
	} {
		if t.cols == 0 {
			continue
		}
		if err := a.reserveTimes(t.view, t.dtype, t.times, t.cols); err != nil {
			return err
		}
	}
	if len(c.ExpertScaled) > 0 {
		if err := a.reserveTimes(&s.factors, tensor.F32, e.Chosen, 1); err != nil {
			return err
		}
		if err := a.reserveTimes(&s.scaled, tensor.F32, e.Chosen, e.Width); err != nil {
			return err
		}
	}
	return s.reserveSum(a, c)
}
