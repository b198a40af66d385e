package backendtest

import (
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// streamChecks are those of operations between residual streams.
func streamChecks() []Check {
	shapes := [][]int{{1, 1}, {1, 7}, {3, 33}, {2, 256}, {17, 100}, {1, 2048}}
	checks := rowChecks("AddScaled", shapes, oneRow, addScaled)
	checks = append(checks, rowChecks("MatchMagnitude", shapes, oneRow, matchMagnitude)...)
	return append(checks, rowChecks("CutOff", shapes, oneRow, cutOff)...)
}

func addScaled(g generator, dims []int, in input) *trial {
	x, y, w := g.floats(in, elements(dims)), g.floats(in, elements(dims)), g.floats(random, 3*dims[0])
	magnitude := func([]float32) []float64 {
		result := make([]float64, len(x))
		for i := range x {
			by := math.Abs(float64(w[i/dims[1]*3+2])) + 1
			result[i] = math.Abs(float64(x[i])) + by*math.Abs(float64(y[i]))
		}
		return result
	}
	return &trial{
		operands: []operand{
			f32("x", update, x, dims...).within(limit{tolerance: single, magnitude: magnitude}), f32("y", reading, y, dims...), f32("weights", reading, w, dims[0], 3),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			return b.Run(&backend.AddScaled{X: t[0], Y: t[1], Weights: t[2], At: 2, Plus: 1})
		},
	}
}

func matchMagnitude(g generator, dims []int, in input) *trial {
	return &trial{
		operands: []operand{
			f32("x", update, g.floats(in, elements(dims)), dims...).within(limit{tolerance: single}), f32("like", reading, g.floats(random, elements(dims)), dims...),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			return b.Run(&backend.MatchMagnitude{X: t[0], Like: t[1], Least: 1e-5})
		},
	}
}

func cutOff(g generator, dims []int, in input) *trial {
	x := g.floats(in, elements(dims))
	magnitude := func([]float32) []float64 { // of the largest element of the row
		result := make([]float64, len(x))
		for row := range dims[0] {
			most := 0.0
			for _, v := range x[row*dims[1]:][:dims[1]] {
				most = max(most, math.Abs(float64(v)))
			}
			copy(result[row*dims[1]:], slices.Repeat([]float64{most}, dims[1]))
		}
		return result
	}
	return &trial{
		operands: []operand{f32("a", update, x, dims...).within(limit{tolerance: single, magnitude: magnitude})},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			return b.Run(&backend.CutOff{A: t[0], Deviations: 0.75})
		},
	}
}
