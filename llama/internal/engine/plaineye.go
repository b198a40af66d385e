package engine

import (
	"errors"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/tensor"
)

// plainEye is that of Gemma 4 12B, a tower without layers: each patch is a soft token.
//
//	x = norm₃(norm₂(norm₁(patch)·weightᵀ + bias) + columns[column] + rows[row])
//	feature = norm(x)·weightᵀ                                                     a norm without weights
type plainEye struct {
	first, second, third norm
	patches, features    projection
	tables               positionTables
}

// plainEps is the epsilon of the tower's norms with weights, whatever files say of others.
const plainEps = 1e-5

// errNotDeep is the error of towers without features of other layers.
var errNotDeep = errors.New("the tower has no features of other layers")

// build makes the eye without its tensors.
func (e *plainEye) build(t *Tower) {
	t.placeNorm(model.PatchNorm, 0, &e.first)
	t.placeNorm(model.PatchStateNorm, 0, &e.second)
	t.placeNorm(model.PatchSumNorm, 0, &e.third)
	e.first.eps, e.second.eps, e.third.eps = plainEps, plainEps, plainEps
	t.placeProjection(model.PatchEmbedding, 0, &e.patches)
	t.placeProjection(model.MergeDown, 0, &e.features)
	e.tables.build(t)
}

// embed computes the states of patches.
func (e *plainEye) embed(s *sight, values *pixels.Values) error {
	memory := s.scratch()
	defer memory.free()
	patches, err := s.toDevice(memory, values.Pixels, s.patches, s.Config.Patch)
	if err != nil {
		return err
	}
	positions, err := e.tables.of(s, memory)
	if err != nil {
		return err
	}
	return s.program(nil, func(p *program) {
		e.first.in(p, patches)
		p.project(patches, []*tensor.Tensor{s.x}, &e.patches)
		e.second.in(p, s.x)
		p.do(&backend.AddAssign{A: s.x, B: positions})
		e.third.in(p, s.x)
	})
}

func (e *plainEye) order(*model.Tower) patchOrder { return patchOrder{group: 1} }

// merge computes features of states.
func (e *plainEye) merge(s *sight) (*tensor.Tensor, error) {
	states := make([]float32, s.x.Shape().NumElements())
	if err := backend.ReadFloats(s.device, s.x, states); err != nil {
		return nil, err
	}
	return s.projected(states, &e.features)
}

// deepen is never called.
func (e *plainEye) deepen(*sight, int) (*tensor.Tensor, error) { return nil, errNotDeep }
