package engine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/tensor"
)

// convolvingEye is GLM-OCR's: patches that become a soft token follow each other, a convolution makes one state of theirs, and a network with a gate the
// feature.
//
//	x = patch·firstᵀ + patch·secondᵀ + bias
//	y = gelu(centred(projection([norm(x₀) norm(x₁) norm(x₂) norm(x₃)]·downsampleᵀ + bias)))
//	feature = down(silu(gate(y))·up(y))
type convolvingEye struct {
	patches                                framesEmbedding
	norm, centred                          norm
	downsample, projection, gate, up, down projection
}

// centredEps is the epsilon of the norm after the projection, whatever files say of others.
const centredEps = 1e-5

// build makes the eye without its tensors.
func (e *convolvingEye) build(t *Tower) {
	e.patches.build(t)
	t.placeNorm(model.MergeNorm, 0, &e.norm)
	t.placeNorm(model.MergeInnerNorm, 0, &e.centred)
	e.centred.eps, e.centred.centred = centredEps, true
	for _, p := range []struct {
		part model.Part
		at   *projection
	}{{model.Downsample, &e.downsample}, {model.MergeProjection, &e.projection}, {model.MergeGate, &e.gate}, {model.MergeUp, &e.up}, {model.MergeDown, &e.down}} {
		t.placeProjection(p.part, 0, p.at)
	}
}

// embed computes the states of patches.
func (e *convolvingEye) embed(s *sight, values *pixels.Values) error {
	return e.patches.of(s, values, func(*program) {})
}

// order says that the patches of a soft token lie together.
func (e *convolvingEye) order(c *model.Tower) patchOrder { return patchOrder{group: c.Merge} }

// merge computes features of states.
func (e *convolvingEye) merge(s *sight) (*tensor.Tensor, error) {
	c := s.Config
	tokens := s.patches / (c.Merge * c.Merge)
	memory := s.scratch()
	defer memory.free()
	normed, err := memory.allocate(s.patches, c.HiddenSize)
	if err != nil {
		return nil, err
	}
	together, err := normed.Reshape(tokens, c.HiddenSize*c.Merge*c.Merge)
	if err != nil {
		return nil, err
	}
	var states, inner, gate, up *tensor.Tensor
	for _, m := range []struct {
		at    **tensor.Tensor
		width int
	}{{&states, c.Out}, {&inner, c.Out}, {&gate, c.MergeSize}, {&up, c.MergeSize}} {
		if *m.at, err = memory.allocate(tokens, m.width); err != nil {
			return nil, err
		}
	}
	if err := s.program([]*tensor.Tensor{normed, up}, func(p *program) {
		e.norm.of(p, s.x, normed)
		p.project(together, []*tensor.Tensor{states}, &e.downsample)
		s.pause(p)
		p.project(states, []*tensor.Tensor{inner}, &e.projection)
		e.centred.in(p, inner)
		p.do(&backend.GELUErf{A: inner})
		p.project(inner, []*tensor.Tensor{gate, up}, &e.gate, &e.up)
		p.do(&backend.SiLUMul{A: gate, B: up})
		p.project(gate, []*tensor.Tensor{states}, &e.down)
	}); err != nil {
		return nil, err
	}
	return s.features(states)
}

// deepen is never called.
func (e *convolvingEye) deepen(*sight, int) (*tensor.Tensor, error) { return nil, errNotDeep }
