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

// BlockQ2_K holds 256 numbers in 84 bytes, in sixteen groups of 16: an element of group g is D·scale·q − DMin·min, with the scale in
// the low nibble of Scales[g] and the minimum in the high one. QS has the first 128 elements in its first 32 bytes: the four pairs
// of bits of byte i, the lowest first, belong to the elements i, 32+i, 64+i and 96+i. Its other half is alike.
type BlockQ2_K struct {
	Scales  [16]byte
	QS      [64]byte
	D, DMin float16.Float16
}

// BlockQ3_K holds 256 numbers in 110 bytes, in sixteen groups of 16: an element of group g is D·(scale−32)·(q−4). The lower two
// bits of q are in QS, as BlockQ2_K has them; the third, of element 32·j+i, is bit j of HMask[i]. The scales have six bits: group g
// < 8 has the lower four in the low nibble of Scales[g] and group g ≥ 8 in the high one of Scales[g−8], and the upper two are the
// pair g/4 of bits of Scales[8+g%4].
type BlockQ3_K struct {
	HMask  [32]byte
	QS     [64]byte
	Scales [12]byte
	D      float16.Float16
}

// The bytes of a block, which the file formats fix.
const (
	bytesQ2_K = 84
	bytesQ3_K = 110
	bytesQ4_K = 144
	bytesQ5_K = 176
	bytesQ6_K = 210
)

// The Block types must have these sizes: otherwise this does not compile.
var (
	_ [bytesQ2_K]byte = [unsafe.Sizeof(BlockQ2_K{})]byte{}
	_ [bytesQ3_K]byte = [unsafe.Sizeof(BlockQ3_K{})]byte{}
	_ [bytesQ4_K]byte = [unsafe.Sizeof(BlockQ4_K{})]byte{}
	_ [bytesQ5_K]byte = [unsafe.Sizeof(BlockQ5_K{})]byte{}
	_ [bytesQ6_K]byte = [unsafe.Sizeof(BlockQ6_K{})]byte{}
)

// Dequantize writes the 256 elements.
func (b *BlockQ2_K) Dequantize(dst *[256]float32) { _ = Q2_K.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 256 elements.
func (b *BlockQ3_K) Dequantize(dst *[256]float32) { _ = Q3_K.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 256 elements.
func (b *BlockQ4_K) Dequantize(dst *[256]float32) { _ = Q4_K.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 256 elements.
func (b *BlockQ5_K) Dequantize(dst *[256]float32) { _ = Q5_K.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 256 elements.
func (b *BlockQ6_K) Dequantize(dst *[256]float32) { _ = Q6_K.Dequantize(dst[:], bytesOf(b)) }

// groupScales unpacks the scale and the minimum of each group of 32 from a block's Scales, see BlockQ4_K.
func groupScales(b []byte, u *unpacked) {
	for g := range 4 {
		u.scale[g], u.min[g] = int32(b[g]&63), int32(b[g+4]&63)
		u.scale[g+4], u.min[g+4] = int32(b[g+8]&15|b[g]>>6<<4), int32(b[g+8]>>4|b[g+4]>>6<<4)
	}
}

// unpackPairs unpacks elements of two bits, see BlockQ2_K.
func unpackPairs(b []byte, u *unpacked) {
	for i, v := range b[:64] {
		at := i/32*128 + i%32
		u.q[at], u.q[at+32], u.q[at+64], u.q[at+96] = int8(v&3), int8(v>>2&3), int8(v>>4&3), int8(v>>6)
	}
}

func unpackQ2_K(b []byte, u *unpacked) {
	u.d, u.m = half(b[80:]), -half(b[82:])
	for g, v := range b[:16] {
		u.scale[g], u.min[g] = int32(v&15), int32(v>>4)
	}
	unpackPairs(b[16:80], u)
}

func unpackQ3_K(b []byte, u *unpacked) {
	u.d, u.m = half(b[108:]), noMinimum()
	for g := range 16 {
		low, high := b[96+g%8]>>(g/8*4)&15, b[104+g%4]>>(g/4*2)&3
		u.scale[g], u.min[g] = int32(low|high<<4)-32, 0
	}
	unpackPairs(b[32:96], u)
	for i, bits := range b[:32] {
		for j := range 8 {
			u.q[32*j+i] += int8(bits>>j&1<<2) - 4
		}
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
