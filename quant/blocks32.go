package quant

import (
	"unsafe"

	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/x448/float16"
)

// BlockQ4_0 holds 32 numbers in 18 bytes: element i is (q−8)·D, q the low nibble of QS[i] for i < 16 and the high nibble of
// QS[i−16] from there on.
type BlockQ4_0 struct {
	D  float16.Float16
	QS [16]byte
}

// BlockQ4_1 holds 32 numbers in 20 bytes: element i is q·D + M, the nibbles as in BlockQ4_0.
type BlockQ4_1 struct {
	D, M float16.Float16
	QS   [16]byte
}

// BlockQ8_0 holds 32 numbers in 34 bytes: element i is QS[i]·D.
type BlockQ8_0 struct {
	D  float16.Float16
	QS [32]int8
}

// The sizes are part of the file formats.
var (
	_ [18]byte = [unsafe.Sizeof(BlockQ4_0{})]byte{}
	_ [20]byte = [unsafe.Sizeof(BlockQ4_1{})]byte{}
	_ [34]byte = [unsafe.Sizeof(BlockQ8_0{})]byte{}
)

// bytesOf views a block as the bytes that a file has.
func bytesOf[T any](block *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(block)), unsafe.Sizeof(*block))
}

// Dequantize writes the 32 elements.
func (b *BlockQ4_0) Dequantize(dst *[32]float32) { _ = Q4_0.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 32 elements.
func (b *BlockQ4_1) Dequantize(dst *[32]float32) { _ = Q4_1.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 32 elements.
func (b *BlockQ8_0) Dequantize(dst *[32]float32) { _ = Q8_0.Dequantize(dst[:], bytesOf(b)) }

func unpackQ4_0(b []byte, u *unpacked) {
	u.d, u.m = half(b), 0
	for i, v := range b[2:18] {
		u.q[i], u.q[i+16] = int8(v&15)-8, int8(v>>4)-8
	}
}

func unpackQ4_1(b []byte, u *unpacked) {
	u.d, u.m = half(b), half(b[2:])
	for i, v := range b[4:20] {
		u.q[i], u.q[i+16] = int8(v&15), int8(v>>4)
	}
}

func unpackQ8_0(b []byte, u *unpacked) {
	u.d, u.m = half(b), 0
	for i, v := range b[2:34] {
		u.q[i] = int8(v)
	}
}

// quantizeQ4_0 scales so that the element of the largest magnitude, sign included, becomes −8. x/d + 8.5 is one fused
// multiply-add, as the usual builds of llama.cpp compile it: two roundings would differ in 0.3 % of the blocks.
func quantizeQ4_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[18:], src[32:] {
		extreme := float32(0)
		for _, v := range src[:32] {
			if magnitude(v) > magnitude(extreme) {
				extreme = v
			}
		}
		d := extreme / -8
		inverse := reciprocal(d)
		putHalf(dst, d)
		for i := range 16 {
			lo := min(15, truncate(exact.FMA(src[i], inverse, 8.5)))
			hi := min(15, truncate(exact.FMA(src[i+16], inverse, 8.5)))
			dst[2+i] = byte(lo | hi<<4)
		}
	}
}

// quantizeQ4_1 maps the range from the smallest to the largest element to 0 … 15.
func quantizeQ4_1(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[20:], src[32:] {
		lowest, highest := src[0], src[0]
		for _, v := range src[1:32] {
			if v < lowest {
				lowest = v
			}
			if v > highest {
				highest = v
			}
		}
		d := (highest - lowest) / 15
		inverse := reciprocal(d)
		putHalf(dst, d)
		putHalf(dst[2:], lowest)
		for i := range 16 {
			lo := min(15, truncate(exact.FMA(src[i]-lowest, inverse, 0.5)))
			hi := min(15, truncate(exact.FMA(src[i+16]-lowest, inverse, 0.5)))
			dst[4+i] = byte(lo | hi<<4)
		}
	}
}

// quantizeQ8_0 maps the largest magnitude to 127 and rounds halves away from zero.
func quantizeQ8_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[34:], src[32:] {
		d := largest(src[:32]) / 127
		inverse := reciprocal(d)
		putHalf(dst, d)
		for i, v := range src[:32] {
			dst[2+i] = byte(roundAway(float32(v * inverse)))
		}
	}
}

// magnitude returns |v|.
func magnitude(v float32) float32 {
	if v < 0 {
		return -v
	}
	return v
}

// largest returns the largest magnitude; NaNs are passed over.
func largest(x []float32) float32 {
	m := float32(0)
	for _, v := range x {
		if a := magnitude(v); a > m {
			m = a
		}
	}
	return m
}

// reciprocal returns 1/d, and 0 for a d that is 0 or so small that 1/d overflows.
func reciprocal(d float32) float32 {
	if d == 0 {
		return 0
	}
	if r := 1 / d; r-r == 0 {
		return r
	}
	return 0
}

// truncate converts to an integer between 0 and 255, towards zero; what is outside, or no number, becomes 0. The quantisers'
// own values are between 0 and 16.
func truncate(v float32) int {
	if v >= 0 && v < 256 {
		return int(v)
	}
	return 0
}

// roundAway rounds to the nearest integer, halves away from zero, and limits it to ±127; NaN becomes 0.
func roundAway(v float32) int8 {
	switch {
	case v >= 127:
		return 127
	case v <= -127:
		return -127
	case v >= 0:
		n := int8(v)
		if v-float32(n) >= 0.5 {
			n++
		}
		return n
	case v < 0:
		return -roundAway(-v)
	}
	return 0
}
