package engine

import (
	"math"
	"slices"

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

func (f *sideBySide) forward(p *pass, around *residual) error {
	if err := f.dense.activated(p, around); err != nil {
		return err
	}
	if err := f.aroundDense.result(p, &p.dense[f.dense.width].gate, &f.dense.down); err != nil {
		return err
	}
	if err := f.choose(p); err != nil {
		return err
	}
	if err := p.device.normOf(&p.x, &f.aroundExperts.norm, &p.normed); err != nil {
		return err
	}
	sum := &p.experts.sum
	if err := p.device.CopySlice(p.experts.zeros, sum, 0, 0, sum.Shape().NumElements()); err != nil {
		return err
	}
	if err := f.experts.feed(p, sum); err != nil {
		return err
	}
	if err := f.aroundExperts.finish(p, sum); err != nil {
		return err
	}
	if err := p.device.AddAssign(&p.product, sum); err != nil {
		return err
	}
	if err := around.finish(p, &p.product); err != nil {
		return err
	}
	return p.device.AddAssign(&p.x, &p.product)
}

// choose lets the rows choose their experts.
func (f *sideBySide) choose(p *pass) error {
	s := &p.experts
	if err := f.aroundRouter.project(p, s.projected[:len(f.experts.projections)], f.experts.projections...); err != nil {
		return err
	}
	if err := p.device.scale(&s.logits, f.rooted); err != nil {
		return err
	}
	return p.device.Route(&s.logits, f.experts.routing, &s.chosen, &s.weights)
}

// reserveSum allocates the memory for the sum of the experts' results, and the zeros.
func (s *expertRows) reserveSum(a *arena, c *model.Config) (err error) {
	beside, zeros := slices.Contains(c.FeedForwards, model.GatedAndRouted), 0
	if beside {
		zeros = c.HiddenSize
	}
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
