package quant

import (
	"unsafe"

	"github.com/x448/float16"
)

// BlockQ4_K holds 256 numbers in 144 bytes, in eight groups of 32: an element of group g is D·scale[g]·q − DMin·min[g]. The scales
// and minimums of the groups have six bits each, packed in Scales: the first four groups have theirs in the lower six bits of bytes
// 0–3 and of bytes 4–7; group g ≥ 4 has the lower four bits of its scale and of its minimum in the low and in the high nibble of
// byte g+4, and the upper two in the upper two bits of bytes g−4 and g. Each 32 bytes of QS hold two groups, the first in their
// low nibbles and the second in their high ones.
type BlockQ4_K struct {
	D, DMin float16.Float16
	Scales  [12]byte
	QS      [128]byte
}

// BlockQ5_K is BlockQ4_K with a fifth bit for each element, in 176 bytes: bit g of QH[i] belongs to element i of group g.
type BlockQ5_K struct {
	D, DMin float16.Float16
	Scales  [12]byte
	QH      [32]byte
	QS      [128]byte
}

// BlockQ6_K holds 256 numbers in 210 bytes, in sixteen groups of 16: an element of group g is D·Scales[g]·(q−32). Of an
// element's six bits QL has the lower four and QH the upper two, of the first 128 elements in the first halves of QL
// and QH. Byte i of QL's half holds element i of the 128 in its low nibble and element 64+i in its high one; the four pairs of bits
// of byte i of QH's half, the lowest first, belong to the elements i, 32+i, 64+i and 96+i.
type BlockQ6_K struct {
	QL     [128]byte
	QH     [64]byte
	Scales [16]int8
	D      float16.Float16
}

// The bytes of a block, which the file formats fix.
const (
	bytesQ4_K = 144
	bytesQ5_K = 176
	bytesQ6_K = 210
)

// The Block types must have these sizes: otherwise this does not compile.
var (
	_ [bytesQ4_K]byte = [unsafe.Sizeof(BlockQ4_K{})]byte{}
	_ [bytesQ5_K]byte = [unsafe.Sizeof(BlockQ5_K{})]byte{}
	_ [bytesQ6_K]byte = [unsafe.Sizeof(BlockQ6_K{})]byte{}
)

// Dequantize writes the 256 elements.
func (b *BlockQ4_K) Dequantize(dst *[256]float32) { _ = Q4_K.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 256 elements.
func (b *BlockQ5_K) Dequantize(dst *[256]float32) { _ = Q5_K.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 256 elements.
func (b *BlockQ6_K) Dequantize(dst *[256]float32) { _ = Q6_K.Dequantize(dst[:], bytesOf(b)) }

// groupScales unpacks the scale and the minimum of each group of 32 from a block's Scales, see BlockQ4_K. u has them for groups of
// 16, so each is written twice.
func groupScales(b []byte, u *unpacked) {
	for g := range 4 {
		set := func(g int, scale, min byte) {
			u.scale[2*g], u.scale[2*g+1] = int32(scale), int32(scale)
			u.min[2*g], u.min[2*g+1] = int32(min), int32(min)
		}
		set(g, b[g]&63, b[g+4]&63)
		set(g+4, b[g+8]&15|b[g]>>6<<4, b[g+8]>>4|b[g+4]>>6<<4)
	}
}

func unpackQ4_K(b []byte, u *unpacked) {
	u.d, u.m = half(b), -half(b[2:])
	groupScales(b[4:16], u)
	for i, v := range b[16:144] {
		at := i/32*64 + i%32
		u.q[at], u.q[at+32] = int8(v&15), int8(v>>4)
	}
}

func unpackQ5_K(b []byte, u *unpacked) {
	u.d, u.m = half(b), -half(b[2:])
	groupScales(b[4:16], u)
	high := b[16:48]
	for i, v := range b[48:176] {
		pair := i / 32 // of groups: the groups 2·pair and 2·pair+1
		at := pair*64 + i%32
		bits := high[i%32] >> (2 * pair)
		u.q[at], u.q[at+32] = int8(v&15|bits&1<<4), int8(v>>4|bits>>1&1<<4)
	}
}

func unpackQ6_K(b []byte, u *unpacked) {
	low, high := b[:128], b[128:192]
	u.d, u.m = half(b[208:]), 0
	for g, scale := range b[192:208] {
		u.scale[g], u.min[g] = int32(int8(scale)), 0
	}
	for i := range 64 {
		// part is a half of the block: 128 elements, 64 bytes of low and 32 bytes of high; see BlockQ6_K.
		for part := range 2 {
			v, bits := low[part*64+i], high[part*32+i%32]>>(i/32*2)
			at := part*128 + i
			u.q[at], u.q[at+64] = int8(v&15|bits&3<<4)-32, int8(v>>4|bits>>4&3<<4)-32
		}
	}
}
