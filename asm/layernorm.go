package asm

import "github.com/antigravity-go/antigravity/asm/internal/vectors"

// LayerNorm replaces a row x by (x − mean(x))/√(var(x) + eps)·w + b (arXiv 1607.06450). The slices have one length; a nil b adds nothing.
//
// It is made of the other kernels: the sum of x is accumulated in Lanes lanes, by additions, and folded as other sums are; the mean is
// subtracted from each element; the rest is RMSNorm's, since the mean of the squares is then the variance; b is added.
func (k *Kernels) LayerNorm(x, w, b []float32, eps float32) {
	if len(x) == 0 {
		return
	}
	mean := k.sum(x) / float32(len(x))
	withOnes(x, func(x, ones []float32) { k.Axpy(x, -mean, ones) })
	k.RMSNorm(x, x, w, eps)
	if b != nil {
		k.Add(x, b)
	}
}

// sum returns the sum of a row, accumulated in lanes.
func (k *Kernels) sum(x []float32) float32 {
	var lanes [Lanes]float32
	for first := 0; first < Lanes; first += Lanes / 2 { // half of the lanes at a time: these stay in registers
		var a, b, c, d, e, f, g, h float32
		for rest := x; len(rest) >= Lanes; rest = rest[Lanes:] {
			part := (*[Lanes / 2]float32)(rest[first:])
			a, b, c, d = a+part[0], b+part[1], c+part[2], d+part[3]
			e, f, g, h = e+part[4], f+part[5], g+part[6], h+part[7]
		}
		*(*[Lanes / 2]float32)(lanes[first:]) = [Lanes / 2]float32{a, b, c, d, e, f, g, h}
	}
	for i, v := range x[len(x)/Lanes*Lanes:] {
		lanes[i] += v
	}
	return vectors.Fold(&lanes)
}
