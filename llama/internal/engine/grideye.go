package engine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/tensor"
)

// gridEye is that of towers like SigLIP (arXiv 2303.15343): patches come row by row, perhaps with a table of learned positions. The states of a soft token's
// Merge×Merge patches become one row, and what a tower lacks of the rest is left out:
//
//	x = norm(patch·weightᵀ + bias + position)
//	y = norm(x)                                        after the layers
//	z = the mean of y₀, y₁ …, or all of them in a row
//	feature = down(gelu(up(merger(norm(z)))))
type gridEye struct {
	mean     bool       // z is a mean
	apart    bool       // z has the first elements of all, then their second ones, and so on; otherwise one state after the other
	patches  projection // [hidden, values of a patch]
	table    gridPositions
	first    norm // of x
	after    norm // of y
	norm     norm // of z
	merger   projection
	up, down projection
}

// newJoiningEye makes the eye of SmolVLM and LFM2-VL.
func newJoiningEye() eye { return &gridEye{} }

// newApartEye makes the eye of Pixtral: pairs of heads alternate between rows and columns.
func newApartEye() eye { return &gridEye{apart: true} }

// newMeanEye makes the eye of Gemma 3. Its norm of z subtracts no mean.
func newMeanEye() eye { return &gridEye{mean: true} }

// build makes the eye without its tensors.
func (e *gridEye) build(t *Tower) {
	t.placeProjection(model.PatchEmbedding, 0, &e.patches)
	e.table.build(t)
	t.placeNorm(model.PatchSumNorm, 0, &e.first)
	t.placeNorm(model.StateNorm, 0, &e.after)
	t.placeNorm(model.MergeNorm, 0, &e.norm)
	if e.mean {
		e.norm.centred = false
	} else {
		e.norm.eps = plainEps
	}
	if e.apart {
		e.after.eps = t.Config.TextEps
	}
	t.placeProjection(model.PatchMerger, 0, &e.merger)
	t.placeProjection(model.MergeUp, 0, &e.up)
	t.placeProjection(model.MergeDown, 0, &e.down)
}

// embed computes the states of patches.
func (e *gridEye) embed(s *sight, values *pixels.Values) error {
	memory := s.scratch()
	defer memory.free()
	patches, err := s.toDevice(memory, values.Pixels, s.patches, s.Config.Patch)
	if err != nil {
		return err
	}
	var positions *tensor.Tensor
	if e.table.list != nil {
		if positions, err = s.toDevice(memory, e.table.of(s), s.patches, s.Config.HiddenSize); err != nil {
			return err
		}
	}
	return s.program(nil, func(p *program) {
		p.project(patches, []*tensor.Tensor{s.x}, &e.patches)
		if positions != nil {
			p.do(&backend.AddAssign{A: s.x, B: positions})
		}
		e.first.in(p, s.x)
	})
}

// order says that patches come row by row.
func (e *gridEye) order(*model.Tower) patchOrder { return patchOrder{group: 1, alternate: e.apart} }

// merge computes features.
func (e *gridEye) merge(s *sight) (*tensor.Tensor, error) {
	if err := s.program(nil, func(p *program) { e.after.in(p, s.x) }); err != nil {
		return nil, err
	}
	states := make([]float32, s.x.Shape().NumElements())
	if err := backend.ReadFloats(s.device, s.x, states); err != nil {
		return nil, err
	}
	c := s.Config
	wide := c.HiddenSize * c.Merge * c.Merge
	if e.mean {
		wide = c.HiddenSize
	}
	joined := e.join(s, states, wide)
	tokens := len(joined) / wide
	memory := s.scratch()
	defer memory.free()
	z, err := s.toDevice(memory, joined, tokens, wide)
	if err != nil {
		return nil, err
	}
	steps := []*projection{&e.merger, &e.up, &e.down}
	outs := make([]*tensor.Tensor, len(steps))
	for i, j := range steps {
		if j.weight == nil {
			continue
		}
		if outs[i], err = memory.allocate(tokens, j.weight.Shape().Dim(0)); err != nil {
			return nil, err
		}
	}
	out := outs[len(outs)-1]
	if err := s.program([]*tensor.Tensor{z}, func(p *program) {
		e.norm.in(p, z)
		in := z
		for i, j := range steps {
			if j.weight == nil {
				continue
			}
			p.project(in, outs[i:i+1], j)
			if in = outs[i]; j == &e.up {
				p.do(&backend.GELUErf{A: in})
			}
			s.pause(p)
		}
	}); err != nil {
		return nil, err
	}
	return s.features(out)
}

// join returns a row of wide elements for each soft token: the mean of its patches' states, or all of them, patches row by row.
func (e *gridEye) join(s *sight, states []float32, wide int) []float32 {
	c := s.Config
	width, many := c.HiddenSize, float32(c.Merge*c.Merge)
	list := make([]float32, 0, s.patches/(c.Merge*c.Merge)*wide)
	for i := range s.views {
		v := &s.views[i]
		for top := 0; top+c.Merge <= v.Rows; top += c.Merge {
			for left := 0; left+c.Merge <= v.Columns; left += c.Merge {
				at := len(list)
				list = list[:at+wide]
				row := list[at:]
				for y := range c.Merge {
					states := states[((top+y)*v.Columns+left)*width:][:c.Merge*width]
					switch {
					case e.apart:
						for j, state := range states {
							row[j%width*c.Merge*c.Merge+y*c.Merge+j/width] = state
						}
					case e.mean:
						for j, state := range states {
							row[j%width] += state
						}
					default:
						copy(row[y*len(states):], states)
					}
				}
				for j := range row {
					if e.mean {
						row[j] /= many
					}
				}
			}
		}
		states = states[v.Rows*v.Columns*width:]
	}
	return list
}

// deepen is never called.
func (e *gridEye) deepen(*sight, int) (*tensor.Tensor, error) { return nil, errNotDeep }
