package engine

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/exact"
)

// rotary is how positions turn into angles, for some of the layers.
type rotary struct {
	half        int              // a head's pairs of elements
	frequencies []float64        // of the first pairs, in radians a position; the others are not rotated
	long        []float64        // for long conversations; nil: the same
	attention   float64          // what cosines and sines are multiplied by
	scales      *checkpoint.RoPE // by which queries are scaled by their positions; nil: they are not
}

// newRotary makes a rotary of heads of a length. For layers without RoPE, whose r is nil, all angles are 0: every layer has keys that are
// rotated, though some by nothing.
func newRotary(r *checkpoint.RoPE, headDim int) rotary {
	if r == nil {
		return rotary{half: headDim / 2}
	}
	attention := r.Attention
	if attention == 0 {
		attention = 1
	}
	made := rotary{half: headDim / 2, frequencies: r.Frequencies(headDim), long: r.LongFrequencies(headDim), attention: attention}
	if r.QueryScale != 0 {
		made.scales = r
	}
	return made
}

// table fills rows of [cos…, sin…], one for each position start, start+1, …; dst is [tokens, headDim].
func (r *rotary) table(dst []float32, start int, long bool) {
	frequencies := r.frequencies
	if long && r.long != nil {
		frequencies = r.long
	}
	half := r.half
	for row := 0; row*2*half < len(dst); row++ {
		angles := dst[row*2*half : (row+1)*2*half]
		for i, f := range frequencies {
			sin, cos := exact.Sincos(float64(float64(start+row) * f))
			angles[i], angles[half+i] = float32(cos*r.attention), float32(sin*r.attention)
		}
		for i := len(frequencies); i < half; i++ {
			angles[i], angles[half+i] = 1, 0
		}
	}
}
