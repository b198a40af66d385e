package vectors

import "github.com/antigravity-go/antigravity/internal/exact"

// convolve computes one row of a causal depthwise convolution: dst[i] = b[i] + Σ taps[j][i]·w[j·len(dst)+i], the taps in order, each
// by FMA; if b is nil, the sum begins with 0. w has rows of stride elements, and the first len(dst) of each count. dst may be the last tap.
func convolve(dst []float32, taps [][]float32, w []float32, stride int, b []float32) {
	for i := range dst {
		var sum float32
		if b != nil {
			sum = b[i]
		}
		for j, tap := range taps {
			sum = exact.FMA(tap[i], w[j*stride+i], sum)
		}
		dst[i] = sum
	}
}
