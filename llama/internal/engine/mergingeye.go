package engine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/tensor"
)

// mergingEye is that of Qwen2-VL, 2.5-VL and 3-VL: patches that become a soft token follow each other, and their states together are one row that a network
// reads. Qwen2-VL's has no positions, and that of 2.5 windows.
//
//	x = patch·firstᵀ + patch·secondᵀ + bias + position        a picture is two frames of a film
//	feature = down(gelu(up([norm(x₀) norm(x₁) norm(x₂) norm(x₃)])))
//	deep    = down(gelu(up(norm([x₀ x₁ x₂ x₃]))))             for each of Config.Deepstack
type mergingEye struct {
	patches   framesEmbedding
	table     *tensor.Tensor // [positions, hidden]; nil: the tower has no table
	positions []float32      // table on the host
	merger    merger
	deep      []merger
}

// merger makes features of states.
type merger struct {
	norm     norm
	up, down projection
}

// framesEmbedding makes states of patches that are two frames of a film, which are the same for a picture.
type framesEmbedding struct {
	first, second projection // [hidden, values of a patch]; second has no weight if patches have one frame
}

func (e *framesEmbedding) build(t *Tower) {
	t.placeProjection(model.PatchEmbedding, 0, &e.first)
	t.placeProjection(model.FrameEmbedding, 0, &e.second)
}

// of computes the states of patches into s.x, and then what more adds.
func (e *framesEmbedding) of(s *sight, values *pixels.Values, more func(p *program)) error {
	memory := s.scratch()
	defer memory.free()
	patches, err := s.toDevice(memory, s.valuesOf(values), s.patches, s.Config.Patch)
	if err != nil {
		return err
	}
	return s.program(nil, func(p *program) {
		p.do(&backend.MatMulTransposed{X: patches, W: e.first.weight, Out: s.x})
		if e.second.weight != nil {
			p.do(&backend.MatMulTransposed{X: patches, W: e.second.weight, Out: s.out})
			p.do(&backend.AddAssign{A: s.x, B: s.out})
		}
		p.addBias(s.x, e.first.bias)
		more(p)
	})
}

// build makes the eye without its tensors.
func (e *mergingEye) build(t *Tower) {
	e.patches.build(t)
	t.place(model.PatchPositions, 0, &e.table)
	e.merger.build(t, 0, model.MergeNorm, model.MergeUp, model.MergeDown)
	e.deep = make([]merger, t.Config.Deep())
	for i := range e.deep {
		e.deep[i].build(t, i, model.DeepNorm, model.DeepUp, model.DeepDown)
	}
	t.finish(func() (err error) {
		if e.table != nil {
			e.positions, err = t.hostFloats(e.table)
		}
		return err
	})
}

func (m *merger) build(t *Tower, n int, norm, up, down model.Part) {
	t.placeNorm(norm, n, &m.norm)
	t.placeProjection(up, n, &m.up)
	t.placeProjection(down, n, &m.down)
}

// embed computes the states of patches.
func (e *mergingEye) embed(s *sight, values *pixels.Values) error {
	if e.table == nil {
		return e.patches.of(s, values, func(*program) {})
	}
	memory := s.scratch()
	defer memory.free()
	positions, err := s.toDevice(memory, e.interpolated(s), s.patches, s.Config.HiddenSize)
	if err != nil {
		return err
	}
	return e.patches.of(s, values, func(p *program) { p.do(&backend.AddAssign{A: s.x, B: positions}) })
}

// interpolated returns the position of each patch, between the rows of the square table: the table's corners are those of the picture. Of a table of 48 rows a
// side, row 10 of 26 is read at 10·47/25 = 18.8: 0.2 of row 18 and 0.8 of row 19.
func (e *mergingEye) interpolated(s *sight) []float32 {
	width, side := s.Config.HiddenSize, 0
	for side*side < s.Config.Positions {
		side++
	}
	type place struct {
		low, high int
		part      float32 // of high
	}
	at := func(i, n int) place {
		if n == 1 {
			return place{}
		}
		low := i * (side - 1) / (n - 1)
		return place{low, min(low+1, side-1), float32(i*(side-1)%(n-1)) / float32(n-1)}
	}
	list := make([]float32, s.patches*width)
	s.positions(func(patch int, v *pixels.View, row, column int) {
		y, x := at(row, v.Rows), at(column, v.Columns)
		to := list[patch*width:][:width]
		for _, corner := range [4]struct {
			row, column int
			part        float32
		}{
			{y.low, x.low, (1 - y.part) * (1 - x.part)}, {y.low, x.high, (1 - y.part) * x.part},
			{y.high, x.low, y.part * (1 - x.part)}, {y.high, x.high, y.part * x.part},
		} {
			for i, p := range e.positions[(corner.row*side+corner.column)*width:][:width] {
				to[i] += float32(p * corner.part)
			}
		}
	})
	return list
}

// order says that the patches of a soft token lie together, and those of a window.
func (e *mergingEye) order(c *model.Tower) patchOrder {
	return patchOrder{group: c.Merge, window: c.Merge * c.Window}
}

// merge computes features: the norm is of each state.
func (e *mergingEye) merge(s *sight) (*tensor.Tensor, error) { return e.merger.of(s, false) }

// deepen computes features of a layer: the norm is of the states of a soft token together.
func (e *mergingEye) deepen(s *sight, k int) (*tensor.Tensor, error) { return e.deep[k].of(s, true) }

// of computes features. It leaves s.x as it is.
func (m *merger) of(s *sight, together bool) (*tensor.Tensor, error) {
	c := s.Config
	tokens, wide := s.patches/(c.Merge*c.Merge), c.HiddenSize*c.Merge*c.Merge
	memory := s.scratch()
	defer memory.free()
	normed, err := memory.allocate(tokens, wide)
	if err != nil {
		return nil, err
	}
	byPatches, err := normed.Reshape(s.patches, c.HiddenSize)
	if err != nil {
		return nil, err
	}
	x, err := s.x.Reshape(tokens, wide)
	if err != nil {
		return nil, err
	}
	up, err := memory.allocate(tokens, wide)
	if err != nil {
		return nil, err
	}
	out, err := memory.allocate(tokens, c.Out)
	if err != nil {
		return nil, err
	}
	if err := s.program([]*tensor.Tensor{normed}, func(p *program) {
		if together {
			m.norm.of(p, x, normed)
		} else {
			m.norm.of(p, s.x, byPatches)
		}
		p.project(normed, []*tensor.Tensor{up}, &m.up)
		p.do(&backend.GELUErf{A: up})
		s.pause(p)
		p.project(up, []*tensor.Tensor{out}, &m.down)
	}); err != nil {
		return nil, err
	}
	return s.features(out)
}
