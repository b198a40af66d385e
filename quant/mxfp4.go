package quant

import (
	"fmt"
	"math"
	"math/bits"
)

// The blocks of the Open Compute Project's microscaling formats (MX): 32 elements of few bits, with a power of two as their scale.

// fp4 are the numbers of four bits of MXFP4 (E2M1), doubled. The places of numbers below 0 are eight above those of their magnitudes.
var fp4 = [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// damagedExponent is the exponent of a block of numbers that are not finite: NaN in the MX formats, and an infinite scale here.
const damagedExponent = 255

// powerOfTwo returns 2^(e−128), half of the scale that e stands for in the MX formats, and infinity for damagedExponent. The numbers for
// 0 and 1 are below float32's normal range.
func powerOfTwo(e byte) float32 {
	return math.Float32frombits(max(uint32(e)<<23, 1<<22)) * 0.5 // 2^(e−127); 2^−127 is subnormal
}

// unpackMXFP4 unpacks e 1, qs 16: element i is fp4[q]·2^(e−128), q being the nibble that Q4_0 has for it.
func unpackMXFP4(b []byte, u *unpacked) {
	u.d, u.m = powerOfTwo(b[0]), noMinimum()
	for i, v := range b[1:17] {
		u.q[i], u.q[i+16] = fp4[v&15], fp4[v>>4]
	}
}

// quantizeMXFP4 takes the power of two with which the largest element becomes 8 to 16, and rounds to the nearest of fp4, halves to the
// smaller magnitude.
func quantizeMXFP4(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[MXFP4.BlockBytes():], src[32:] {
		clear(dst[:MXFP4.BlockBytes()])
		top := largest(src[:32])
		if top-top != 0 {
			dst[0] = damagedExponent
			continue
		}
		if top == 0 {
			continue
		}
		dst[0] = byte(max(logarithm(top)-2+127, 0))
		d := powerOfTwo(dst[0])
		for i := range 16 {
			dst[1+i] = nearestFP4(src[i], d) | nearestFP4(src[i+16], d)<<4
		}
	}
}

// nearestFP4 returns the place in fp4 of the number that is nearest to v/d.
func nearestFP4(v, d float32) (place byte) {
	x := math.Float32frombits(magnitude(v))
	least := x
	for i, q := range fp4[1:8] {
		distance := math.Float32frombits(magnitude(float32(q)*d - x)) // the product is exact
		if distance < least {
			least, place = distance, byte(i+1)
		}
	}
	if v < 0 && place > 0 {
		place += 8
	}
	return place
}

// logarithm returns the logarithm of x > 0 to base 2, rounded first to float32 and then down. So llama.cpp has it, and so the logarithm
// of a number that is a few units below a power of two is that of the power: which number is, depends on how far apart float32 are there.
func logarithm(x float32) int {
	b := math.Float32bits(x)
	low, behind := int(b>>23)-127, 1<<23-int(b&(1<<23-1)) // behind the next power of two, in units
	if low == -127 {
		return low // or lower
	}
	next := low + 1
	spacing := bits.Len(uint(max(next, -next))) - 1
	if next > 0 && next&(next-1) == 0 {
		spacing-- // below a power of two they are closer
	}
	if spacing > 0 && float64(behind) <= math.Ldexp(math.Ln2, spacing) {
		return next
	}
	return low
}

// JoinMXFP4 writes blocks of MXFP4 from the two tensors in which folders of gpt-oss have them: scales has a byte for each block, its e;
// blocks has 16 bytes for each, with element 2i in the low nibble of byte i and element 2i+1 in the high one. dst has room for len(scales)
// blocks of 17 bytes.
func JoinMXFP4(dst, blocks, scales []byte) error {
	size := MXFP4.BlockBytes()
	if len(blocks) != 16*len(scales) || len(dst) != size*len(scales) {
		return fmt.Errorf("quant: join %d bytes of quants and %d scales to %d bytes of mxfp4: there must be 16 and 1 for each %d", len(blocks), len(scales), len(dst), size)
	}
	for _, e := range scales {
		from, to := blocks[:16], dst[1:size]
		dst[0] = e
		for i := range 8 {
			a, b := from[i], from[8+i] // elements 2i and 2i+1, and those 16 later
			to[2*i], to[2*i+1] = a&15|b<<4, a>>4|b&^15
		}
		dst, blocks = dst[size:], blocks[16:]
	}
	return nil
}
