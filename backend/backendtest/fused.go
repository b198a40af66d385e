package backendtest

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// The trials of fused operations are programs of the plain ones, as models write them. A backend that lists the fusion runs one operation
// instead.

// runFused runs the program that an operation stands for, fused as the backend lists it.
func runFused(b backend.Backend, op backend.Fused) error {
	program := backend.Fuse(b, op.Plain(), slices.Collect(backend.Operands(op))...)
	if len(program) == 1 && !reflect.DeepEqual(program[0], op) {
		return fmt.Errorf("the program of %s becomes another operation: %v", backend.NameOf(op), program[0])
	}
	return b.Run(program...)
}

// epsilon is Llama's for norms.
const epsilon = 1e-5

var fusedProducts = []product{{1, 16, 64}, {1, 48, 512}, {3, 33, 100}, {17, 80, 256}}

// normed is x normalised by the definition.
func normed(x, norm []float32) []float32 {
	result, dim := make([]float32, len(x)), len(norm)
	for at := 0; at < len(x); at += dim {
		sum := 0.0
		for _, v := range x[at : at+dim] {
			sum += float64(v) * float64(v)
		}
		factor := 1 / math.Sqrt(sum/float64(dim)+epsilon)
		for i, w := range norm {
			result[at+i] = float32(float64(x[at+i]) * factor * float64(w))
		}
	}
	return result
}

func normMatMulChecks(quick bool) []Check {
	checks := productChecks("NormMatMul", func(g generator, p product, d tensor.DType, f factors) *trial {
		return normMatMul(g, p, []tensor.DType{d, d, d}, f, true)
	}, upTo(quick, fusedProducts, product{1, 2048, 2048}, product{32, 512, 2048}))
	mixed := []Check{{
		Operation: "NormMatMul", Type: "mixed", Shape: product{5, 48, 256}.String(), Input: random.name,
		build: func(g generator) *trial {
			return normMatMul(g, product{5, 48, 256}, []tensor.DType{tensor.Q4_K, tensor.F16, tensor.Q6_K, tensor.Q8_0}, usual, true)
		},
	}}
	for _, types := range [][]tensor.DType{{tensor.F32, tensor.F32, tensor.F32}, {tensor.Q8_0, tensor.F32, tensor.Q4_K}} {
		mixed = append(mixed, Check{
			Operation: "NormMatMul", Type: fmt.Sprint(types), Shape: product{5, 48, 256}.String() + " without a norm", Input: random.name,
			build: func(g generator) *trial { return normMatMul(g, product{5, 48, 256}, types, usual, false) },
		})
	}
	for _, d := range []tensor.DType{tensor.BF16, tensor.Q4_0} {
		mixed = append(mixed, Check{
			Operation: "NormMatMul", Type: d.String(), Shape: product{13, fewRows, 256}.String() + " and more rows", Input: random.name,
			build: func(g generator) *trial {
				return normMatMul(g, product{13, fewRows, 256}, []tensor.DType{tensor.F32, d, d}, usual, true)
			},
		})
	}
	return append(checks, both(mixed)...)
}

// fewRows is fewer rows than any layout of weights groups: those of a router of experts.
const fewRows = 8

// normMatMul multiplies with weights of several types, with a norm before or without. The second and later ones have fewer rows, as keys and values do;
// after one with few rows they have more.
func normMatMul(g generator, p product, types []tensor.DType, f factors, norms bool) *trial {
	x, norm := g.floats(f.x, p.m*p.k), g.floats(random, p.k)
	multiplied := x
	if norms {
		multiplied = normed(x, norm)
	}
	t := &trial{operands: []operand{
		f32("x", reading, x, p.m, p.k), f32("norm", reading, norm, p.k), blank("normed", scratch, p.m, p.k),
	}}
	var outs []operand
	for i, d := range types {
		p := p
		switch {
		case i > 0 && p.n == fewRows:
			p.n = 8 * fewRows
		case i > 0:
			p.n = (p.n + 3) / 4
		}
		w := g.weights(d, f.weights, p.n*p.k)
		t.operands = append(t.operands, operand{name: fmt.Sprint("w", i), role: weight, dtype: d, dims: []int{p.n, p.k}, data: w})
		outs = append(outs, blank(fmt.Sprint("out", i), output, p.m, p.n).within(limit{
			tolerance: productTolerance(d), magnitude: p.magnitude(d, multiplied, w),
		}))
	}
	t.operands = append(t.operands, outs...)
	t.do = func(b backend.Backend, t []*tensor.Tensor) error {
		ws, outs := t[3:3+len(types)], t[3+len(types):]
		if !norms {
			return runFused(b, &backend.NormMatMul{X: t[0], Ws: ws, Outs: outs})
		}
		return runFused(b, &backend.NormMatMul{X: t[0], Norm: t[1], Eps: epsilon, Normed: t[2], Ws: ws, Outs: outs})
	}
	return t
}

