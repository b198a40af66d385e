package engine

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/exact"
)

// rotary is how positions turn into angles, for some of the layers.
type rotary struct {
	frequencies []float64 // [headDim/2], in radians a position
	long        []float64 // for long conversations; nil: the same
	attention   float64   // what cosines and sines are multiplied by
}

// newRotary makes a rotary of heads of a length. For layers without RoPE, whose r is nil, all angles are 0: every layer has keys that are
// rotated, though some by nothing.
func newRotary(r *checkpoint.RoPE, headDim int) rotary {
	if r == nil {
		return rotary{frequencies: make([]float64, headDim/2), attention: 1}
	}
	attention := r.Attention
	if attention == 0 {
		attention = 1
	}
	return rotary{r.Frequencies(headDim), r.LongFrequencies(headDim), attention}
}

// table fills rows of [cos…, sin…], one for each position start, start+1, …; dst is [tokens, headDim].
func (r *rotary) table(dst []float32, start int, long bool) {
	frequencies := r.frequencies
	if long && r.long != nil {
		frequencies = r.long
	}
	half := len(frequencies)
	for row := 0; row*2*half < len(dst); row++ {
		angles := dst[row*2*half : (row+1)*2*half]
		for i, f := range frequencies {
			sin, cos := exact.Sincos(float64(float64(start+row) * f))
			angles[i], angles[half+i] = float32(cos*r.attention), float32(sin*r.attention)
		}
	}
}
