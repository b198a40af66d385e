//go:build !purego

package asm

import "github.com/antigravity-go/antigravity/quant"

// vectorAVX2 sets the kernels over vectors of floats, and attention.
func vectorAVX2(k *Kernels) { unitAVX2.improve(k) }

// vectorAVX512 sets the kernels over vectors of floats, and attention.
func vectorAVX512(k *Kernels) { unitAVX512.improve(k) }

// wideUnit is a vectorUnit with the assembly that reads and writes element types.
type wideUnit struct {
	vectorUnit
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

var unitAVX2 = wideUnit{
	vectorUnit: vectorUnit{
		add: addAVX2, scale: scaleAVX2, axpy: axpyAVX2, axpby: axpbyAVX2, siluMul: siluMulAVX2, rope: ropeAVX2,
		sumOfSquares: sumOfSquaresAVX2, norm: normAVX2, maximum: maximumAVX2, exponentials: exponentialsAVX2, divide: divideAVX2,
		prepare: [3]func(x *float32, q *int8, d *float32, sums *int32, blocks int){
			quant.Int8x32: prepare32AVX2, quant.Int8x256: prepare256AVX2,
		},
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

var unitAVX512 = wideUnit{
	vectorUnit: vectorUnit{
		add: addAVX512, scale: scaleAVX512, axpy: axpyAVX512, axpby: axpbyAVX512, siluMul: siluMulAVX512, rope: ropeAVX512,
		sumOfSquares: sumOfSquaresAVX512, norm: normAVX512, maximum: maximumAVX512, exponentials: exponentialsAVX512, divide: divideAVX512,
		prepare: [3]func(x *float32, q *int8, d *float32, sums *int32, blocks int){
			quant.Int8x32: prepare32AVX512, quant.Int8x256: prepare256AVX512,
		},
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
func (u *wideUnit) improve(k *Kernels) {
	u.vectorUnit.improve(k)
	k.Narrow, k.Widen, k.Attend = u.Narrow, u.Widen, u.Attend
}

// Widen is the unit's widen.
func (u *wideUnit) Widen(f *quant.Format, dst []float32, src []byte) {
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
func (u *wideUnit) Narrow(f *quant.Format, dst []byte, src []float32) {
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
func (u *wideUnit) converterOf(f *quant.Format, n int) (c converter, whole int) {
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
