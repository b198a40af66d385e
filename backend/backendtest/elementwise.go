package backendtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// The checks of operations on elements and rows. A builder makes the operands of one shape and one kind of values, with the limit of errors
// that a device may have. rowChecks applies it to all shapes with random values, and to one shape with unusual ones. For Softcap:
//
//	{Operation: "Softcap", Shape: "[1]", random values}, … "[1 128256]"
//	{Operation: "Softcap", Shape: "[5 333]", zeros}, and so on for large, tiny, negative and equal values

// rowShapes are those of activations: single elements, odd rows, Llama's rows, heads, and a row of scores.
func rowShapes(quick bool) [][]int {
	return upTo(quick, [][]int{{1}, {1, 1}, {1, 7}, {3, 33}, {2, 256}, {17, 100}, {3, 4, 32}, {1, 2048}, {5, 3072}, {1, 128256}},
		[]int{512, 2048}, []int{100, 8192}, []int{3, 128256})
}

// oneRow is the shape that unusual values get.
var oneRow = []int{5, 333}

// elements returns the number of elements of a shape.
func elements(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// rowChecks makes checks over all shapes with random values, and over one shape with the others.
func rowChecks(operation string, shapes [][]int, one []int, build func(g generator, dims []int, in input) *trial) (checks []Check) {
	add := func(dims []int, in input) {
		checks = append(checks, Check{Operation: operation, Type: "f32", Shape: fmt.Sprint(dims), Input: in.name,
			build: func(g generator) *trial { return build(g, dims, in) }})
	}
	for _, dims := range shapes {
		add(dims, random)
	}
	for _, in := range inputs[1:] {
		add(one, in)
	}
	return checks
}

func elementwiseChecks(quick bool) (checks []Check) {
	shapes := rowShapes(quick)
	checks = append(checks, rowChecks("AddAssign", shapes, oneRow, addAssign)...)
	for _, c := range rowChecks("AddAssign", shapes, oneRow, addRow) {
		c.Shape += " + one row"
		checks = append(checks, c)
	}
	checks = append(checks, rowChecks("Scale", shapes, oneRow, scale)...)
	checks = append(checks, rowChecks("SiLUMul", shapes, oneRow, gateMul(siluMul))...)
	checks = append(checks, rowChecks("GELUMul", shapes, oneRow, gateMul(geluMul))...)
	checks = append(checks, rowChecks("GELUErf", shapes, oneRow, gateMul(geluErfMul))...)
	for _, c := range rowChecks("SiLUMul", shapes, oneRow, gateAlone(siluMul)) {
		c.Shape += " alone"
		checks = append(checks, c)
	}
	for _, c := range rowChecks("GELUMul", shapes, oneRow, gateAlone(geluMul)) {
		c.Shape += " alone"
		checks = append(checks, c)
	}
	for _, c := range rowChecks("GELUErf", shapes, oneRow, geluErf) {
		c.Shape += " alone"
		checks = append(checks, c)
	}
	checks = append(checks, rowChecks("ReLUSquared", shapes, oneRow, reluSquared)...)
	checks = append(checks, streamChecks()...)
	checks = append(checks, rowChecks("XIELU", shapes, oneRow, xielu)...)
	checks = append(checks, rowChecks("LayerNorm", shapes, oneRow, layerNorm(true))...)
	for _, c := range rowChecks("LayerNorm", shapes, oneRow, layerNorm(false)) {
		c.Shape += " without a bias"
		checks = append(checks, c)
	}
	for _, c := range rowChecks("LayerNorm", [][]int{{3, 33}, {3, 4, 32}}, oneRow, layerNormTo) {
		c.Shape += " to another tensor"
		checks = append(checks, c)
	}
	checks = append(checks, rowChecks("Clamp", shapes, oneRow, clamp(false))...)
	for _, c := range rowChecks("Clamp", [][]int{{3, 33}, {3, 4, 32}}, oneRow, clamp(true)) {
		c.Shape += " to another tensor"
		checks = append(checks, c)
	}
	checks = append(checks, rowChecks("Softcap", shapes, oneRow, softcap)...)
	checks = append(checks, rowChecks("RMSNorm", shapes, oneRow, rmsNorm(false))...)
	for _, c := range rowChecks("RMSNorm", [][]int{{3, 33}, {3, 4, 32}}, oneRow, rmsNorm(true)) {
		c.Shape += " to another tensor"
		checks = append(checks, c)
	}
	checks = append(checks, rowChecks("Softmax", shapes, oneRow, softmax)...)
	heads := upTo(quick, [][]int{{1, 1, 2}, {1, 3, 6}, {1, 32, 64}, {7, 4, 32}, {3, 24, 128}}, []int{512, 8, 64}, []int{100, 24, 128})
	return append(checks, rowChecks("RoPE", heads, []int{3, 2, 64}, rope)...)
}

// absoluteSum is the magnitude of a sum of two operands.
func absoluteSum(x, y []float32) func([]float32) []float64 {
	return func([]float32) []float64 {
		result := make([]float64, len(x))
		for i := range x {
			result[i] = math.Abs(float64(x[i])) + math.Abs(float64(y[i%len(y)]))
		}
		return result
	}
}

func addAssign(g generator, dims []int, in input) *trial { return add(g, dims, dims, in) }

func addRow(g generator, dims []int, in input) *trial { return add(g, dims, dims[len(dims)-1:], in) }

func add(g generator, dims, addend []int, in input) *trial {
	x, y := g.floats(in, elements(dims)), g.floats(in, elements(addend))
	return &trial{
		operands: []operand{
			f32("a", update, x, dims...).within(limit{tolerance: single, magnitude: absoluteSum(x, y)}),
			f32("b", reading, y, addend...),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error { return b.Run(&backend.AddAssign{A: t[0], B: t[1]}) },
	}
}

func scale(g generator, dims []int, in input) *trial {
	return &trial{
		operands: []operand{f32("x", update, g.floats(in, elements(dims)), dims...).within(limit{tolerance: single})},
		do:       func(b backend.Backend, t []*tensor.Tensor) error { return b.Run(&backend.Scale{X: t[0], By: -0.3}) },
	}
}

func reluSquared(g generator, dims []int, in input) *trial {
	return &trial{
		operands: []operand{f32("a", update, g.floats(in, elements(dims)), dims...).within(limit{tolerance: single})},
		do:       func(b backend.Backend, t []*tensor.Tensor) error { return b.Run(&backend.ReLUSquared{A: t[0]}) },
	}
}

func xielu(g generator, dims []int, in input) *trial {
	x := g.floats(in, elements(dims))
	magnitude := func([]float32) []float64 {
		result := make([]float64, len(x))
		for i, v := range x {
			size := math.Abs(float64(v))
			result[i] = size + size*size + 1
		}
		return result
	}
	return &trial{
		operands: []operand{f32("a", update, x, dims...).within(limit{tolerance: exponents, magnitude: magnitude})},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			return b.Run(&backend.XIELU{A: t[0], Positive: 1.25, Negative: 0.75, Linear: 0.5, Floor: -1e-6})
		},
	}
}

// clamp makes trials in place, or to another tensor.
func clamp(apart bool) func(g generator, dims []int, in input) *trial {
	return func(g generator, dims []int, in input) *trial {
		x := g.floats(in, elements(dims))
		if !apart {
			return &trial{
				operands: []operand{f32("x", update, x, dims...)},
				do: func(b backend.Backend, t []*tensor.Tensor) error {
					return b.Run(&backend.Clamp{X: t[0], Out: t[0], Min: -0.5, Max: 0.75})
				},
			}
		}
		return &trial{
			operands: []operand{f32("out", update, g.floats(in, elements(dims)), dims...), f32("x", reading, x, dims...)},
			do: func(b backend.Backend, t []*tensor.Tensor) error {
				return b.Run(&backend.Clamp{X: t[1], Out: t[0], Min: -0.5, Max: 0.75})
			},
		}
	}
}

func softcap(g generator, dims []int, in input) *trial {
	const most = 3
	return &trial{
		operands: []operand{f32("x", update, g.floats(in, elements(dims)), dims...).within(limit{tolerance: exponents, magnitude: func(want []float32) []float64 {
			return slices.Repeat([]float64{most}, len(want))
		}})},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			return b.Run(&backend.Softcap{X: t[0], Limit: most})
		},
	}
}

