//go:build (amd64 || arm64) && !purego

package vectors

import (
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/quant"
)

// Unit is the assembly over vectors of floats for one set of instructions. The comments of the functions that the fields are
// set to say what each computes. The methods are what callers use: they check lengths, and cut long vectors into calls that are
// short enough for a thread that cannot be preempted within assembly.
//
// The calls for addAll of 40,000 elements:
//
//	add(&dst[0], &src[0], 16384)
//	add(&dst[16384], &src[16384], 16384)
//	add(&dst[32768], &src[32768], 7232)
type Unit struct {
	add           func(dst, src *float32, n int)
	mul           func(dst, src *float32, n int)
	scale         func(x *float32, n int, v float32)
	axpy          func(dst, x *float32, n int, a float32)
	axpby         func(dst, x *float32, n int, a, b float32)
	siluMul       func(dst, gate, up *float32, n int)
	sigmoidMul    func(dst, gate, up *float32, n int)
	geluMul       func(dst, gate, up *float32, n int)
	geluErfMul    func(dst, gate, up *float32, n int)
	swiGLUClamped func(dst, gate, up *float32, n int, limit float32)
	softcap       func(x *float32, n int, factor, limit float32)
	rope          func(lo, hi, cos, sin *float32, n int)
	sumOfSquares  func(x *float32, n int) float32
	norm          func(dst, x, w *float32, n int, s float32)
	maximum       func(x *float32, n int) float32
	exponentials  func(x *float32, n int, max float32) float32
	divide        func(x *float32, n int, v float32)
	convolve      func(dst *float32, taps *[]float32, w, b *float32, n, width, stride int)
	prepare32     func(x *float32, q *int8, d *float32, sums *int32, blocks int)
	prepare256    func(x *float32, q *int8, d *float32, sums *int32, blocks int)
}

// Kernels returns the unit's kernels.
func (u *Unit) Kernels() Kernels {
	return Kernels{
		Add: u.addAll, Scale: u.scaleAll, Divide: u.divideAll, Axpy: u.axpyAll, SiLUMul: u.siluMulAll, GELUMul: u.geluMulAll, GELUErfMul: u.geluErfMulAll, SwiGLUClamped: u.SwiGLUClamped, Softcap: u.Softcap,
		Mul: u.mulAll, SigmoidMul: u.sigmoidMulAll, Exp: u.exponential, Convolve: u.convolveAll,
		RoPE: u.ropeHead, RMSNorm: u.rmsNorm, Softmax: u.softmax, Prepare: u.Prepare,
	}
}

// MaxElements is how many elements one call of assembly works on at most: a few microseconds for those in the cache, some ten
// for those outside. It is a multiple of Lanes, and of every format's block.
const MaxElements = 1 << 14

// addAll is add.
func (u *Unit) addAll(dst, src []float32) {
	src = src[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), MaxElements)
		u.add(&dst[0], &src[0], n)
		dst, src = dst[n:], src[n:]
	}
}

// mulAll is mul.
func (u *Unit) mulAll(dst, src []float32) {
	src = src[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), MaxElements)
		u.mul(&dst[0], &src[0], n)
		dst, src = dst[n:], src[n:]
	}
}

// scaleAll is scale.
func (u *Unit) scaleAll(x []float32, v float32) {
	for len(x) > 0 {
		n := min(len(x), MaxElements)
		u.scale(&x[0], n, v)
		x = x[n:]
	}
}

// divideAll is divide.
func (u *Unit) divideAll(x []float32, v float32) {
	for len(x) > 0 {
		n := min(len(x), MaxElements)
		u.divide(&x[0], n, v)
		x = x[n:]
	}
}

// axpyAll is Axpy.
func (u *Unit) axpyAll(dst []float32, a float32, x []float32) {
	x = x[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), MaxElements)
		u.axpy(&dst[0], &x[0], n, a)
		dst, x = dst[n:], x[n:]
	}
}

// siluMulAll is siluMul.
func (u *Unit) siluMulAll(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), MaxElements)
		u.siluMul(&dst[0], &gate[0], &up[0], n)
		dst, gate, up = dst[n:], gate[n:], up[n:]
	}
}

// sigmoidMulAll is sigmoidMul.
func (u *Unit) sigmoidMulAll(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), MaxElements)
		u.sigmoidMul(&dst[0], &gate[0], &up[0], n)
		dst, gate, up = dst[n:], gate[n:], up[n:]
	}
}

