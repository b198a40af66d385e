package vectors

import "github.com/antigravity-go/antigravity/internal/exact"

// rope rotates one head vector x in place by the angles of the given cosines and sines (arXiv 2104.09864, in the layout of Llama
// checkpoints at Hugging Face: element i pairs with i+len/2):
//
//	x[i], x[i+half] = fma(x[i], cos[i], -(x[i+half]·sin[i])), fma(x[i], sin[i], x[i+half]·cos[i])
//
// cos and sin have half elements, half = len(x)/2.
func rope(x, cos, sin []float32) {
	half := len(x) / 2
	lo, hi := x[:half], x[half:2*half]
	cos, sin = cos[:half], sin[:half]
	for i, a := range lo {
		b := hi[i]
		lo[i] = exact.FMA(a, cos[i], -float32(b*sin[i]))
		hi[i] = exact.FMA(a, sin[i], float32(b*cos[i]))
	}
}