func matMulAddChecks(quick bool) []Check {
	return productChecks("MatMulAdd", matMulAdd, upTo(quick, fusedProducts, product{1, 2048, 8192}, product{32, 512, 2048}))
}

func matMulAdd(g generator, p product, d tensor.DType, f factors) *trial {
	x, w, sum := g.floats(f.x, p.m*p.k), g.weights(d, f.weights, p.n*p.k), g.floats(random, p.m*p.n)
	magnitude := func(want []float32) []float64 {
		result := p.magnitude(d, x, w)(want)
		for i, v := range sum {
			result[i] += math.Abs(float64(v))
		}
		return result
	}
	return &trial{
		operands: []operand{
			f32("x", reading, x, p.m, p.k),
			{name: "w", role: weight, dtype: d, dims: []int{p.n, p.k}, data: w},
			blank("product", scratch, p.m, p.n),
			f32("out", update, sum, p.m, p.n).within(limit{tolerance: productTolerance(d), magnitude: magnitude}),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			return runFused(b, &backend.MatMulAdd{X: t[0], W: t[1], Product: t[2], Out: t[3]})
		},
	}
}

func normSwiGLUChecks(quick bool) []Check {
	return productChecks("NormSwiGLU", normSwiGLU, upTo(quick, fusedProducts, product{1, 8192, 2048}, product{32, 512, 2048}))
}

func normSwiGLU(g generator, p product, d tensor.DType, f factors) *trial {
	x, norm := g.floats(f.x, p.m*p.k), g.floats(random, p.k)
	gate, up := g.weights(d, f.weights, p.n*p.k), g.weights(d, f.weights, p.n*p.k)
	return &trial{
		operands: []operand{
			f32("x", reading, x, p.m, p.k), f32("norm", reading, norm, p.k), blank("normed", scratch, p.m, p.k),
			{name: "gate", role: weight, dtype: d, dims: []int{p.n, p.k}, data: gate},
			{name: "up", role: weight, dtype: d, dims: []int{p.n, p.k}, data: up},
			blank("product", scratch, p.m, p.n),
			blank("out", output, p.m, p.n).within(limit{
				tolerance: max(productTolerance(d), exponents),
				magnitude: func([]float32) []float64 { return p.swiGLUMagnitude(d, normed(x, norm), gate, up) },
			}),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			return runFused(b, &backend.NormSwiGLU{X: t[0], Norm: t[1], Eps: epsilon, Normed: t[2], Gate: t[3], Up: t[4], Product: t[5], Out: t[6]})
		},
	}
}

// swiGLUMagnitude follows the errors of g = n·gateᵀ and u = n·upᵀ through silu(g)·u. The slope of silu is at most 1.1.
func (p product) swiGLUMagnitude(d tensor.DType, n []float32, gate, up []byte) []float64 {
	result, gates, ups := make([]float64, p.m*p.n), p.magnitude(d, n, gate)(nil), p.magnitude(d, n, up)(nil)
	rowBytes := quantBytes(d, p.k)
	for j := range p.n {
		gateRow, upRow := decode(d, gate[j*rowBytes:(j+1)*rowBytes]), decode(d, up[j*rowBytes:(j+1)*rowBytes])
		for i := range p.m {
			row := n[i*p.k : (i+1)*p.k]
			g, u, at := dot(gateRow, row), dot(upRow, row), i*p.n+j
			silu := g / (1 + math.Exp(-g))
			result[at] = 1.1*gates[at]*math.Abs(u) + math.Abs(silu)*(ups[at]+math.Abs(u)) + 0x1p-7*gates[at]*ups[at]
		}
	}
	return result
}

// dot is an inner product in float64.
func dot(a, b []float32) (sum float64) {
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}
