package backendtest

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// projection is how Project is called: with which of its options.
type projection struct {
	norm, stays, biased bool // stays: the norm is kept in x
	maps                int
	gelu                bool
}

// String says what the options are.
func (o projection) String() string {
	s := fmt.Sprint(o.maps, " maps")
	for _, option := range []struct {
		on   bool
		name string
	}{{o.norm, "norm"}, {o.stays, "in place"}, {o.biased, "biases"}, {o.gelu, "GELU"}} {
		if option.on {
			s += ", " + option.name
		}
	}
	return s
}

// projections are options as encoders have them, and others.
var projections = []projection{
	{norm: true, stays: true, biased: true, maps: 3}, {norm: true, maps: 3}, {maps: 1, biased: true}, {norm: true, stays: true, biased: true, maps: 1, gelu: true},
	{norm: true, maps: 2, gelu: true}, {maps: 2, biased: true, gelu: true},
}

// projectChecks checks Project.
func projectChecks(quick bool) (checks []Check) {
	for _, o := range projections {
		for _, c := range productChecks("Project", func(g generator, p product, d tensor.DType, f factors) *trial { return project(g, p, d, f, o) },
			upTo(quick, fusedProducts, product{32, 512, 2048})) {
			c.Shape += " with " + o.String()
			checks = append(checks, c)
		}
	}
	return checks
}

// project makes a trial of Project. Of three maps the later two have fewer rows, as keys and values do.
func project(g generator, p product, d tensor.DType, f factors, o projection) *trial {
	x, gain, bias := g.floats(f.x, p.m*p.k), g.floats(random, p.k), g.floats(random, p.k)
	multiplied := x
	if o.norm {
		multiplied = layerNormed(x, gain, bias)
	}
	of := reading
	if o.stays {
		of = update
	}
	t := &trial{operands: []operand{
		f32("x", of, x, p.m, p.k).within(limit{tolerance: exponents, magnitude: rowLengths(p.k)}), f32("norm", reading, gain, p.k), f32("bias", reading, bias, p.k),
		blank("normed", scratch, p.m, p.k),
	}}
	ws, biases := make([][]byte, o.maps), make([][]float32, o.maps)
	for i := range o.maps {
		p := p
		if i > 0 && !o.gelu {
			p.n = (p.n + 3) / 4
		}
		ws[i], biases[i] = g.weights(d, f.weights, p.n*p.k), g.floats(random, p.n)
		t.operands = append(t.operands, operand{name: fmt.Sprint("w", i), role: weight, dtype: d, dims: []int{p.n, p.k}, data: ws[i]},
			f32(fmt.Sprint("b", i), reading, biases[i], p.n))
	}
	for i := range o.maps {
		p := p
		if i > 0 && !o.gelu {
			p.n = (p.n + 3) / 4
		}
		out := blank(fmt.Sprint("out", i), output, p.m, p.n)
		switch {
		case !o.gelu:
			out = out.within(limit{tolerance: max(productTolerance(d), exponents), magnitude: p.biasedMagnitude(d, multiplied, ws[i], biases[i])})
		case i == 0:
			out = out.within(limit{tolerance: max(productTolerance(d), exponents), magnitude: func([]float32) []float64 {
				return p.geluMagnitude(d, multiplied, ws, biases)
			}})
		default:
			out = blank(fmt.Sprint("out", i), scratch, p.m, p.n)
		}
		t.operands = append(t.operands, out)
	}
	t.do = func(b backend.Backend, t []*tensor.Tensor) error {
		op := backend.Project{X: t[0], Outs: t[4+2*o.maps:], GELU: o.gelu}
		if o.norm {
			op.Norm, op.NormBias, op.Eps, op.Normed = t[1], t[2], epsilon, t[3]
		}
		if o.stays {
			op.Normed = t[0]
		}
		op.Maps = make([]backend.Linear, o.maps)
		for i := range op.Maps {
			op.Maps[i].Weight = t[4+2*i]
			if o.biased {
				op.Maps[i].Bias = t[5+2*i]
			}
		}
		return runFused(b, &op)
	}
	return t
}

