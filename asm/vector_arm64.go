//go:build !purego

package asm

import (
	"math"

	"github.com/antigravity-go/antigravity/quant"
)

// vectorNEON sets the kernels over vectors of floats.
func vectorNEON(k *Kernels) {
	k.Add, k.Scale, k.Axpy = addSlices, scaleSlice, axpySlices
	k.SiLUMul, k.RoPE, k.RMSNorm, k.Softmax = siluMulSlices, ropeSlice, rmsNormSlices, softmaxSlice
	k.Prepare, k.Merge = prepareRow, mergePartials
}

// longest is how many elements one call of assembly works on: a few microseconds in the cache, some ten outside, since a
// thread cannot be preempted there.
const longest = 1 << 14

// addSlices is add.
func addSlices(dst, src []float32) {
	src = src[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), longest)
		addNEON(&dst[0], &src[0], n)
		dst, src = dst[n:], src[n:]
	}
}

// scaleSlice is scale.
func scaleSlice(x []float32, v float32) {
	for len(x) > 0 {
		n := min(len(x), longest)
		scaleNEON(&x[0], n, v)
		x = x[n:]
	}
}

// axpySlices is axpy.
func axpySlices(dst []float32, a float32, x []float32) {
	x = x[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), longest)
		axpyNEON(&dst[0], &x[0], n, a)
		dst, x = dst[n:], x[n:]
	}
}

// siluMulSlices is siluMul.
func siluMulSlices(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), longest)
		siluMulNEON(&dst[0], &gate[0], &up[0], n)
		dst, gate, up = dst[n:], gate[n:], up[n:]
	}
}

// ropeSlice is rope.
func ropeSlice(x, cos, sin []float32) {
	half := len(x) / 2
	if half == 0 {
		return
	}
	cos, sin = cos[:half], sin[:half]
	ropeNEON(&x[0], &x[half], &cos[0], &sin[0], half)
}

// rmsNormSlices is rmsNorm.
func rmsNormSlices(dst, x, w []float32, eps float32) {
	if len(x) == 0 {
		return
	}
	dst, w = dst[:len(x)], w[:len(x)]
	mean := sumOfSquaresNEON(&x[0], len(x)) / float32(len(x))
	s := 1 / float32(math.Sqrt(float64(mean+eps)))
	normNEON(&dst[0], &x[0], &w[0], len(x), s)
}

// softmaxSlice is softmax.
func softmaxSlice(x []float32) {
	if len(x) == 0 {
		return
	}
	sum := exponentialsNEON(&x[0], len(x), maximumNEON(&x[0], len(x)))
	divideNEON(&x[0], len(x), sum)
}

// prepareRow is Activation.Prepare.
func prepareRow(a *quant.Activation, t int, x []float32) {
	if block := a.Partner.BlockLen(); a.K == 0 || a.K%block != 0 {
		a.Prepare(t, x)
		return
	}
	row := a.Row(t)
	x = x[:a.K]
	switch a.Partner {
	case quant.Int8x32:
		prepare32NEON(&x[0], &row.Q[0], &row.D[0], &row.Sums[0], len(row.D))
	case quant.Int8x256:
		prepare256NEON(&x[0], &row.Q[0], &row.D[0], &row.Sums[0], len(row.D))
	}
}

// mergePartials is merge.
func mergePartials(dst, src *Partial) {
	if src.Sum == 0 || dst.Sum == 0 || len(src.Out) == 0 {
		merge(dst, src)
		return
	}
	a, b := dst.join(src)
	out := dst.Out[:len(src.Out)]
	axpbyNEON(&out[0], &src.Out[0], len(out), b, a)
}

// addNEON computes dst[i] += src[i] for i < n.
//
//go:noescape
func addNEON(dst, src *float32, n int)

// scaleNEON computes x[i] *= v for i < n.
//
//go:noescape
func scaleNEON(x *float32, n int, v float32)

// divideNEON computes x[i] /= v for i < n.
//
//go:noescape
func divideNEON(x *float32, n int, v float32)

// axpyNEON computes dst[i] = fma(a, x[i], dst[i]) for i < n.
//
//go:noescape
func axpyNEON(dst, x *float32, n int, a float32)

// axpbyNEON computes dst[i] = fma(x[i], a, dst[i]·b) for i < n.
//
//go:noescape
func axpbyNEON(dst, x *float32, n int, a, b float32)

// normNEON computes dst[i] = (x[i]·s)·w[i] for i < n.
//
//go:noescape
func normNEON(dst, x, w *float32, n int, s float32)

// ropeNEON computes lo[i], hi[i] = fma(lo[i], cos[i], -(hi[i]·sin[i])), fma(lo[i], sin[i], hi[i]·cos[i]) for i < n.
//
//go:noescape
func ropeNEON(lo, hi, cos, sin *float32, n int)

// siluMulNEON computes dst[i] = exact.SiLU(gate[i])·up[i] for i < n.
//
//go:noescape
func siluMulNEON(dst, gate, up *float32, n int)

// sumOfSquaresNEON returns Σ x[i]² for i < n, as the portable sumOfSquares does.
//
//go:noescape
func sumOfSquaresNEON(x *float32, n int) float32

// maximumNEON returns the largest x[i] for i < n, n > 0; NaN is ignored unless it comes first. Which zero it gives, of
// several, is open.
//
//go:noescape
func maximumNEON(x *float32, n int) float32

// exponentialsNEON computes x[i] = exact.Exp(x[i]-max) for i < n and returns their sum, as the portable exponentials does.
//
//go:noescape
func exponentialsNEON(x *float32, n int, max float32) float32

// prepare32NEON computes blocks of quant.Activation.Prepare for Int8x32, blocks > 0: elements, scales and sums.
//
//go:noescape
func prepare32NEON(x *float32, q *int8, d *float32, sums *int32, blocks int)

// prepare256NEON computes blocks of quant.Activation.Prepare for Int8x256, blocks > 0: elements, scales and sums.
//
//go:noescape
func prepare256NEON(x *float32, q *int8, d *float32, sums *int32, blocks int)
