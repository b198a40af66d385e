//go:build !purego

package asm

import (
	"math"

	"github.com/antigravity-go/antigravity/quant"
)

// vectorAVX2 sets the kernels over vectors of floats, and attention.
func vectorAVX2(k *Kernels) { unitAVX2.improve(k) }

// vectorAVX512 sets the kernels over vectors of floats, and attention.
func vectorAVX512(k *Kernels) { unitAVX512.improve(k) }

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

	width  int // elements of a register
	floats []floatReader
	blocks []blockReader
	scores func(out, panel, q *float32, headDim, rows int)

	scores32 func(out *float32, panel *int32, scales *float32, q *int16, d *float32, headDim, rows int)
	widen16  func(dst *int16, src *int8, n int)
}

// floatReader is the assembly that reads a float format, as such, as keys and as values, and writes it.
type floatReader struct {
	format    *quant.Format
	narrow    func(dst *byte, src *float32, n int)
	widen     func(dst *float32, src *byte, n int)
	transpose func(panel *float32, k *byte, stride, n, headDim int)
	values    func(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim, rows int)
}

// blockReader is the assembly that reads a format of blocks of 32, as such and as keys, and writes it; its values are widened
// and then read as float32.
type blockReader struct {
	format    *quant.Format
	narrow    func(dst *byte, src *float32, n int)
	widen     func(dst *float32, src *byte, n int)
	transpose func(panel *int32, scales *float32, k *byte, stride, n, headDim int)
	values    func(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim, rows int)
}

var unitAVX2 = vectorUnit{
	add: addAVX2, scale: scaleAVX2, axpy: axpyAVX2, axpby: axpbyAVX2, siluMul: siluMulAVX2, rope: ropeAVX2,
	sumOfSquares: sumOfSquaresAVX2, norm: normAVX2, maximum: maximumAVX2, exponentials: exponentialsAVX2, divide: divideAVX2,
	prepare: [3]func(x *float32, q *int8, d *float32, sums *int32, blocks int){
		quant.Int8x32: prepare32AVX2, quant.Int8x256: prepare256AVX2,
	},
	width: 8, scores: scoresAVX2, scores32: scores32AVX2, widen16: widen16AVX2,
	floats: []floatReader{
		{quant.F16, narrowF16AVX2, widenF16AVX2, transposeF16AVX2, valuesF16AVX2},
		{quant.F32, nil, nil, transposeF32AVX2, valuesF32AVX2},
		{quant.BF16, narrowBF16AVX2, widenBF16AVX2, transposeBF16AVX2, valuesBF16AVX2},
	},
	blocks: []blockReader{
		{quant.Q8_0, narrowQ8_0AVX2, widenQ8_0AVX2, transposeQ8_0AVX2, valuesF32AVX2},
		{quant.Q4_0, narrowQ4_0AVX2, widenQ4_0AVX2, transposeQ4_0AVX2, valuesF32AVX2},
		{quant.Q4_1, nil, widenQ4_1AVX2, nil, nil},
	},
}

var unitAVX512 = vectorUnit{
	add: addAVX512, scale: scaleAVX512, axpy: axpyAVX512, axpby: axpbyAVX512, siluMul: siluMulAVX512, rope: ropeAVX512,
	sumOfSquares: sumOfSquaresAVX512, norm: normAVX512, maximum: maximumAVX512, exponentials: exponentialsAVX512, divide: divideAVX512,
	prepare: [3]func(x *float32, q *int8, d *float32, sums *int32, blocks int){
		quant.Int8x32: prepare32AVX512, quant.Int8x256: prepare256AVX512,
	},
	width: 16, scores: scoresAVX512, scores32: scores32AVX512, widen16: widen16AVX512,
	floats: []floatReader{
		{quant.F16, narrowF16AVX512, widenF16AVX512, transposeF16AVX512, valuesF16AVX512},
		{quant.F32, nil, nil, transposeF32AVX512, valuesF32AVX512},
		{quant.BF16, narrowBF16AVX512, widenBF16AVX512, transposeBF16AVX512, valuesBF16AVX512},
	},
	blocks: []blockReader{
		{quant.Q8_0, narrowQ8_0AVX512, widenQ8_0AVX512, transposeQ8_0AVX512, valuesF32AVX512},
		{quant.Q4_0, narrowQ4_0AVX512, widenQ4_0AVX512, transposeQ4_0AVX512, valuesF32AVX512},
		{quant.Q4_1, nil, widenQ4_1AVX512, nil, nil},
	},
}

// improve sets the kernels that the unit has.
func (u *vectorUnit) improve(k *Kernels) {
	k.Add, k.Scale, k.Axpy, k.SiLUMul, k.RoPE = u.Add, u.Scale, u.Axpy, u.SiLUMul, u.RoPE
	k.Narrow, k.Widen = u.Narrow, u.Widen
	k.RMSNorm, k.Softmax, k.Prepare, k.Merge, k.Attend = u.RMSNorm, u.Softmax, u.Prepare, u.Merge, u.Attend
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

// Widen is the unit's widen.
func (u *vectorUnit) Widen(f *quant.Format, dst []float32, src []byte) {
	if len(src) != f.Bytes(len(dst)) || len(dst)%f.BlockLen != 0 {
		return // as the portable form
	}
	if kernel, n := u.converterOf(f, len(dst)); kernel.widen != nil {
		for ; n > 0; n -= longest {
			m := min(n, longest)
			kernel.widen(&dst[0], &src[0], m)
			dst, src = dst[m:], src[f.Bytes(m):]
		}
	}
	widen(f, dst, src)
}

// Narrow is the unit's narrow.
func (u *vectorUnit) Narrow(f *quant.Format, dst []byte, src []float32) {
	if len(dst) != f.Bytes(len(src)) || len(src)%f.BlockLen != 0 {
		return // as the portable form
	}
	if kernel, n := u.converterOf(f, len(src)); kernel.narrow != nil {
		for ; n > 0; n -= longest {
			m := min(n, longest)
			kernel.narrow(&dst[0], &src[0], m)
			dst, src = dst[f.Bytes(m):], src[m:]
		}
	}
	narrow(f, dst, src)
}

// converter is the assembly that writes and reads a format, nil where there is none.
type converter struct {
	narrow func(dst *byte, src *float32, n int)
	widen  func(dst *float32, src *byte, n int)
}

// converterOf returns a format's converter, and how many of n elements it can do: whole strips or blocks.
func (u *vectorUnit) converterOf(f *quant.Format, n int) (c converter, whole int) {
	for i := range u.floats {
		if r := &u.floats[i]; r.format == f {
			return converter{r.narrow, r.widen}, n &^ (Lanes - 1)
		}
	}
	for i := range u.blocks {
		if r := &u.blocks[i]; r.format == f {
			return converter{r.narrow, r.widen}, n
		}
	}
	return converter{}, 0
}
