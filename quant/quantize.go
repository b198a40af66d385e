package quant

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Quantize rounds src, whole blocks, into dst. The result is the same on every machine.
//
// What a format cannot hold is not hidden: a block of a quantised format with a NaN or an infinity, or with numbers so large that its
// scale is beyond binary16, gets an infinite scale, so that its products are infinite or NaN. FirstNotFinite finds such blocks.
//
// Of the float formats, and of Q4_0, Q4_1, Q8_0 and MXFP4, the result is what GGML's reference code gives: files come out bit-identical to
// llama.cpp's. Of the others it is what a search for a small sum of squared errors finds, in which large elements weigh a little more.
func (f Format) Quantize(dst []byte, src []float32) error {
	if err := f.check("quantize", len(src), len(dst)); err != nil {
		return err
	}
	switch f {
	case F32:
		copy(dst, rawBytes(src))
	case F16:
		narrowF16(dst, src)
	case BF16:
		narrowBF16(dst, src)
	case Q4_0:
		quantizeQ4_0(dst, src)
	case Q4_1:
		quantizeQ4_1(dst, src)
	case Q8_0:
		quantizeQ8_0(dst, src)
	case MXFP4:
		quantizeMXFP4(dst, src)
	default:
		f.searchBlocks(dst, src, nil)
	}
	return nil
}

// QuantizeWeighted is Quantize for rows of len(importance) elements, whole blocks each: the error of an element counts as much as
// its column's importance says, a finite number that is not negative, such as the mean square of the activations that the column is
// multiplied with. Without importance, in formats of eight bits and more, and in MXFP4, it is Quantize.
func (f Format) QuantizeWeighted(dst []byte, src, importance []float32) error {
	if len(importance) == 0 || !f.searched() {
		return f.Quantize(dst, src)
	}
	if err := f.check("quantize", len(src), len(dst)); err != nil {
		return err
	}
	if cols := len(importance); len(src)%cols != 0 || cols%f.BlockLen() != 0 {
		return fmt.Errorf("quant: quantize %d elements to %s with the importance of %d columns: there must be whole rows of whole blocks of %d",
			len(src), f, cols, f.BlockLen())
	}
	total := 0.0
	for i, v := range importance {
		if !(v >= 0 && v <= math.MaxFloat32) {
			return fmt.Errorf("quant: quantize to %s: column %d has the importance %g: it must be a finite number that is not negative", f, i, v)
		}
		total += float64(v)
	}
	if total == 0 {
		return f.Quantize(dst, src)
	}
	f.searchBlocks(dst, src, importance)
	return nil
}

// searched reports whether the format's rounded numbers can be searched.
func (f Format) searched() bool { return f.facts().rounding.tries > 0 }

// leastImportance is added to the importance of each column, as a part of the mean: columns without any are rounded well, too.
const leastImportance = 1e-4

// searchBlocks rounds rows of len(importance) elements, or of any length without importance.
func (f Format) searchBlocks(dst []byte, src, importance []float32) {
	blockLen, blockBytes := f.BlockLen(), f.BlockBytes()
	var r rounder
	r.prepare(f)
	least := 0.0
	for _, v := range importance {
		least += float64(v)
	}
	if len(importance) > 0 {
		least *= leastImportance / float64(len(importance))
	}
	var u unpacked
	for at := 0; at < len(src); at, dst = at+blockLen, dst[blockBytes:] {
		hidden := false // something that the block cannot show
		for i, v := range src[at : at+blockLen] {
			r.x[i] = finite(v)
			hidden = hidden || v-v != 0
		}
		r.favourLarge(r.steep && len(importance) == 0)
		if len(importance) > 0 {
			for i, v := range importance[at%len(importance):][:blockLen] {
				r.w[i] *= float64(v) + least
			}
		}
		r.round(&u)
		if hidden || u.d >= maxHalf || u.d <= -maxHalf || u.m >= maxHalf || u.m <= -maxHalf {
			u.d = float32(math.Inf(1))
		}
		f.pack(dst, &u)
	}
}

// FirstNotFinite returns the index of the first block of src, whole blocks, that has a number that is not finite, or -1. A block of a float
// format is one element. Of quantised blocks it reads only the scales and minimums.
func (f Format) FirstNotFinite(src []byte) int {
	facts := f.facts()
	size, at, exponent := facts.blockBytes, facts.scaleAt, uint16(0x7c00) // all ones in infinities and NaNs
	if f == F32 || f == BF16 {
		exponent = 0x7f80
	}
	if facts.exponent {
		for i := 0; len(src) >= size; i, src = i+1, src[size:] {
			if src[at] == damagedExponent {
				return i
			}
		}
		return -1
	}
	for i := 0; size > 0 && len(src) >= size; i, src = i+1, src[size:] {
		if half := binary.LittleEndian.Uint16(src[at:]); half&exponent == exponent {
			return i
		}
		if facts.minimum {
			if half := binary.LittleEndian.Uint16(src[at+2:]); half&exponent == exponent {
				return i
			}
		}
	}
	return -1
}

// NotFinite returns the error for a row in which FirstNotFinite found a number that is not finite; the row is counted from 0.
func (f Format) NotFinite(row int) error {
	return fmt.Errorf("row %d has a number that is NaN, infinite or too large for %s: the weights are damaged, or need another type", row, f)
}

// finite returns v, 0 for NaN and the largest number of its sign for an infinity.
func finite(v float32) float64 {
	if v != v {
		return 0
	}
	return max(-math.MaxFloat32, min(math.MaxFloat32, float64(v)))
}
