package backendtest

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// The checks of recurrent layers: elementwise operations, convolutions with states, and recurrences with states. Rows of several stretches
// stand in one operand; each stretch has a state. The filter {4, 40, [3 1 2 9], biased} becomes a trial of Convolve with
//
//	w [4 40], b [40]
//	four states [3 40], which the operation updates
//	x [15 40], out [15 40]: rows 0 to 2, row 3, rows 4 and 5, and rows 6 to 14 are the stretches

// gateChecks checks the elementwise operations of recurrent layers.
func gateChecks(quick bool) (checks []Check) {
	shapes := rowShapes(quick)
	add := func(more []Check, suffix string) {
		for _, c := range more {
			c.Shape += suffix
			checks = append(checks, c)
		}
	}
	add(rowChecks("MulAssign", shapes, oneRow, mulAssign(false)), "")
	add(rowChecks("MulAssign", shapes, oneRow, mulAssign(true)), " · one row")
	add(rowChecks("SigmoidMul", shapes, oneRow, gateMul(sigmoidMul)), "")
	add(rowChecks("SigmoidMul", shapes, oneRow, gateAlone(sigmoidMul)), " alone")
	add(rowChecks("Softplus", shapes, oneRow, softplus(true)), "")
	add(rowChecks("Softplus", shapes, oneRow, softplus(false)), " without a bias")
	return checks
}

// mulAssign makes trials of MulAssign with a second operand of the first one's shape, or of one row.
func mulAssign(row bool) func(g generator, dims []int, in input) *trial {
	return func(g generator, dims []int, in input) *trial {
		factor := dims
		if row {
			factor = dims[len(dims)-1:]
		}
		return &trial{
			operands: []operand{
				f32("a", update, g.floats(in, elements(dims)), dims...).within(limit{tolerance: single}),
				f32("b", reading, g.floats(in, elements(factor)), factor...),
			},
			do: func(b backend.Backend, t []*tensor.Tensor) error { return b.Run(&backend.MulAssign{A: t[0], B: t[1]}) },
		}
	}
}

// gateAlone makes trials of an operation a = act(a)·b without a b.
func gateAlone(op func(a, b *tensor.Tensor) backend.Op) func(g generator, dims []int, in input) *trial {
	return func(g generator, dims []int, in input) *trial {
		return gated(g, dims, in, func(a, _ *tensor.Tensor) backend.Op { return op(a, nil) })
	}
}

// softplus makes trials of Softplus with a bias, or without.
func softplus(biased bool) func(g generator, dims []int, in input) *trial {
	return func(g generator, dims []int, in input) *trial {
		dim := dims[len(dims)-1]
		magnitude := func(want []float32) []float64 {
			result := make([]float64, len(want))
			for i, v := range want {
				result[i] = math.Abs(float64(v)) + 0x1p-100 // far below 0 the exponential is limited to some smallest number
			}
			return result
		}
		t := &trial{operands: []operand{
			f32("a", update, g.floats(in, elements(dims)), dims...).within(limit{tolerance: exponents, magnitude: magnitude}),
			f32("bias", reading, g.floats(random, dim), dim),
		}}
		t.do = func(b backend.Backend, t []*tensor.Tensor) error {
			if biased {
				return b.Run(&backend.Softplus{A: t[0], Bias: t[1]})
			}
			return b.Run(&backend.Softplus{A: t[0]})
		}
		return t
	}
}

// filter is the shape of a convolution. Several stretches of rows go through it together, each with a state of its own.
type filter struct {
	width, channels int
	rows            []int // of each stretch
	biased          bool
	inPlace         bool
}

// filters are of all usual widths, with stretches shorter and longer than these, and channels that fill strips and do not.
func filters(quick bool) []filter {
	return upTo(quick, []filter{
		{2, 1, []int{1}, false, false}, {3, 64, []int{1}, false, false}, {4, 33, []int{1}, true, false}, {4, 100, []int{5}, false, true},
		{4, 40, []int{3, 1, 2, 9}, true, false}, {3, 17, []int{1, 1, 4}, true, true}, {5, 70, []int{2, 8}, true, true}, {7, 16, []int{3, 20}, false, false},
		{4, 33, []int{1, 2, 1, 1, 3, 1, 1, 1, 4, 1, 1}, true, true}, {4, 2100, []int{1, 6}, false, false}, {4, 6144, []int{1}, false, true},
	}, filter{4, 6144, []int{512}, false, true}, filter{4, 8192, []int{1, 1, 1, 1, 100, 1}, true, false})
}

// convolveChecks checks Convolve.
func convolveChecks(quick bool) (checks []Check) {
	add := func(f filter, in input) {
		checks = append(checks, Check{Operation: "Convolve", Type: "f32", Shape: fmt.Sprint(f), Input: in.name,
			build: func(g generator) *trial { return f.trial(g, in) }})
	}
	for _, f := range filters(quick) {
		add(f, random)
	}
	for _, in := range inputs[1:] {
		add(filter{4, 33, []int{2, 7}, true, false}, in)
	}
	return checks
}

