package backendtest

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// product is the shape of a product [m, k]·[n, k]ᵀ; k is rounded up to whole blocks.
type product struct{ m, n, k int }

// Small products: single elements, odd sizes, tails of panels and tiles; and those of Llama 3.2 with 1 and 3 billion
// parameters, for one token, a few, and a chunk of a prompt.
var (
	smallProducts = []product{
		{1, 1, 1}, {1, 5, 33}, {2, 16, 64}, {3, 33, 100}, {4, 64, 256}, {5, 80, 288}, {17, 48, 512}, {33, 31, 768}, {1, 257, 2048},
	}
	llamaProducts = []product{
		{1, 2048, 2048}, {1, 512, 2048}, {1, 8192, 2048}, {1, 2048, 8192}, {1, 3072, 3072}, {1, 3072, 8192},
		{7, 512, 2048}, {16, 2048, 2048}, {100, 1024, 2048}, {512, 256, 2048},
	}
	vocabulary = product{1, 128256, 256} // many rows, as a head has
)

func (p product) of(d tensor.DType) product { return product{p.m, p.n, whole(p.k, d)} }

func (p product) String() string { return fmt.Sprintf("[%d %d]·[%d %d]ᵀ", p.m, p.k, p.n, p.k) }

// factors are kinds of values for activations and weights.
type factors struct {
	name       string
	x, weights input
}

var (
	usual       = factors{"random", random, random}
	allFactors  = append(factorsOf(inputs[1:]), factors{"zero weights", random, zeros}, factors{"extreme weights", random, extremes})
	oneExtremes = product{3, 48, 512}
)

// factorsOf pairs activations with random weights.
func factorsOf(inputs []input) (list []factors) {
	for _, in := range inputs {
		list = append(list, factors{in.name, in, random})
	}
	return list
}

// productCheck builds a check of an operation with one kind of weights.
type productCheck func(g generator, p product, d tensor.DType, f factors) *trial

// productChecks makes checks of all weight types: all shapes with random values, and one with the others.
func productChecks(operation string, build productCheck, shapes []product) (checks []Check) {
	for _, d := range weightTypes {
		add := func(p product, f factors) {
			p = p.of(d)
			checks = append(checks, Check{Operation: operation, Type: d.String(), Shape: p.String(), Input: f.name,
				build: func(g generator) *trial { return build(g, p, d, f) }})
		}
		for _, p := range shapes {
			add(p, usual)
		}
		for _, f := range allFactors {
			add(oneExtremes, f)
		}
	}
	return both(checks)
}

func transposedChecks(quick bool) []Check {
	checks := productChecks("MatMulTransposed", transposed, upTo(quick, smallProducts, llamaProducts...))
	if quick {
		return checks
	}
	var result []Check
	for i, c := range checks { // the head's shape after each type's others, for the types that a head has
		result = append(result, c)
		d, _ := tensor.ParseDType(c.Type)
		if last := i+1 == len(checks) || checks[i+1].Type != c.Type; last && d.Quantized() {
			c.Shape, c.Input = vocabulary.String(), usual.name
			c.build = func(g generator) *trial { return transposed(g, vocabulary, d, usual) }
			result = append(result, c)
		}
	}
	return result
}

func transposed(g generator, p product, d tensor.DType, f factors) *trial {
	x, w := g.floats(f.x, p.m*p.k), g.weights(d, f.weights, p.n*p.k)
	return &trial{
		operands: []operand{
			f32("a", reading, x, p.m, p.k),
			{name: "w", role: weight, dtype: d, dims: []int{p.n, p.k}, data: w},
			blank("out", output, p.m, p.n).within(limit{tolerance: productTolerance(d), magnitude: p.magnitude(d, x, w)}),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			return b.Run(&backend.MatMulTransposed{X: t[0], W: t[1], Out: t[2]})
		},
	}
}

// roundedChecks checks products of rows that are rounded by one scale each, with three weights. The later two have fewer rows, as keys and values do.
func roundedChecks(quick bool) []Check {
	return productChecks("MatMulRounded", rounded, upTo(quick, fusedProducts, product{1, 2560, 2560}, product{32, 512, 2048}))
}

