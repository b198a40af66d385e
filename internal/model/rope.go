package model

import (
	"cmp"
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Each pair of a head's elements turns by its frequency with each position. Frequencies computes them: theta^(-2i/n) for pair i of n
// elements, and then what the scaling makes of it. llama3 and YaRN keep pairs that turn often in the original context, and slow down those
// that turn seldom. For example, Llama 3.2's llama3 (theta 500000, factor 32, low 1, high 4, 8192 original tokens) makes of heads of 64
// elements
//
//	pair   frequency   turns in 8192 tokens   share kept   stretched
//	0      1           1303.80                1            1
//	14     3.211e-3    4.19                   1            3.211e-3
//	16     1.414e-3    1.84                   0.281        4.296e-4
//	18     6.228e-4    0.81                   0            1.946e-5, the 32nd part
//
// GGUF has the same as divisors, frequency/stretched: 1 for pair 14, 3.29 for pair 16, 32 for pair 18.

// RoPE says how positions turn into angles: the base of the frequencies and how they were stretched for long contexts.
type RoPE struct {
	Theta   float64
	Scaling string // "", "linear", "llama3", "longrope" or "yarn"
	Factor  float64
	// For "llama3": wavelengths longer than OriginalContext/LowFreqFactor are stretched by Factor, those shorter than
	// OriginalContext/HighFreqFactor are left alone, those between are blended.
	LowFreqFactor, HighFreqFactor float64
	OriginalContext               int
	// Divisors, when not nil, has one divisor for each of the HeadDim/2 frequencies and stands for the above: GGUF files
	// carry them as rope_freqs.weight.
	Divisors []float32
	// For "longrope" (arXiv 2402.13753) Divisors are those for conversations of up to OriginalContext tokens, and Long those for longer
	// ones. Cosines and sines are multiplied by Attention; 0: 1.
	Long      []float32
	Attention float64
	// For "yarn" (arXiv 2309.00071): frequencies with more than BetaFast turns in OriginalContext are left alone, those with fewer than
	// BetaSlow are divided by Factor, those between are blended. The blend's ends are rounded to whole pairs, unless Unrounded.
	BetaFast, BetaSlow float64
	Unrounded          bool
	// Rotated is how many elements of a head are rotated, the first ones; the others are left alone. 0: all.
	Rotated int
	// RotatedPairs is how many pairs of a head's elements are rotated, the first ones, by frequencies of the whole head; the others are left alone. 0: all.
	// Pairs are (i, i+HeadDim/2), which they are not if Rotated is set.
	RotatedPairs int
	// Sections are how many of the pairs turn by each of a row's three positions (M-RoPE, arXiv 2409.12191): time, row and column of an image. In a text
	// the three are one number. All 0: every pair turns by the first.
	Sections    [3]int
	Interleaved bool // the sections alternate: see Axis
	// QueryScale, if it is not 0, scales queries by their position p, by 1 + QueryScale·ln(1+⌊p/OriginalContext⌋) (Ministral 3).
	QueryScale float64
}

// QueryFactor returns what queries at a position are multiplied by. Of 16384 original tokens and a QueryScale of 0.1, queries up to position 16383 are
// multiplied by 1, those of the next 16384 positions by 1 + 0.1·ln 2.
func (r *RoPE) QueryFactor(position int) float32 {
	if r.QueryScale == 0 || position < r.OriginalContext {
		return 1
	}
	return float32(1 + float64(r.QueryScale*exact.Log(float64(1+position/r.OriginalContext))))
}

// Pairs returns how many pairs of a head's elements are rotated.
func (r *RoPE) Pairs(headDim int) int { return cmp.Or(r.Rotated, headDim) / 2 }

// Axis returns by which of a row's three positions a pair turns. Sections of 4, 3 and 3 pairs lie one after the other or, interleaved, alternate as long as
// there are pairs of each:
//
//	pair          0 1 2 3 4 5 6 7 8 9
//	              t t t t h h h w w w
//	interleaved   t h w t h w t h w t
func (r *RoPE) Axis(pair int) int {
	s := &r.Sections
	switch {
	case *s == [3]int{}:
		return 0
	case r.Interleaved:
		if axis := pair % 3; pair < 3*s[axis] {
			return axis
		}
	case pair >= s[0]+s[1]:
		return 2
	case pair >= s[0]:
		return 1
	}
	return 0
}

// Frequencies returns the angle per position of each of the pairs that are rotated, in radians: theta^(-2i/Rotated), stretched as
// the scaling says (llama3: the blend of Meta's reference code, by wavelength).
func (r *RoPE) Frequencies(headDim int) []float64 {
	if r.RotatedPairs != 0 {
		list := make([]float64, r.RotatedPairs)
		for i := range list {
			list[i] = r.frequency(i, headDim)
		}
		return list
	}
	list := make([]float64, r.Pairs(headDim))
	headDim = 2 * len(list)
	low, high := r.blended(headDim)
	for i := range list {
		f := r.frequency(i, headDim)
		switch {
		case r.Divisors != nil:
			f /= float64(r.Divisors[i])
		case r.Scaling == "linear":
			f /= r.Factor
		case r.Scaling == "llama3":
			kept := r.kept(f)
			f = float64(kept*f) + float64((1-kept)*f/r.Factor) // the conversions keep processors from fusing
		case r.Scaling == YaRN:
			kept := 1 - min(max((float64(i)-low)/(high-low), 0), 1)
			f = float64(kept*f) + float64((1-kept)*f/r.Factor)
		}
		list[i] = f
	}
	return list
}

// YaRN is the scaling of arXiv 2309.00071.
const YaRN = "yarn"

// The defaults of YaRN's BetaFast and BetaSlow.
const (
	DefaultBetaFast = 32
	DefaultBetaSlow = 1
)

// blended returns between which pairs YaRN blends: the first with fewer than BetaFast turns in the original context, and the last with more
// than BetaSlow. Of 64 elements, a base of 10,000 and 4,096 tokens these are 10 and 23: pairs up to 10 are left alone, those from 23 on divided by Factor.
func (r *RoPE) blended(headDim int) (low, high float64) {
	if r.Scaling != YaRN {
		return 0, 1
	}
	pairOf := func(turns float64) float64 { // the pair, a fraction too, that makes some turns in the original context
		return float64(headDim) * exact.Log(float64(r.OriginalContext)/(turns*2*math.Pi)) / (2 * exact.Log(r.Theta))
	}
	low, high = pairOf(r.BetaFast), pairOf(r.BetaSlow)
	if !r.Unrounded {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(headDim-1))
	if low == high {
		high += 0.001 // as in the paper's program
	}
	return low, high
}

// YaRNAttention returns what YaRN multiplies cosines and sines by if a file does not say: 1 + scale·ln(factor)/10.
func YaRNAttention(factor, scale float64) float64 {
	if factor <= 1 {
		return 1
	}
	return 1 + float64(0.1*scale*exact.Log(factor)) // the conversion keeps processors from fusing
}

// LongRoPE is the scaling that has other divisors for long conversations.
const LongRoPE = "longrope"

// LongFrequencies is Frequencies for conversations longer than OriginalContext; nil if they are the same.
func (r *RoPE) LongFrequencies(headDim int) []float64 {
	if r.Long == nil {
		return nil
	}
	long := *r
	long.Divisors = r.Long
	return long.Frequencies(headDim)
}

// LongAttention returns the factor of cosines and sines for longrope if a file does not say it: √(1+ln s/ln original) for a context that is s
// times the original one.
func (r *RoPE) LongAttention(context int) float64 {
	if context <= r.OriginalContext || r.OriginalContext < 2 {
		return 1
	}
	return math.Sqrt(1 + exact.Log(float64(context)/float64(r.OriginalContext))/exact.Log(float64(r.OriginalContext)))
}

// StretchDivisors returns llama3's scaling in GGUF's form, a divisor for each of the headDim/2 frequencies; nil for other scalings. Being
// of 32 bits, they do not give the very angles that the factors give.
func (r *RoPE) StretchDivisors(headDim int) []float32 {
	if r.Scaling != "llama3" {
		return nil
	}
	list := make([]float32, r.Pairs(headDim))
	headDim = 2 * len(list)
	for i := range list {
		kept := r.kept(r.frequency(i, headDim))
		list[i] = float32(1 / (float64((1-kept)/r.Factor) + kept))
	}
	return list
}

// frequency returns the frequency of a pair before it is stretched.
func (r *RoPE) frequency(pair, headDim int) float64 {
	return 1 / exact.Pow(r.Theta, float64(2*pair)/float64(headDim))
}

// kept returns the share of a frequency that llama3's scaling leaves as it is, from 0 to 1; Factor divides the rest. It is 1 for
// a frequency with at least HighFreqFactor turns in the original context, and 0 for one with at most LowFreqFactor.
func (r *RoPE) kept(f float64) float64 {
	turns := float64(r.OriginalContext) * f / (2 * math.Pi)
	return min(max((turns-r.LowFreqFactor)/(r.HighFreqFactor-r.LowFreqFactor), 0), 1)
}

// The range of what stretches RoPE's frequencies, and of its base: they keep every angle a number.
const (
	minStretch = 1e-3
	maxStretch = 1e9
	maxTheta   = 1e30
)

func (r *RoPE) validate(headDim int) error {
	stretch := func(v float64) bool { return v >= minStretch && v <= maxStretch }
	if !(r.Theta >= 1 && r.Theta <= maxTheta) {
		return fmt.Errorf("rope_theta is %g, not between 1 and %g", r.Theta, maxTheta)
	}
	if r.Rotated < 0 || r.Rotated%2 != 0 || r.Rotated >= headDim {
		return fmt.Errorf("%d of %d elements of a head are rotated: it must be an even number of them", r.Rotated, headDim)
	}
	if r.RotatedPairs < 0 || 2*r.RotatedPairs > headDim || r.RotatedPairs != 0 && (r.Rotated != 0 || r.Scaling != "" || r.Divisors != nil) {
		return fmt.Errorf("%d pairs of a head of %d elements turn: there are %d, and no other scaling", r.RotatedPairs, headDim, headDim/2)
	}
	if s := r.Sections; min(s[0], s[1], s[2]) < 0 || max(s[0], s[1], s[2]) > MaxHeadDim || s != [3]int{} && !r.Interleaved && s[0]+s[1]+s[2] != r.Pairs(headDim) {
		return fmt.Errorf("sections of %v pairs turn by the three positions of a row: a head has %d pairs", s, r.Pairs(headDim))
	}
	for _, list := range [][]float32{r.Divisors, r.Long} {
		if n := r.Pairs(headDim); list != nil && len(list) != n {
			return fmt.Errorf("%d RoPE frequency divisors for %d elements of a head: there must be %d", len(list), 2*n, n)
		}
		for _, d := range list {
			if !stretch(float64(d)) {
				return fmt.Errorf("a RoPE frequency divisor is %g, not between %g and %g", d, minStretch, maxStretch)
			}
		}
	}
	if r.QueryScale != 0 && (!(r.QueryScale >= minScale && r.QueryScale <= maxScale) || r.OriginalContext < 1 || r.OriginalContext > MaxContext) {
		return fmt.Errorf("queries are scaled by llama_4_scaling_beta %g and original_max_position_embeddings %d: the former must be between %g and %g, the latter positive",
			r.QueryScale, r.OriginalContext, minScale, maxScale)
	}
	switch r.Scaling {
	case "":
		return nil
	case "linear":
		if !stretch(r.Factor) {
			return fmt.Errorf("the RoPE scaling factor is %g, not between %g and %g", r.Factor, minStretch, maxStretch)
		}
		return nil
	case "llama3":
		if !stretch(r.Factor) || !stretch(r.LowFreqFactor) || !stretch(r.HighFreqFactor) || r.LowFreqFactor >= r.HighFreqFactor ||
			r.OriginalContext < 1 || r.OriginalContext > MaxContext {
			return fmt.Errorf("RoPE scaling llama3 with factor %g, low_freq_factor %g, high_freq_factor %g, original_max_position_embeddings %d: "+
				"the factors must be between %g and %g and low below high, the context positive",
				r.Factor, r.LowFreqFactor, r.HighFreqFactor, r.OriginalContext, minStretch, maxStretch)
		}
		return nil
	}
	if r.Scaling == YaRN {
		if !stretch(r.Factor) || !stretch(r.BetaFast) || !stretch(r.BetaSlow) || r.BetaSlow >= r.BetaFast || r.OriginalContext < 1 || r.OriginalContext > MaxContext ||
			r.Theta <= 1 || !(r.Attention >= minScale && r.Attention <= maxScale) {
			return fmt.Errorf("RoPE scaling yarn with factor %g, beta_fast %g, beta_slow %g, original_max_position_embeddings %d and a factor of attention of %g: "+
				"factor and betas must be between %g and %g and beta_slow below beta_fast, the context positive, and rope_theta above 1",
				r.Factor, r.BetaFast, r.BetaSlow, r.OriginalContext, r.Attention, minStretch, maxStretch)
		}
		return nil
	}
	if r.Scaling != LongRoPE {
		return unsupported.Errorf("RoPE scaling of type %.100q: known are linear, llama3, longrope and yarn", r.Scaling)
	}
	if r.Divisors == nil || r.Long == nil || r.OriginalContext < 2 || r.OriginalContext > MaxContext || !(r.Attention >= minScale && r.Attention <= maxScale) {
		return fmt.Errorf("RoPE scaling longrope with %d short and %d long factors, original_max_position_embeddings %d and a factor of attention of %g: "+
			"there must be factors of both kinds, the context at least 2 and the factor between %g and %g",
			len(r.Divisors), len(r.Long), r.OriginalContext, r.Attention, minScale, maxScale)
	}
	return nil
}