// The operations that compute a = act(a)·b.
func siluMul(a, b *tensor.Tensor) backend.Op    { return &backend.SiLUMul{A: a, B: b} }
func geluMul(a, b *tensor.Tensor) backend.Op    { return &backend.GELUMul{A: a, B: b} }
func geluErfMul(a, b *tensor.Tensor) backend.Op { return &backend.GELUErf{A: a, B: b} }
func sigmoidMul(a, b *tensor.Tensor) backend.Op { return &backend.SigmoidMul{A: a, B: b} }

// gateMul makes trials of such an operation.
func gateMul(op func(a, b *tensor.Tensor) backend.Op) func(g generator, dims []int, in input) *trial {
	return func(g generator, dims []int, in input) *trial { return gated(g, dims, in, op) }
}

func gated(g generator, dims []int, in input, op func(a, b *tensor.Tensor) backend.Op) *trial {
	x, y := g.floats(in, elements(dims)), g.floats(in, elements(dims))
	magnitude := func(want []float32) []float64 {
		result := make([]float64, len(want))
		for i, v := range want {
			// Far below 0 the exponential is limited to some smallest or largest number, and which is the device's affair.
			result[i] = math.Abs(float64(v)) + 0x1p-100*math.Abs(float64(x[i])*float64(y[i]))
		}
		return result
	}
	return &trial{
		operands: []operand{
			f32("a", update, x, dims...).within(limit{tolerance: exponents, magnitude: magnitude}), f32("b", reading, y, dims...),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error { return b.Run(op(t[0], t[1])) },
	}
}

// rmsNorm makes trials of RMSNorm in place, or to another tensor.
func rmsNorm(elsewhere bool) func(g generator, dims []int, in input) *trial {
	return func(g generator, dims []int, in input) *trial {
		dim, t := dims[len(dims)-1], &trial{}
		t.operands = []operand{
			f32("x", update, g.floats(in, elements(dims)), dims...).within(limit{tolerance: single}),
			f32("w", reading, g.floats(random, dim), dim),
		}
		t.do = func(b backend.Backend, t []*tensor.Tensor) error {
			op := &backend.RMSNorm{X: t[0], W: t[1], Eps: epsilon}
			if elsewhere {
				op.Out = t[2]
			}
			return b.Run(op)
		}
		if elsewhere {
			t.toAnother()
		}
		return t
	}
}

// layerNormTo makes trials of LayerNorm to another tensor.
func layerNormTo(g generator, dims []int, in input) *trial {
	t := layerNorm(true)(g, dims, in)
	t.do = func(b backend.Backend, t []*tensor.Tensor) error {
		return b.Run(&backend.LayerNorm{X: t[0], W: t[1], B: t[2], Eps: epsilon, Out: t[3]})
	}
	t.toAnother()
	return t
}

// toAnother makes the first operand, which was updated, one that is only read, and appends an output like it.
func (t *trial) toAnother() {
	x := &t.operands[0]
	out := blank("out", output, x.dims...).within(x.limit)
	x.role = reading
	t.operands = append(t.operands, out)
}

// geluErf makes trials of GELUErf without a second operand.
func geluErf(g generator, dims []int, in input) *trial {
	x := g.floats(in, elements(dims))
	magnitude := func([]float32) []float64 {
		result := make([]float64, len(x))
		for i, v := range x {
			result[i] = math.Abs(float64(v))
		}
		return result
	}
	return &trial{
		operands: []operand{f32("a", update, x, dims...).within(limit{tolerance: exponents, magnitude: magnitude})},
		do:       func(b backend.Backend, t []*tensor.Tensor) error { return b.Run(&backend.GELUErf{A: t[0]}) },
	}
}

// layerNorm makes trials of LayerNorm with a bias, or without.
func layerNorm(biased bool) func(g generator, dims []int, in input) *trial {
	return func(g generator, dims []int, in input) *trial {
		dim := dims[len(dims)-1]
		x, w, bias := g.floats(in, elements(dims)), g.floats(random, dim), g.floats(random, dim)
		magnitude := func([]float32) []float64 { // errors of the mean are in proportion to the row's largest element
			result := make([]float64, len(x))
			for first := 0; first < len(x); first += dim {
				row := x[first : first+dim]
				mean, largest, squares := 0.0, 0.0, 0.0
				for _, v := range row {
					mean, largest = mean+float64(v)/float64(dim), max(largest, math.Abs(float64(v)))
				}
				for _, v := range row {
					squares += (float64(v) - mean) * (float64(v) - mean)
				}
				for i := range row {
					result[first+i] = (2+math.Sqrt(float64(dim)))*largest/math.Sqrt(squares/float64(dim)+epsilon)*(math.Abs(float64(w[i]))+1) + math.Abs(float64(bias[i]))
				}
			}
			return result
		}
		t := &trial{operands: []operand{
			f32("x", update, x, dims...).within(limit{tolerance: single, magnitude: magnitude}), f32("w", reading, w, dim), f32("b", reading, bias, dim),
		}}
		t.do = func(b backend.Backend, t []*tensor.Tensor) error {
			if biased {
				return b.Run(&backend.LayerNorm{X: t[0], W: t[1], B: t[2], Eps: epsilon})
			}
			return b.Run(&backend.LayerNorm{X: t[0], W: t[1], Eps: epsilon})
		}
		return t
	}
}

func softmax(g generator, dims []int, in input) *trial {
	return &trial{
		operands: []operand{
			f32("x", update, g.floats(in, elements(dims)), dims...).within(limit{
				tolerance: exponents, magnitude: rowMaxima(dims[len(dims)-1]),
			}),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error { return b.Run(&backend.Softmax{X: t[0]}) },
	}
}

func rope(g generator, dims []int, in input) *trial {
	table, x := g.angles(dims[0], dims[2]), g.floats(in, elements(dims))
	return &trial{
		operands: []operand{
			f32("x", update, x, dims...).within(limit{tolerance: single, magnitude: pairLengths(x, dims[2])}),
			f32("table", reading, table, dims[0], dims[2]),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error { return b.Run(&backend.RoPE{X: t[0], Table: t[1]}) },
	}
}

// angles returns a table of the cosines and sines of any angles, [tokens, dim].
func (g generator) angles(tokens, dim int) []float32 {
	table := make([]float32, tokens*dim)
	for token := range tokens {
		for i := range dim / 2 {
			sin, cos := math.Sincos(g.Float64() * 2 * math.Pi)
			table[token*dim+i], table[token*dim+dim/2+i] = float32(cos), float32(sin)
		}
	}
	return table
}

// pairLengths is the magnitude of what a rotation of heads of dim elements makes of x: the length of the pair that is rotated.
func pairLengths(x []float32, dim int) func([]float32) []float64 {
	return func([]float32) []float64 {
		result := make([]float64, len(x))
		for i := range x {
			partner := i/dim*dim + (i%dim+dim/2)%dim
			result[i] = math.Hypot(float64(x[i]), float64(x[partner]))
		}
		return result
	}
}