// layerNormed is x normalised about the means of its rows, by the definition.
func layerNormed(x, weight, bias []float32) []float32 {
	result, dim := make([]float32, len(x)), len(weight)
	for at := 0; at < len(x); at += dim {
		mean, squares := 0.0, 0.0
		for _, v := range x[at : at+dim] {
			mean += float64(v) / float64(dim)
		}
		for _, v := range x[at : at+dim] {
			squares += (float64(v) - mean) * (float64(v) - mean)
		}
		for i, w := range weight {
			result[at+i] = float32((float64(x[at+i])-mean)/math.Sqrt(squares/float64(dim)+epsilon)*float64(w) + float64(bias[i]))
		}
	}
	return result
}

// rowLengths is the magnitude of elements with errors in proportion to the length (norm) of their row of dim elements.
func rowLengths(dim int) func([]float32) []float64 {
	return func(want []float32) []float64 {
		result := make([]float64, len(want))
		for at := 0; at < len(want); at += dim {
			length := math.Sqrt(dot(want[at:at+dim], want[at:at+dim]))
			for i := range dim {
				result[at+i] = length
			}
		}
		return result
	}
}

// biasedMagnitude is the magnitude of a product of rows x with weights w, and a bias.
func (p product) biasedMagnitude(d tensor.DType, x []float32, w []byte, bias []float32) func([]float32) []float64 {
	return func(want []float32) []float64 {
		result := p.magnitude(d, x, w)(want)
		for i := range result {
			result[i] += math.Abs(float64(bias[i%p.n]))
		}
		return result
	}
}

// geluMagnitude follows the errors of the products through gelu(g)·u, or gelu(g) if there is no u. The slope of GELU is at most 1.13.
func (p product) geluMagnitude(d tensor.DType, x []float32, ws [][]byte, biases [][]float32) []float64 {
	value := func(i, row, column int) float64 {
		rowBytes := quantBytes(d, p.k)
		return dot(decode(d, ws[i][column*rowBytes:(column+1)*rowBytes]), x[row*p.k:(row+1)*p.k]) + float64(biases[i][column])
	}
	result := p.biasedMagnitude(d, x, ws[0], biases[0])(nil)
	if len(ws) == 1 {
		for i := range result {
			result[i] *= 1.13
		}
		return result
	}
	ups := p.biasedMagnitude(d, x, ws[1], biases[1])(nil)
	for at, gate := range result {
		g, u := value(0, at/p.n, at%p.n), value(1, at/p.n, at%p.n)
		bound := math.Abs(u) + math.Abs(float64(biases[1][at%p.n])) // also of a product without its bias
		g = math.Abs(g) + math.Abs(float64(biases[0][at%p.n]))
		result[at] = 1.13*gate*bound + g*(ups[at]+bound) + 0x1p-7*gate*ups[at]
	}
	return result
}

// projectAddChecks checks MatMulAdd with a bias.
func projectAddChecks(quick bool) (checks []Check) {
	for _, c := range productChecks("MatMulAdd", func(g generator, p product, d tensor.DType, f factors) *trial {
		t := matMulAdd(g, p, d, f)
		bias := g.floats(random, p.n)
		sum := t.operands[3].limit.magnitude
		t.operands[3].limit.magnitude = func(want []float32) []float64 {
			result := sum(want)
			for i := range result {
				result[i] += math.Abs(float64(bias[i%p.n]))
			}
			return result
		}
		t.operands = append(t.operands, f32("bias", reading, bias, p.n))
		t.do = func(b backend.Backend, t []*tensor.Tensor) error {
			return runFused(b, &backend.MatMulAdd{X: t[0], W: t[1], Bias: t[4], Product: t[2], Out: t[3]})
		}
		return t
	}, upTo(quick, fusedProducts, product{32, 512, 2048})) {
		c.Shape += " with a bias"
		checks = append(checks, c)
	}
	return checks
}
