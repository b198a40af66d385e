package engine

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/tensor"
)

// poolingEye is Gemma 4's: patches come row by row, and the mean of the states of Merge×Merge patches becomes a soft token.
//
//	x = (2·patch − 1)·weightᵀ + columns[column] + rows[row]
//	feature = norm((mean·√hidden − bias)·scale)·weightᵀ        bias and scale if the tower has them; the norm has no weights
type poolingEye struct {
	patches             projection
	tables              positionTables
	bias, scale         *tensor.Tensor // [hidden]; nil: the tower has no such tensors
	biasList, scaleList []float32      // on the host
	features            projection     // [hidden of the model of text, hidden]
}

// build makes the eye without its tensors.
func (e *poolingEye) build(t *Tower) {
	t.placeProjection(model.PatchEmbedding, 0, &e.patches)
	t.placeProjection(model.MergeDown, 0, &e.features)
	t.place(model.StandardBias, 0, &e.bias)
	t.place(model.StandardScale, 0, &e.scale)
	e.tables.build(t)
	t.finish(func() (err error) {
		if e.bias == nil {
			return nil
		}
		if e.biasList, err = t.hostFloats(e.bias); err != nil {
			return err
		}
		e.scaleList, err = t.hostFloats(e.scale)
		return err
	})
}

// embed computes the states of patches.
func (e *poolingEye) embed(s *sight, values *pixels.Values) error {
	signed := make([]float32, len(values.Pixels))
	for i, v := range values.Pixels {
		signed[i] = 2 * (v - 0.5)
	}
	memory := s.scratch()
	defer memory.free()
	patches, err := s.toDevice(memory, signed, s.patches, s.Config.Patch)
	if err != nil {
		return err
	}
	positions, err := e.tables.of(s, memory)
	if err != nil {
		return err
	}
	return s.program(nil, func(p *program) {
		p.project(patches, []*tensor.Tensor{s.x}, &e.patches)
		p.do(&backend.AddAssign{A: s.x, B: positions})
	})
}

// order says that patches come row by row, and that the first half of a head turns by the column.
func (e *poolingEye) order(*model.Tower) patchOrder { return patchOrder{group: 1, columnsFirst: true} }

// merge computes features of means.
func (e *poolingEye) merge(s *sight) (*tensor.Tensor, error) {
	states := make([]float32, s.x.Shape().NumElements())
	if err := backend.ReadFloats(s.device, s.x, states); err != nil {
		return nil, err
	}
	return s.projected(e.pool(s, states), &e.features)
}

// pool returns the means of the states of Merge×Merge patches, as they are projected.
func (e *poolingEye) pool(s *sight, states []float32) (means []float32) {
	c := s.Config
	width, root, many := c.HiddenSize, float32(math.Sqrt(float64(c.HiddenSize))), float32(c.Merge*c.Merge)
	for i := range s.views {
		v := &s.views[i]
		for top := 0; top+c.Merge <= v.Rows; top += c.Merge {
			for left := 0; left+c.Merge <= v.Columns; left += c.Merge {
				at := len(means)
				means = append(means, make([]float32, width)...)
				mean := means[at:]
				for y := range c.Merge {
					for x := range c.Merge {
						for j, state := range states[((top+y)*v.Columns+left+x)*width:][:width] {
							mean[j] += state
						}
					}
				}
				for j := range mean {
					mean[j] = float32(mean[j] / many * root) // the conversion keeps processors from fusing
					if e.biasList != nil {
						mean[j] = float32(mean[j]-e.biasList[j]) * e.scaleList[j]
					}
				}
			}
		}
		states = states[v.Rows*v.Columns*width:]
	}
	return means
}

// deepen is never called: no such tower has features of other layers.
func (e *poolingEye) deepen(*sight, int) (*tensor.Tensor, error) { return nil, errNotDeep }

// projected returns norm(x)·weightᵀ of rows x [rows, hidden] on the host, with a norm without weights.
func (s *sight) projected(x []float32, to *projection) (*tensor.Tensor, error) {
	c := s.Config
	memory := s.scratch()
	defer memory.free()
	rows := len(x) / c.HiddenSize
	in, err := s.toDevice(memory, x, rows, c.HiddenSize)
	if err != nil {
		return nil, err
	}
	ones, err := memory.allocateConstant(c.HiddenSize, 1)
	if err != nil {
		return nil, err
	}
	out, err := memory.allocate(rows, c.Out)
	if err != nil {
		return nil, err
	}
	if err := s.program(nil, func(p *program) {
		p.do(&backend.RMSNorm{X: in, W: ones, Eps: c.Eps})
		p.project(in, []*tensor.Tensor{out}, to)
	}); err != nil {
		return nil, err
	}
	return s.features(out)
}

// positionTables are two tables of learned positions: a patch gets the sum of a row for its column, and of one for its row.
type positionTables struct {
	table *tensor.Tensor // [2·positions, hidden]: those of columns, then those of rows
	list  []float32      // on the host
}

func (t *positionTables) build(of *Tower) {
	of.place(model.PatchPositions, 0, &t.table)
	of.finish(func() (err error) {
		t.list, err = of.hostFloats(t.table)
		return err
	})
}

// of returns the positions of a picture's patches, which come row by row, in an arena's memory.
func (t *positionTables) of(s *sight, memory *arena) (*tensor.Tensor, error) {
	c := s.Config
	for i := range s.views {
		if v := &s.views[i]; max(v.Rows, v.Columns) > c.Positions {
			return nil, fmt.Errorf("a picture of %d×%d patches, and the tower has positions for %d: a smaller number of soft tokens would be right", v.Columns, v.Rows, c.Positions)
		}
	}
	width := c.HiddenSize
	list := make([]float32, s.patches*width)
	s.positions(func(patch int, _ *pixels.View, row, column int) {
		to := list[patch*width:][:width]
		byRow := t.list[(c.Positions+row)*width:]
		for i, p := range t.list[column*width:][:width] {
			to[i] = p + byRow[i]
		}
	})
	return s.toDevice(memory, list, s.patches, width)
}
