package llama

import (
	"math"

	"github.com/antigravity-go/antigravity/internal/exact"
)

// frequencies returns the angle per position of each of the headDim/2 pairs, in radians: theta^(-2i/headDim), stretched as
// the model's scaling says (llama3: the blend of Meta's reference code, by wavelength).
func (r *RoPE) frequencies(headDim int) []float64 {
	freqs := make([]float64, headDim/2)
	for i := range freqs {
		f := 1 / exact.Pow(r.Theta, float64(2*i)/float64(headDim))
		switch {
		case r.Divisors != nil:
			f /= float64(r.Divisors[i])
		case r.Scaling == "linear":
			f /= r.Factor
		case r.Scaling == "llama3":
			f = r.blend(f)
		}
		freqs[i] = f
	}
	return freqs
}

// blend applies llama3 scaling to one frequency.
func (r *RoPE) blend(f float64) float64 {
	turns := float64(r.OriginalContext) * f / (2 * math.Pi) // over the original context
	switch {
	case turns > r.HighFreqFactor:
		return f
	case turns < r.LowFreqFactor:
		return f / r.Factor
	}
	smooth := (turns - r.LowFreqFactor) / (r.HighFreqFactor - r.LowFreqFactor)
	return float64(smooth*f) + float64((1-smooth)*f/r.Factor) // the conversions keep processors from fusing
}

// ropeTable fills rows of [cos…, sin…], one for each position start, start+1, …; dst is [tokens, headDim].
func ropeTable(dst []float32, freqs []float64, start int) {
	half := len(freqs)
	for row := 0; row*2*half < len(dst); row++ {
		angles := dst[row*2*half : (row+1)*2*half]
		for i, f := range freqs {
			sin, cos := exact.Sincos(float64(float64(start+row) * f))
			angles[i], angles[half+i] = float32(cos), float32(sin)
		}
	}
}

// rotation is the model's RoPE for one position; see kvcache.Rotation.
func (m *Model) rotation(row []float32, position int) { ropeTable(row, m.frequencies, position) }