func rounded(g generator, p product, d tensor.DType, f factors) *trial {
	x := g.floats(f.x, p.m*p.k)
	t := &trial{operands: []operand{f32("x", reading, x, p.m, p.k)}}
	rows := []int{p.n, max(p.n/4, 1), max(p.n/4, 1)}
	for i, n := range rows {
		of := product{p.m, n, p.k}
		w := g.weights(d, f.weights, n*p.k)
		t.operands = append(t.operands, operand{name: fmt.Sprint("w", i), role: weight, dtype: d, dims: []int{n, p.k}, data: w},
			blank(fmt.Sprint("out", i), output, p.m, n).within(limit{tolerance: productTolerance(d), magnitude: of.wholeMagnitude(d, x, w)}))
	}
	t.do = func(b backend.Backend, t []*tensor.Tensor) error {
		return b.Run(&backend.MatMulRounded{X: t[0], Ws: []*tensor.Tensor{t[1], t[3], t[5]}, Outs: []*tensor.Tensor{t[2], t[4], t[6]}})
	}
	return t
}

// wholeMagnitude is magnitude for rows that are rounded by one scale each, whatever the type of the weights.
func (p product) wholeMagnitude(d tensor.DType, x []float32, w []byte) func([]float32) []float64 {
	return func([]float32) []float64 {
		result, steps := make([]float64, p.m*p.n), blockMaxima(x, p.k)
		rowBytes := quantBytes(d, p.k)
		for j := range p.n {
			row := decode(d, w[j*rowBytes:(j+1)*rowBytes])
			for i := range p.m {
				result[i*p.n+j] = magnitudeOf(d, row, steps[i*p.k:(i+1)*p.k])
			}
		}
		return result
	}
}

// magnitude returns what the errors of a product are relative to.
func (p product) magnitude(d tensor.DType, x []float32, w []byte) func([]float32) []float64 {
	return func([]float32) []float64 {
		result, steps := make([]float64, p.m*p.n), blockMaxima(x, d.Format().ActivationForm().BlockLen())
		rowBytes := quantBytes(d, p.k)
		for j := range p.n {
			row := decode(d, w[j*rowBytes:(j+1)*rowBytes])
			for i := range p.m {
				result[i*p.n+j] = magnitudeOf(d, row, steps[i*p.k:(i+1)*p.k])
			}
		}
		return result
	}
}

// magnitudeOf is the magnitude of one inner product, for weights or keys w that were of type d. For float32 it is Σ|x·w|. If x is rounded
// in blocks (steps are the blocks' largest elements), it is √Σ(steps·w)², as random errors add up, plus the part of Σ|steps·w| that sums of
// float32 need.
func magnitudeOf(d tensor.DType, w []float32, steps []float64) float64 {
	sum, squares := 0.0, 0.0
	for i, v := range w {
		term := math.Abs(float64(v)) * steps[i]
		sum, squares = sum+term, squares+term*term
	}
	if d == tensor.F32 {
		return sum
	}
	return math.Sqrt(squares) + single/productTolerance(d)*sum
}

// matMulChecks are of the product of two activations.
func matMulChecks(quick bool) (checks []Check) {
	add := func(p product, f factors) {
		checks = append(checks, Check{
			Operation: "MatMul", Type: "f32", Shape: fmt.Sprintf("[%d %d]·[%d %d]", p.m, p.k, p.k, p.n), Input: f.name,
			build: func(g generator) *trial { return matMul(g, p, f) },
		})
	}
	for _, p := range upTo(quick, smallProducts, product{64, 512, 2048}) {
		add(p, usual)
	}
	for _, f := range factorsOf(inputs[1:]) {
		add(oneExtremes, f)
	}
	return checks
}

func matMul(g generator, p product, f factors) *trial {
	x, y := g.floats(f.x, p.m*p.k), g.floats(f.weights, p.k*p.n)
	columns := make([]float32, len(y))
	for i, v := range y {
		columns[i%p.n*p.k+i/p.n] = v
	}
	return &trial{
		operands: []operand{
			f32("a", reading, x, p.m, p.k),
			f32("b", reading, y, p.k, p.n),
			blank("out", output, p.m, p.n).within(limit{
				tolerance: single, magnitude: p.magnitude(tensor.F32, x, encode(tensor.F32, columns)),
			}),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			return b.Run(&backend.MatMul{A: t[0], B: t[1], Out: t[2]})
		},
	}
}
