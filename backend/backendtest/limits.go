package backendtest

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/tensor"
)

// limit says how far an output may be from the reference's.
type limit struct {
	// tolerance is the largest error relative to magnitude; 0: the bytes must be equal, on every device.
	tolerance float64
	// magnitude returns for each element what its error is relative to; nil: its absolute value. It is called only where
	// errors are tolerated.
	magnitude  func(want []float32) []float64
	magnitudes []float64 // its result, once asked for
	// truth is what the output stands for. With it an element's error is by how much it is farther from the truth than the
	// reference's: halfway between two quants both are right.
	truth []float32
	// defined is how many elements of the output are compared; 0: all.
	defined int
}

// The tolerances.
const (
	single    = 1e-5    // sums of float32 in any order
	exponents = 1e-4    // the fast exponentials of devices
	half      = 2e-3    // one operand rounded to 16 bits: half a step is 1/2048
	rounding  = 1. / 64 // activations rounded to 8 bits: a step is 1/127 of the maximum, its deviation 1/√12 of a step
)

// underflow is the absolute error that is always tolerated: devices take denormal numbers for 0, and a norm may then have made
// them 316 times larger.
const underflow = 1e-33

// productTolerance returns the tolerance of products with weights or keys of a type.
func productTolerance(d tensor.DType) float64 {
	switch {
	case d == tensor.F32:
		return single
	case !d.Quantized():
		return half
	}
	return rounding
}

// comparison is how far an output is from the reference's.
type comparison struct {
	worst, relative float64
	wrong           int    // elements out of tolerance
	first           string // the first of them
}

// compare compares an output's elements.
func (o *operand) compare(got, want []byte, exact bool) (c comparison) {
	exact = exact || o.limit.tolerance == 0
	x, y := decode(o.dtype, got), decode(o.dtype, want)
	if o.limit.defined > 0 {
		n := quantBytes(o.dtype, o.limit.defined)
		x, y, got, want = x[:o.limit.defined], y[:o.limit.defined], got[:n], want[:n]
	}
	if !exact && o.limit.magnitude != nil && o.limit.magnitudes == nil {
		o.limit.magnitudes = o.limit.magnitude(y)
	}
	for i := range y {
		if math.Float32bits(x[i]) == math.Float32bits(y[i]) {
			continue
		}
		scale := math.Abs(float64(y[i]))
		if o.limit.magnitudes != nil {
			scale = o.limit.magnitudes[i]
		}
		difference := o.difference(i, x[i], y[i])
		relative := 0.0
		if difference > underflow {
			relative = difference / max(scale, math.SmallestNonzeroFloat64)
		}
		c.worst, c.relative = max(c.worst, difference), max(c.relative, relative)
		if exact || relative > o.limit.tolerance {
			c.note(o, i, fmt.Sprintf("is %g, want %g", x[i], y[i]))
		}
	}
	if exact && c.wrong == 0 && string(got) != string(want) {
		c.note(o, 0, "or a later one has other bits of the same value")
	}
	return c
}

// difference returns the error of element i. An element that is finite in only one of got and want is infinitely wrong.
func (o *operand) difference(i int, got, want float32) float64 {
	g, w := float64(got), float64(want)
	switch {
	case math.IsNaN(g) && math.IsNaN(w), g == w:
		return 0
	case math.IsNaN(g - w), math.IsInf(g-w, 0):
		return math.Inf(1)
	case o.limit.truth != nil:
		truth := float64(o.limit.truth[i])
		return max(0, math.Abs(g-truth)-math.Abs(w-truth))
	}
	return math.Abs(g - w)
}

// note counts a wrong element.
func (c *comparison) note(o *operand, element int, what string) {
	if c.wrong++; c.wrong > 1 {
		return
	}
	at := make([]int, len(o.dims))
	for i := len(o.dims) - 1; i >= 0; i-- {
		at[i], element = element%o.dims[i], element/o.dims[i]
	}
	c.first = fmt.Sprintf("%s%v %s", o.name, at, what)
}

// blockMaxima replaces each value by the largest magnitude of its block.
func blockMaxima(x []float32, block int) []float64 {
	result := make([]float64, len(x))
	for at := 0; at < len(x); at += block {
		largest := 0.0
		for _, v := range x[at:min(at+block, len(x))] {
			largest = max(largest, math.Abs(float64(v)))
		}
		for i := range x[at:min(at+block, len(x))] {
			result[at+i] = largest
		}
	}
	return result
}

// rowMaxima is the magnitude of what depends on the largest elements of rows.
func rowMaxima(dim int) func(want []float32) []float64 {
	return func(want []float32) []float64 { return blockMaxima(want, dim) }
}
