//go:build (amd64 || arm64) && !purego

package asm

import (
	"math"

	"github.com/antigravity-go/antigravity/quant"
)

// vectorUnit is the assembly over vectors of floats for one width of registers. The stubs' comments say what each computes;
// the methods check lengths and cut long vectors into calls that are short enough for a thread that cannot be preempted.
type vectorUnit struct {
	add          func(dst, src *float32, n int)
	scale        func(x *float32, n int, v float32)
	axpy         func(dst, x *float32, n int, a float32)
	axpby        func(dst, x *float32, n int, a, b float32)
	siluMul      func(dst, gate, up *float32, n int)
	rope         func(lo, hi, cos, sin *float32, n int)
	sumOfSquares func(x *float32, n int) float32
	norm         func(dst, x, w *float32, n int, s float32)
	maximum      func(x *float32, n int) float32
	exponentials func(x *float32, n int, max float32) float32
	divide       func(x *float32, n int, v float32)
	prepare      [3]func(x *float32, q *int8, d *float32, sums *int32, blocks int) // by quant.Partner
}

// improve sets the kernels that the unit has.
func (u *vectorUnit) improve(k *Kernels) {
	k.Add, k.Scale, k.Axpy, k.SiLUMul, k.RoPE = u.Add, u.Scale, u.Axpy, u.SiLUMul, u.RoPE
	k.RMSNorm, k.Softmax, k.Prepare, k.Merge = u.RMSNorm, u.Softmax, u.Prepare, u.Merge
}

// longest is how many elements one call of assembly works on: a few microseconds in the cache, some ten outside.
const longest = 1 << 14

// Add is the unit's add.
func (u *vectorUnit) Add(dst, src []float32) {
	src = src[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), longest)
		u.add(&dst[0], &src[0], n)
		dst, src = dst[n:], src[n:]
	}
}

// Scale is the unit's scale.
func (u *vectorUnit) Scale(x []float32, v float32) {
	for len(x) > 0 {
		n := min(len(x), longest)
		u.scale(&x[0], n, v)
		x = x[n:]
	}
}

// Axpy is the unit's axpy.
func (u *vectorUnit) Axpy(dst []float32, a float32, x []float32) {
	x = x[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), longest)
		u.axpy(&dst[0], &x[0], n, a)
		dst, x = dst[n:], x[n:]
	}
}

// SiLUMul is the unit's siluMul.
func (u *vectorUnit) SiLUMul(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for len(dst) > 0 {
		n := min(len(dst), longest)
		u.siluMul(&dst[0], &gate[0], &up[0], n)
		dst, gate, up = dst[n:], gate[n:], up[n:]
	}
}

// RoPE is the unit's rope.
func (u *vectorUnit) RoPE(x, cos, sin []float32) {
	half := len(x) / 2
	if half == 0 {
		return
	}
	cos, sin = cos[:half], sin[:half]
	u.rope(&x[0], &x[half], &cos[0], &sin[0], half)
}

// RMSNorm is the unit's rmsNorm.
func (u *vectorUnit) RMSNorm(dst, x, w []float32, eps float32) {
	if len(x) == 0 {
		return
	}
	dst, w = dst[:len(x)], w[:len(x)]
	mean := u.sumOfSquares(&x[0], len(x)) / float32(len(x))
	s := 1 / float32(math.Sqrt(float64(mean+eps)))
	u.norm(&dst[0], &x[0], &w[0], len(x), s)
}

// Softmax is the unit's softmax.
func (u *vectorUnit) Softmax(x []float32) {
	if len(x) == 0 {
		return
	}
	sum := u.exponentials(&x[0], len(x), u.maximum(&x[0], len(x)))
	u.divide(&x[0], len(x), sum)
}

// Prepare is Activation.Prepare.
func (u *vectorUnit) Prepare(a *quant.Activation, t int, x []float32) {
	block := a.Partner.BlockLen()
	prepare := u.prepare[a.Partner]
	if prepare == nil || a.K == 0 || a.K%block != 0 {
		a.Prepare(t, x)
		return
	}
	row := a.Row(t)
	x = x[:a.K]
	prepare(&x[0], &row.Q[0], &row.D[0], &row.Sums[0], len(row.D))
}

// Merge is the unit's merge.
func (u *vectorUnit) Merge(dst, src *Partial) {
	if src.Sum == 0 || dst.Sum == 0 || len(src.Out) == 0 {
		merge(dst, src)
		return
	}
	a, b := dst.join(src)
	out := dst.Out[:len(src.Out)]
	u.axpby(&out[0], &src.Out[0], len(out), b, a)
}
