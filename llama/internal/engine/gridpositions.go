package engine

import (
	"math"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// gridPositions is a square table of learned positions, which covers a picture whatever its size: a table of 16×16 rows is shrunk or stretched to a picture of
// 24×10 patches as a picture is, bilinearly and with antialiasing. To a picture of 16×16 patches it is as it stands.
//
//	16 → 10   a row is a mean of 3 or 4 rows, with weights that fall off to 0 at a distance of 1.6
//	16 → 24   a row lies between 2 rows
type gridPositions struct {
	table *tensor.Tensor // [side·side, hidden]
	list  []float32      // on the host; nil: there is no table
	side  int
}

func (g *gridPositions) build(t *Tower) {
	t.place(model.PatchPositions, 0, &g.table)
	t.finish(func() (err error) {
		if g.table == nil {
			return nil
		}
		for g.side*g.side < t.Config.Positions {
			g.side++
		}
		g.list, err = t.hostFloats(g.table)
		return err
	})
}

// of returns the positions of a picture's patches, which come row by row.
func (g *gridPositions) of(s *sight) []float32 {
	width := s.Config.HiddenSize
	list := make([]float32, 0, s.patches*width)
	shapes := map[[2]int][]float32{} // tiles have one shape
	for i := range s.views {
		v := &s.views[i]
		shape := [2]int{v.Rows, v.Columns}
		if shapes[shape] == nil {
			shapes[shape] = g.resized(v.Rows, v.Columns, width)
		}
		list = append(list, shapes[shape]...)
	}
	return list
}

// resized returns the table with other numbers of rows and columns.
func (g *gridPositions) resized(rows, columns, width int) []float32 {
	if rows == g.side && columns == g.side {
		return g.list
	}
	wide := make([]float32, g.side*columns*width) // columns are resized first
	for x, taps := range tapsOf(g.side, columns) {
		for y := range g.side {
			to := wide[(y*columns+x)*width:][:width]
			for i, weight := range taps.weights {
				addWeighted(to, g.list[(y*g.side+taps.first+i)*width:], weight)
			}
		}
	}
	list := make([]float32, rows*columns*width)
	for y, taps := range tapsOf(g.side, rows) {
		to := list[y*columns*width:][:columns*width]
		for i, weight := range taps.weights {
			addWeighted(to, wide[(taps.first+i)*columns*width:], weight)
		}
	}
	return list
}

// addWeighted computes to += weight·from.
func addWeighted(to, from []float32, weight float32) {
	for i := range to {
		to[i] += float32(weight * from[i]) // the conversion keeps processors from fusing
	}
}

// taps are the neighbouring rows that one row is a sum of.
type taps struct {
	first   int
	weights []float32
}

// tapsOf returns, for each of out rows, those of in rows that it is a sum of. Each operation in float64 is rounded on its own.
func tapsOf(in, out int) []taps {
	list := make([]taps, out)
	scale := float64(in) / float64(out)
	wide := max(scale, 1) // a triangle's half
	for i := range list {
		centre := float64(scale * (float64(i) + 0.5))
		first, end := max(int(centre-wide+0.5), 0), min(int(centre+wide+0.5), in)
		weights, sum := make([]float64, end-first), 0.0
		for j := range weights {
			distance := float64(math.Abs(float64(first+j)-centre+0.5) / wide)
			weights[j] = max(1-distance, 0)
			sum += weights[j]
		}
		list[i] = taps{first, make([]float32, len(weights))}
		for j, w := range weights {
			list[i].weights[j] = float32(w / sum)
		}
	}
	return list
}
