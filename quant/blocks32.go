package quant

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/x448/float16"
)

// BlockQ4_0 holds 32 numbers in 18 bytes: element i is (q−8)·D, where q is the low nibble of QS[i] for i < 16 and the high nibble of
// QS[i−16] for i ≥ 16.
type BlockQ4_0 struct {
	D  float16.Float16
	QS [16]byte
}

// BlockQ4_1 holds 32 numbers in 20 bytes: element i is q·D + M, where q is the nibble that BlockQ4_0 has for it.
type BlockQ4_1 struct {
	D, M float16.Float16
	QS   [16]byte
}

// BlockQ5_0 holds 32 numbers in 22 bytes: element i is (q−16)·D, where the lower four bits of q are the nibble that BlockQ4_0 has
// for it, and the fifth is bit i of the little-endian number QH.
type BlockQ5_0 struct {
	D  float16.Float16
	QH [4]byte
	QS [16]byte
}

// BlockQ5_1 holds 32 numbers in 24 bytes: element i is q·D + M, with the q of BlockQ5_0.
type BlockQ5_1 struct {
	D, M float16.Float16
	QH   [4]byte
	QS   [16]byte
}

// BlockQ8_0 holds 32 numbers in 34 bytes: element i is QS[i]·D.
type BlockQ8_0 struct {
	D  float16.Float16
	QS [32]int8
}

// The bytes of a block, which the file formats fix.
const (
	bytesQ4_0 = 18
	bytesQ4_1 = 20
	bytesQ5_0 = 22
	bytesQ5_1 = 24
	bytesQ8_0 = 34
)

// The Block types must have these sizes: otherwise this does not compile.
var (
	_ [bytesQ4_0]byte = [unsafe.Sizeof(BlockQ4_0{})]byte{}
	_ [bytesQ4_1]byte = [unsafe.Sizeof(BlockQ4_1{})]byte{}
	_ [bytesQ5_0]byte = [unsafe.Sizeof(BlockQ5_0{})]byte{}
	_ [bytesQ5_1]byte = [unsafe.Sizeof(BlockQ5_1{})]byte{}
	_ [bytesQ8_0]byte = [unsafe.Sizeof(BlockQ8_0{})]byte{}
)

// maxInt8 is the largest magnitude of a rounded element of 8 bits: −128 is not used, so that the range is symmetric.
const maxInt8 = 127

// bytesOf returns a view of a block as the bytes that a file has for it.
func bytesOf[T any](block *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(block)), unsafe.Sizeof(*block))
}

// Dequantize writes the 32 elements.
func (b *BlockQ4_0) Dequantize(dst *[32]float32) { _ = Q4_0.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 32 elements.
func (b *BlockQ4_1) Dequantize(dst *[32]float32) { _ = Q4_1.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 32 elements.
func (b *BlockQ5_0) Dequantize(dst *[32]float32) { _ = Q5_0.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 32 elements.
func (b *BlockQ5_1) Dequantize(dst *[32]float32) { _ = Q5_1.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 32 elements.
func (b *BlockQ8_0) Dequantize(dst *[32]float32) { _ = Q8_0.Dequantize(dst[:], bytesOf(b)) }

// Integers reads one block of Q8_0 or Q4_0, whose element i is scale·q[i]. Of other formats it reads nothing: not all of them are
// integers with one scale.
func (f Format) Integers(q *[32]int8, block []byte) (scale float32) {
	switch f {
	case Q8_0:
		for i, v := range block[2:bytesQ8_0] {
			q[i] = int8(v)
		}
	case Q4_0:
		for i, v := range block[2:bytesQ4_0] {
			q[i], q[i+16] = int8(v&15)-8, int8(v>>4)-8
		}
	default:
		return 0
	}
	return half(block)
}

func unpackQ4_0(b []byte, u *unpacked) {
	u.d, u.m = Q4_0.Integers((*[32]int8)(u.q[:]), b), 0
}

func unpackQ4_1(b []byte, u *unpacked) {
	u.d, u.m = half(b), half(b[2:])
	for i, v := range b[4:bytesQ4_1] {
		u.q[i], u.q[i+16] = int8(v&15), int8(v>>4)
	}
}

// unpackFive unpacks the elements of BlockQ5_0 and BlockQ5_1 from their QH and QS, and adds offset to each.
func unpackFive(b []byte, u *unpacked, offset int8) {
	high := binary.LittleEndian.Uint32(b)
	for i, v := range b[4:20] {
		u.q[i] = int8(v&15|byte(high>>i&1<<4)) + offset
		u.q[i+16] = int8(v>>4|byte(high>>(i+16)&1<<4)) + offset
	}
}

func unpackQ5_0(b []byte, u *unpacked) {
	u.d, u.m = half(b), noMinimum()
	unpackFive(b[2:], u, -16)
}

func unpackQ5_1(b []byte, u *unpacked) {
	u.d, u.m = half(b), half(b[2:])
	unpackFive(b[4:], u, 0)
}

func unpackQ8_0(b []byte, u *unpacked) {
	u.d, u.m = Q8_0.Integers((*[32]int8)(u.q[:]), b), 0
}

// quantizeQ4_0 scales so that the element of the largest magnitude, sign included, becomes −8. x/d + 8.5 is one fused
// multiply-add, as the usual builds of llama.cpp compile it: two roundings would differ in 0.3 % of the blocks.
func quantizeQ4_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[bytesQ4_0:], src[32:] {
		extreme := float32(0)
		for _, v := range src[:32] {
			if magnitude(v) > magnitude(extreme) {
				extreme = v
			}
		}
		d := notNaN(extreme / -8)
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
	for ; len(src) > 0; dst, src = dst[bytesQ4_1:], src[32:] {
		lowest, highest := src[0], src[0]
		for _, v := range src[1:32] {
			if v < lowest || v != v { // and nothing is below NaN
				lowest = v
			}
			if v > highest {
				highest = v
			}
		}
		d := notNaN((highest - lowest) / 15)
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
	for ; len(src) > 0; dst, src = dst[bytesQ8_0:], src[32:] {
		d := notNaN(largest(src[:32]) / maxInt8)
		inverse := reciprocal(d)
		putHalf(dst, d)
		for i, v := range src[:32] {
			dst[2+i] = byte(roundAway(float32(v * inverse)))
		}
	}
}

// magnitude returns the bits of |v|. As integers they have the order of the numbers, and NaNs are larger than infinity.
func magnitude(v float32) uint32 { return math.Float32bits(v) &^ (1 << 31) }

// largest returns the largest magnitude of the elements: NaN if one of them is.
func largest(x []float32) float32 {
	m := uint32(0)
	for _, v := range x {
		m = max(m, magnitude(v))
	}
	return math.Float32frombits(m)
}

// notNaN returns d, or infinity for NaN.
func notNaN(d float32) float32 {
	if d != d {
		return float32(math.Inf(1))
	}
	return d
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

// truncate rounds towards zero to an integer between 0 and 255; numbers outside this range and NaN become 0. The quantisers above
// give it numbers between 0 and 16, or what became of a block with infinities and NaNs.
func truncate(v float32) int {
	if v >= 0 && v < 256 {
		return int(v)
	}
	return 0
}

// roundAway rounds to the nearest integer, halves away from zero, and limits it to ±127; NaN becomes 0.
func roundAway(v float32) int8 {
	switch {
	case v >= maxInt8:
		return maxInt8
	case v <= -maxInt8:
		return -maxInt8
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