// trial makes a trial of the filter.
func (f filter) trial(g generator, in input) *trial {
	rows := 0
	for _, n := range f.rows {
		rows += n
	}
	x, w := g.floats(in, rows*f.channels), g.floats(random, f.width*f.channels)
	largest := 0.0
	for _, v := range x {
		largest = max(largest, math.Abs(float64(v)))
	}
	operands := []operand{
		f32("w", reading, w, f.width, f.channels), f32("b", reading, g.floats(random, f.channels), f.channels),
	}
	states := len(operands)
	for range f.rows {
		state := g.floats(in, (f.width-1)*f.channels)
		for _, v := range state {
			largest = max(largest, math.Abs(float64(v)))
		}
		operands = append(operands, f32("state", update, state, f.width-1, f.channels))
	}
	sums := limit{tolerance: single, magnitude: func(want []float32) []float64 {
		result := make([]float64, len(want))
		for i := range result {
			for j := range f.width {
				result[i] += largest * math.Abs(float64(w[j*f.channels+i%f.channels]))
			}
			result[i] += 4 // of the bias
		}
		return result
	}}
	from := len(operands)
	to := from
	if f.inPlace {
		operands = append(operands, f32("x", update, x, rows, f.channels).within(sums))
	} else {
		to++
		operands = append(operands, f32("x", reading, x, rows, f.channels), blank("out", output, rows, f.channels).within(sums))
	}
	return &trial{operands: operands, do: func(b backend.Backend, t []*tensor.Tensor) error {
		bias := t[1]
		if !f.biased {
			bias = nil
		}
		return b.Run(&backend.Convolve{X: t[from], W: t[0], B: bias, Out: t[to], Of: stretches(f.rows, t[states:from])})
	}}
}

// stretches returns stretches of rows with states.
func stretches(rows []int, states []*tensor.Tensor) (of []backend.Stretch) {
	for i, n := range rows {
		of = append(of, backend.Stretch{State: states[i], Rows: n})
	}
	return of
}

// recurrence is the shape of a layer with states. Several stretches of rows pass through it together, each with a state of its own.
type recurrence struct {
	keyHeads, heads, dk, dv int
	rows                    []int // of each stretch
	delta                   bool
}

// recurrences have stretches of one row and of more than a kernel takes at a time, blocks of columns that are not whole, keys of any length,
// and the heads of Qwen 3.5 and of Mamba 2.
func recurrences(quick bool) []recurrence {
	return upTo(quick, []recurrence{
		{1, 1, 1, 1, []int{1}, true}, {1, 1, 4, 16, []int{3}, true}, {2, 4, 32, 32, []int{1}, true}, {2, 4, 32, 32, []int{5}, false},
		{1, 3, 7, 40, []int{2, 1, 4}, true}, {1, 8, 16, 16, []int{1, 1, 9}, false}, {3, 3, 13, 5, []int{70}, true}, {2, 2, 128, 128, []int{1, 66}, true},
		{1, 2, 16, 16, []int{1, 2, 1, 1, 3, 1, 1, 1, 4, 1, 1}, true}, {1, 4, 128, 64, []int{1, 3, 1}, false}, {16, 16, 128, 128, []int{1}, true}, {1, 1, 256, 24, []int{6}, true},
	}, recurrence{16, 32, 128, 128, []int{1, 1, 1, 100, 1, 1}, true}, recurrence{1, 48, 128, 64, []int{200}, false})
}

// recurChecks checks Recur.
func recurChecks(quick bool) (checks []Check) {
	add := func(r recurrence, in input) {
		checks = append(checks, Check{Operation: "Recur", Type: "f32", Shape: fmt.Sprint(r), Input: in.name,
			build: func(g generator) *trial { return r.trial(g, in) }})
	}
	for _, r := range recurrences(quick) {
		add(r, random)
	}
	for _, in := range inputs[1:] {
		add(recurrence{2, 4, 36, 40, []int{3, 1}, true}, in)
		add(recurrence{2, 4, 36, 40, []int{3, 1}, false}, in)
	}
	return checks
}

// trial makes a trial of the recurrence. Keys have about unit length, decays and betas lie between 0 and 1, as in layers.
func (r recurrence) trial(g generator, in input) *trial {
	rows := 0
	for _, n := range r.rows {
		rows += n
	}
	unit := input{value: times(1 / math.Sqrt(float64(r.dk)))}
	beta := g.floats(random, rows*r.heads)
	for i, v := range beta {
		beta[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
	// A sum's error is in proportion to the largest numbers that have gone into the state.
	whole := limit{tolerance: exponents, magnitude: func(want []float32) []float64 { return rowMaxima(len(want))(want) }}
	operands := []operand{
		f32("q", reading, g.floats(unit, rows*r.keyHeads*r.dk), rows, r.keyHeads, r.dk),
		f32("k", reading, g.floats(unit, rows*r.keyHeads*r.dk), rows, r.keyHeads, r.dk),
		f32("v", reading, g.floats(in, rows*r.heads*r.dv), rows, r.heads, r.dv),
		f32("g", reading, g.floats(negative, rows*r.heads), rows, r.heads),
		f32("beta", reading, beta, rows, r.heads),
		blank("out", output, rows, r.heads, r.dv).within(whole),
	}
	states := len(operands)
	shape := backend.StateShape(r.heads, r.dk, r.dv)
	for range r.rows {
		o := f32("state", update, g.floats(in, shape.NumElements()), shape.Dim(0), shape.Dim(1), shape.Dim(2), shape.Dim(3)).within(whole)
		operands = append(operands, o)
	}
	return &trial{operands: operands, do: func(b backend.Backend, t []*tensor.Tensor) error {
		return b.Run(&backend.Recur{Q: t[0], K: t[1], V: t[2], G: t[3], Beta: t[4], Out: t[5], Delta: r.delta, Of: stretches(r.rows, t[states:])})
	}}
}
