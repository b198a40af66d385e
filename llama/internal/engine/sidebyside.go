package engine

import (
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
)

// sideBySide is a dense feed-forward network and experts in one layer (Gemma 4's 26B-A4B). Both read the residual stream x, and each stands between norms of
// its own:
//
//	x += post(post₁(dense(norm(x))) + post₂(experts(norm₂(x))))
//
// The router reads x by a third norm: its logits are router(norm₃(x))/√hidden.
type sideBySide struct {
	dense   *dense
	experts *experts
	// The parts around the dense network, its post-norm being post₁, the experts, and the router, which has no post-norm.
	aroundDense, aroundExperts, aroundRouter residual
	rooted                                   float32 // 1/√hidden
}

func newSideBySide(w *Weights, layer int, is *model.Layer) (f *sideBySide, err error) {
	f = &sideBySide{rooted: float32(1 / math.Sqrt(float64(w.Config.HiddenSize)))}
	if f.dense, err = newDense(w, layer, is); err != nil {
		return nil, err
	}
	if f.experts, err = newExperts(w, layer); err != nil {
		return nil, err
	}
	for _, t := range []struct {
		at   *norm
		part model.Part
	}{
		{&f.aroundDense.post, model.DensePostNorm}, {&f.aroundRouter.norm, model.RouterNorm},
		{&f.aroundExperts.norm, model.ExpertNorm}, {&f.aroundExperts.post, model.ExpertPostNorm},
	} {
		t.at.build(w, place{part: t.part, layer: layer})
	}
	f.aroundDense.scale, f.aroundExperts.scale = 1, 1
	return f, nil
}

func (f *sideBySide) write(p *program, around *residual) {
	f.dense.activated(p, around)
	f.aroundDense.result(p, &p.dense[f.dense.width].gate, &f.dense.down)
	f.choose(p)
	sum := &p.experts.sum
	x := f.aroundExperts.norm.of(p, &p.x, &p.normed)
	p.zero(sum)
	f.experts.feed(p, x, sum)
	f.aroundExperts.finish(p, sum)
	p.do(&backend.AddAssign{A: &p.product, B: sum})
	around.finish(p, &p.product)
	p.do(&backend.AddAssign{A: &p.x, B: &p.product})
}

// choose lets the rows choose their experts.
func (f *sideBySide) choose(p *program) {
	s := &p.experts
	f.aroundRouter.project(p, f.experts.outs(s), f.experts.projections...)
	p.scale(&s.logits, f.rooted)
	p.do(&backend.Route{Logits: &s.logits, Routing: f.experts.routing, Chosen: &s.chosen, Weights: &s.weights})
}

// reserveSum allocates the memory for the sum of the experts' results, and the zeros.
func (s *expertRows) reserveSum(a *arena, c *model.Config) (err error) {
	beside, zeros := slices.Contains(c.FeedForwards, model.GatedAndRouted), 0
	if beside {
		zeros = c.HiddenSize
	}
	zeros = max(zeros, c.Experts.Latent)
	if len(c.ExpertScaled) > 0 {
		zeros = max(zeros, c.Experts.Chosen*c.Experts.Width)
	}
	if zeros == 0 {
		return nil
	}
	if s.zeros, err = a.allocateConstant(a.most*zeros, 0); err != nil || !beside {
		return err
	}
	return a.reserve(&s.sum, c.HiddenSize)
}
