package pixels

import (
	"math"

	"github.com/antigravity-go/antigravity/internal/exact"
)

// Filter is how pixels between pixels are found.
type Filter int

// The filters, by the numbers that Pillow and preprocessor_config.json give them.
const (
	Lanczos  Filter = 1
	Bilinear Filter = 2
	Bicubic  Filter = 3
)

// filters has a row for each Filter.
//
// weight returns the filter's value at a distance of x ≥ 0 pixels, 0 at support and beyond. Each of its operations is rounded on its own:
// x*y + z in one expression would be one rounding on some machines.
//
// adaptive filters are computed as torchvision computes them, with weights of 16 bits. The others are Pillow's, with 22 bits after the
// point. What torchvision lacks is computed with Pillow, so transformers' pictures have both kinds.
var filters = [...]struct {
	name     string
	support  float64
	weight   func(x float64) float64
	adaptive bool
}{
	Lanczos: {"lanczos", 3, func(x float64) float64 {
		if x >= 3 {
			return 0
		}
		return sinc(x) * sinc(x/3)
	}, false},
	Bilinear: {"bilinear", 1, func(x float64) float64 { return max(1-x, 0) }, true},
	Bicubic: {"bicubic", 2, func(x float64) float64 { // Keys' with a = −1/2
		switch {
		case x < 1:
			return float64(float64(float64(float64(1.5*x)-2.5)*x)*x) + 1
		case x < 2:
			return float64(float64(float64(float64(-0.5*x)+2.5)*x-4)*x) + 2
		}
		return 0
	}, true},
}

// valid reports whether f has a row.
func (f Filter) valid() bool { return f >= Lanczos && f <= Bicubic }

// String returns the filter's name.
func (f Filter) String() string {
	if !f.valid() {
		return "unknown"
	}
	return filters[f].name
}

// sinc returns sin(πx)/(πx).
func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	sin, _ := exact.Sincos(x)
	return sin / x
}

// pillowBits are the bits after the point of Pillow's weights: 32, without 8 for the byte and 2 for what negative weights add.
const pillowBits = 32 - 8 - 2

// axis is how one direction of a picture is resized: out pixel i is the sum of taps pixels from starts[i] with the weights
// from i·taps, over 1<<bits, rounded. Weights that the picture's edge cuts off are 0.
type axis struct {
	in, out int
	taps    int
	starts  []int32 // [out]; starts[i] + taps ≤ in
	weights []int32 // [out, taps]
	bits    uint
}

// newAxis returns the weights with which in pixels become out. The filter widens with the step between pixels, so that each pixel of
// the picture counts (antialiasing).
func newAxis(in, out int, f Filter) *axis {
	row := &filters[f]
	scale := float64(in) / float64(out)
	wide := max(scale, 1)
	support := float64(row.support * wide)
	narrow := 1 / wide
	taps := min(int(math.Ceil(support))*2+1, in)
	a := &axis{in: in, out: out, taps: taps, starts: make([]int32, out), weights: make([]int32, out*taps), bits: pillowBits}

	// The weights in float64, each row from its first pixel.
	first := make([]int, out)
	values := make([]float64, out*taps)
	greatest := 0.0
	for i := range out {
		centre := float64(scale * (float64(i) + 0.5))
		begin := max(int(centre-support+0.5), 0)
		end := min(int(centre+support+0.5), in)
		w := values[i*taps:][:min(end-begin, taps)]
		sum := 0.0
		for j := range w {
			w[j] = row.weight(math.Abs((float64(j+begin) - centre + 0.5) * narrow))
			sum += w[j]
		}
		for j := range w {
			if sum != 0 {
				w[j] /= sum
			}
			greatest = max(greatest, w[j])
		}
		first[i] = begin
	}
	if row.adaptive { // as many bits as the greatest weight leaves room for in 16
		for a.bits = 0; a.bits < pillowBits && int(0.5+greatest*float64(int(1)<<(a.bits+1))) < 1<<15; {
			a.bits++
		}
	}
	for i := range out {
		// A row that would reach beyond the picture begins earlier, with weights of 0.
		start := min(first[i], in-taps)
		a.starts[i] = int32(start)
		for j, v := range values[i*taps:][:taps-(first[i]-start)] {
			v *= float64(int(1) << a.bits)
			if v < 0 {
				v -= 0.5
			} else {
				v += 0.5
			}
			a.weights[i*taps+first[i]-start+j] = int32(v)
		}
	}
	return a
}
