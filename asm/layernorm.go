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
	for ; len(x) >= Lanes; x = x[Lanes:] {
		part := (*[Lanes]float32)(x)
		for i := range lanes {
			lanes[i] += part[i]
		}
	}
	for i, v := range x {
		lanes[i] += v
	}
	return vectors.Fold(&lanes)
}
