package llama

import "github.com/antigravity-go/antigravity/internal/exact"

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
