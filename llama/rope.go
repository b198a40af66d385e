package llama

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/kvcache"
)

// rotary is how positions turn into angles, for some of the layers.
type rotary struct {
	frequencies []float64 // [headDim/2], in radians a position
	long        []float64 // for long conversations; nil: the same
	attention   float64   // what cosines and sines are multiplied by
}

// newRotary makes a rotary of heads of a length.
func newRotary(r *checkpoint.RoPE, headDim int) rotary {
	attention := r.Attention
	if attention == 0 {
		attention = 1
	}
	return rotary{r.Frequencies(headDim), r.LongFrequencies(headDim), attention}
}

// setRotaries makes the rotaries of a configuration, and tells each layer which is its own. For layers without RoPE that is one by which
// all angles are 0: every layer has keys that are rotated, though some by nothing.
func (m *Model) setRotaries(c *checkpoint.Config) {
	is := func(list []bool, layer int) bool { return list != nil && list[layer] }
	made := map[rotaryKind]int{}
	for i := range m.layers {
		kind := global
		switch {
		case is(c.Unrotated, i):
			kind = unrotated
		case is(c.Windowed, i) && c.LocalRoPE.Theta != 0:
			kind = local
		}
		at, ok := made[kind]
		if !ok {
			at = len(m.rotaries)
			made[kind] = at
			m.rotaries = append(m.rotaries, newRotary(kind.of(c), c.HeadDim))
			if kind == unrotated {
				clear(m.rotaries[at].frequencies)
			}
		}
		m.layers[i].rotary = at
	}
}

// rotaryKind is what a layer's RoPE is by.
type rotaryKind int

const (
	global rotaryKind = iota
	local
	unrotated
)

// of returns the RoPE of a kind; that of unrotated layers is any.
func (k rotaryKind) of(c *checkpoint.Config) *checkpoint.RoPE {
	switch k {
	case local:
		return &c.LocalRoPE
	case unrotated:
		return &checkpoint.RoPE{Theta: 1}
	}
	return &c.RoPE
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

// rotation is a layer's RoPE for one position; see kvcache.Rotation.
func (m *Model) rotation(layer int, long bool) kvcache.Rotation {
	r := &m.rotaries[m.layers[layer].rotary]
	return func(row []float32, position int) { r.table(row, position, long) }
}

// long tells whether conversations of up to so many tokens have the angles of long ones. It goes by what a conversation may become, so
// that its keys never have to be rotated anew.
func (c *Config) long(capacity int) bool {
	return c.RoPE.Long != nil && capacity > c.RoPE.OriginalContext
}

// clone returns a copy that shares nothing.
func (r RoPE) clone() RoPE {
	r.Divisors, r.Long = slices.Clone(r.Divisors), slices.Clone(r.Long)
	return r
}