// geluMulAll is geluMul.
func (u *Unit) geluMulAll(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), MaxElements)
		u.geluMul(&dst[0], &gate[0], &up[0], n)
		dst, gate, up = dst[n:], gate[n:], up[n:]
	}
}

// geluErfMulAll is geluErfMul.
func (u *Unit) geluErfMulAll(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), MaxElements)
		u.geluErfMul(&dst[0], &gate[0], &up[0], n)
		dst, gate, up = dst[n:], gate[n:], up[n:]
	}
}

// SwiGLUClamped is the portable SwiGLUClamped.
func (u *Unit) SwiGLUClamped(dst, gate, up []float32, limit float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), MaxElements)
		u.swiGLUClamped(&dst[0], &gate[0], &up[0], n, limit)
		dst, gate, up = dst[n:], gate[n:], up[n:]
	}
}

// convolveAll is convolve. Callers cut long rows themselves: taps cannot be cut here without a copy.
func (u *Unit) convolveAll(dst []float32, taps [][]float32, w []float32, stride int, b []float32) {
	if len(dst) == 0 || len(taps) == 0 {
		convolve(dst, taps, w, stride, b)
		return
	}
	for _, tap := range taps {
		_ = tap[:len(dst)]
	}
	_ = w[(len(taps)-1)*stride:][:len(dst)]
	var bias *float32
	if b != nil {
		bias = &b[:len(dst)][0]
	}
	u.convolve(&dst[0], &taps[0], &w[0], bias, len(dst), len(taps), 4*stride)
}

// Softcap is the portable softcap.
func (u *Unit) Softcap(x []float32, limit float32) {
	factor := exact.SoftcapFactor(limit)
	for len(x) > 0 {
		n := min(len(x), MaxElements)
		u.softcap(&x[0], n, factor, limit)
		x = x[n:]
	}
}

// ropeHead is rope.
func (u *Unit) ropeHead(x, cos, sin []float32) {
	half := len(x) / 2
	if half == 0 {
		return
	}
	cos, sin = cos[:half], sin[:half]
	u.rope(&x[0], &x[half], &cos[0], &sin[0], half)
}

// rmsNorm is the portable rmsNorm.
func (u *Unit) rmsNorm(dst, x, w []float32, eps float32) {
	if len(x) == 0 {
		return
	}
	dst, w = dst[:len(x)], w[:len(x)]
	mean := u.sumOfSquares(&x[0], len(x)) / float32(len(x))
	u.norm(&dst[0], &x[0], &w[0], len(x), normScale(mean, eps))
}

// softmax is the portable softmax.
func (u *Unit) softmax(x []float32) {
	if len(x) == 0 {
		return
	}
	u.divide(&x[0], len(x), u.Exponentials(x, u.Maximum(x)))
}

// Maximum is the portable Maximum of at least one element, except that of zeros of both signs it may give either.
func (u *Unit) Maximum(x []float32) float32 { return u.maximum(&x[0], len(x)) }

// Exponentials is the portable Exponentials of at least one element.
func (u *Unit) Exponentials(x []float32, max float32) float32 {
	return u.exponentials(&x[0], len(x), max)
}

// exponential is the portable exponential.
func (u *Unit) exponential(x []float32) {
	for len(x) > 0 {
		n := min(len(x), MaxElements)
		u.exponentials(&x[0], n, 0)
		x = x[n:]
	}
}

// Axpby computes dst[i] = fma(x[i], a, dst[i]·b) for the elements of x, at least one.
func (u *Unit) Axpby(dst, x []float32, a, b float32) {
	dst = dst[:len(x)]
	u.axpby(&dst[0], &x[0], len(x), a, b)
}

// Prepare is Activation.Prepare.
func (u *Unit) Prepare(a *quant.Activation, t int, x []float32) {
	prepare := u.prepare32
	if a.Form == quant.Int8x256 {
		prepare = u.prepare256
	}
	if a.Form == quant.Float || a.K == 0 || a.K%a.Form.BlockLen() != 0 {
		a.Prepare(t, x)
		return
	}
	row := a.Row(t)
	x = x[:a.K]
	prepare(&x[0], &row.Q[0], &row.D[0], &row.Sums[0], len(row.D))
}
