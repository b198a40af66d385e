package main

import (
	"encoding/binary"
	"math"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// divisors returns llama3's stretching of RoPE in GGUF's form, a divisor for each of the headDim/2 frequencies; nil for a
// model that does not have it. A wavelength that fits HighFreqFactor times into the original context is kept, one that fits
// fewer than LowFreqFactor times is divided by Factor, and between them the two are blended by the number of turns.
func divisors(r *llama.RoPE, headDim int) *weight {
	if r.Scaling != "llama3" {
		return nil
	}
	var data []byte
	for i := range headDim / 2 {
		frequency := math.Pow(r.Theta, -float64(2*i)/float64(headDim))
		turns := float64(r.OriginalContext) * frequency / (2 * math.Pi)
		share := (turns - r.LowFreqFactor) / (r.HighFreqFactor - r.LowFreqFactor) // of the frequency as it is
		share = min(max(share, 0), 1)
		divisor := float32(1 / (float64((1-share)/r.Factor) + share))
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(divisor))
	}
	return &weight{name: "rope_freqs.weight", dtype: tensor.F32, shape: []int{headDim / 2}, data: data}
}
