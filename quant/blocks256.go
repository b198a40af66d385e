package quant

import (
	"unsafe"

	"github.com/x448/float16"
)

// BlockQ4_K holds 256 numbers in 144 bytes, in eight groups of 32: an element of group g is D·scale[g]·q − DMin·min[g]. Scales
// and minimums have six bits, see groupScales. Each 32 bytes of QS hold two groups, in their low and their high nibbles.
type BlockQ4_K struct {
	D, DMin float16.Float16
	Scales  [12]byte
	QS      [128]byte
}

// BlockQ5_K is BlockQ4_K with a fifth bit for each element: bit g of QH[i] belongs to element i of group g. It has 176
// bytes.
type BlockQ5_K struct {
	D, DMin float16.Float16
	Scales  [12]byte
	QH      [32]byte
	QS      [128]byte
}

// BlockQ6_K holds 256 numbers in 210 bytes, in sixteen groups of 16: an element of group g is D·Scales[g]·(q−32). Of an
// element's six bits QL has the lower four and QH the upper two.
type BlockQ6_K struct {
	QL     [128]byte
	QH     [64]byte
	Scales [16]int8
	D      float16.Float16
}

var (
	_ [144]byte = [unsafe.Sizeof(BlockQ4_K{})]byte{}
	_ [176]byte = [unsafe.Sizeof(BlockQ5_K{})]byte{}
	_ [210]byte = [unsafe.Sizeof(BlockQ6_K{})]byte{}
)

// Dequantize writes the 256 elements.
func (b *BlockQ4_K) Dequantize(dst *[256]float32) { _ = Q4_K.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 256 elements.
func (b *BlockQ5_K) Dequantize(dst *[256]float32) { _ = Q5_K.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 256 elements.
func (b *BlockQ6_K) Dequantize(dst *[256]float32) { _ = Q6_K.Dequantize(dst[:], bytesOf(b)) }

// groupScales unpacks the scale and the minimum of each group of 32. The first four groups have theirs in the lower six bits
// of bytes 0–3 and 4–7; the others have four bits in the nibbles of bytes 8–11 and two in the tops of the former.
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
		pair := i / 32 // of groups
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
		// Bytes i of a half of low hold elements 0–63 of that half in their low nibbles and 64–127 in their high ones; the
		// four pairs of bits of a byte of high belong to elements 32 apart.
		for part := range 2 {
			v, bits := low[part*64+i], high[part*32+i%32]>>(i/32*2)
			at := part*128 + i
			u.q[at], u.q[at+64] = int8(v&15|bits&3<<4)-32, int8(v>>4|bits>>4&3<<4)-32
		}
	}
}
