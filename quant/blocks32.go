package quant

import (
	"encoding/binary"
	"math"

	"github.com/antigravity-go/antigravity/internal/exact"
)

// The blocks of 32 elements. A comment spells out each layout: the parts of a block in the order in which they lie, with their sizes in
// bytes, and how an element is made of them. d and m are numbers of binary16. For example, element 0 is -8, element 16 is 7, and the
// others are 0:
//
//	Q4_0   00 3c         d = 1
//	       f0            element 0 is (0-8)·d, element 16 is (15-8)·d
//	       88, 15 times  the others are (8-8)·d
//	Q4_1   00 3c         d = 1, the range of 15 divided by 15
//	       00 c8         m = -8, the smallest element
//	       f0            element 0 is 0·d + m, element 16 is 15·d + m
//	       88, 15 times  the others are 8·d + m

// maxInt8 is the largest magnitude of a rounded element of 8 bits: −128 is not used, so that the range is symmetric.
const maxInt8 = 127

// Integers reads one block of Q8_0 or Q4_0: element i is scale·q[i]. It reads no other formats, because not all of them are integers with
// one scale.
func (f Format) Integers(q *[32]int8, block []byte) (scale float32) {
	switch f {
	case Q8_0:
		for i, v := range block[2:34] {
			q[i] = int8(v)
		}
	case Q4_0:
		for i, v := range block[2:18] {
			q[i], q[i+16] = int8(v&15)-8, int8(v>>4)-8
		}
	default:
		return 0
	}
	return half(block)
}

// unpackQ4_0 unpacks d 2, qs 16: element i is (q−8)·d, q being the low nibble of qs[i] for i < 16 and the high nibble of qs[i−16] for
// i ≥ 16.
func unpackQ4_0(b []byte, u *unpacked) {
	u.d, u.m = Q4_0.Integers((*[32]int8)(u.q[:]), b), 0
}

// unpackQ4_1 unpacks d 2, m 2, qs 16: element i is q·d + m, q being the nibble that Q4_0 has for it.
func unpackQ4_1(b []byte, u *unpacked) {
	u.d, u.m = half(b), half(b[2:])
	for i, v := range b[4:20] {
		u.q[i], u.q[i+16] = int8(v&15), int8(v>>4)
	}
}

// packNibbles writes 32 integers as Q4_0 has them, after adding the bias.
func packNibbles(b []byte, q []int8, bias int8) {
	for i := range 16 {
		b[i] = byte(q[i]+bias)&15 | byte(q[i+16]+bias)<<4
	}
}

// unpackQ5_0 unpacks d 2, qh 4, qs 16: element i is (q−16)·d. The lower four bits of q are the nibble at the same place as in Q4_0, and the
// fifth is bit i of the little-endian number qh.
func unpackQ5_0(b []byte, u *unpacked) {
	u.d, u.m = half(b), noMinimum()
	unpackFive(b[2:], u, -16)
}

// unpackQ5_1 unpacks d 2, m 2, qh 4, qs 16: element i is q·d + m, with the q of Q5_0.
func unpackQ5_1(b []byte, u *unpacked) {
	u.d, u.m = half(b), half(b[2:])
	unpackFive(b[4:], u, 0)
}

// unpackFive unpacks the elements of Q5_0 and Q5_1 from their qh and qs, and adds offset to each.
func unpackFive(b []byte, u *unpacked, offset int8) {
	high := binary.LittleEndian.Uint32(b)
	for i, v := range b[4:20] {
		u.q[i] = int8(v&15|byte(high>>i&1<<4)) + offset
		u.q[i+16] = int8(v>>4|byte(high>>(i+16)&1<<4)) + offset
	}
}

// packFive writes 32 integers of five bits: Q5_0's qh and qs.
func packFive(b []byte, q []int8, bias int8) {
	var high uint32
	for i, v := range q {
		high |= uint32(byte(v+bias)>>4&1) << i
	}
	binary.LittleEndian.PutUint32(b, high)
	packNibbles(b[4:20], q, bias)
}

// unpackQ8_0 unpacks d 2, qs 32: element i is qs[i]·d.
func unpackQ8_0(b []byte, u *unpacked) {
	u.d, u.m = Q8_0.Integers((*[32]int8)(u.q[:]), b), 0
}

// quantizeQ4_0 scales so that the element of the largest magnitude, sign included, becomes −8. x/d + 8.5 is one fused
// multiply-add, as the usual builds of llama.cpp compile it: two roundings would differ in 0.3 % of the blocks.
func quantizeQ4_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[Q4_0.BlockBytes():], src[32:] {
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
	for ; len(src) > 0; dst, src = dst[Q4_1.BlockBytes():], src[32:] {
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
	for ; len(src) > 0; dst, src = dst[Q8_0.BlockBytes():], src[32:] {
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

// truncate rounds towards zero to an integer between 0 and 255; numbers outside this range and NaN become 0. The quantisers above give it
// numbers between 0 and 16, or the values of a block with infinities and NaNs.
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
