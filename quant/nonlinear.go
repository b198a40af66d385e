package quant

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/x448/float16"
)

// BlockIQ4_NL holds 32 numbers in 18 bytes: element i is Nonlinear4[q]·D, where q is the nibble that BlockQ4_0 has for it.
type BlockIQ4_NL struct {
	D  float16.Float16
	QS [16]byte
}

// BlockIQ4_XS holds 256 numbers in 136 bytes, in eight groups of 32: an element of group g is D·(scale−32)·Nonlinear4[q]. Bytes
// 16·g and on of QS have the group's q, as BlockQ4_0 has those of a block. The scales have six bits: the lower four are nibble g of
// ScalesL, the low one of a byte first, and the upper two are the pair g of bits of ScalesH, the lowest first.
type BlockIQ4_XS struct {
	D       float16.Float16
	ScalesH uint16
	ScalesL [4]byte
	QS      [128]byte
}

// The bytes of a block, which the file formats fix.
const (
	bytesIQ4_NL = 18
	bytesIQ4_XS = 136
)

// The Block types must have these sizes: otherwise this does not compile.
var (
	_ [bytesIQ4_NL]byte = [unsafe.Sizeof(BlockIQ4_NL{})]byte{}
	_ [bytesIQ4_XS]byte = [unsafe.Sizeof(BlockIQ4_XS{})]byte{}
)

// nonlinear4 are the values of the sixteen nibbles of IQ4_NL and IQ4_XS. They are denser near 0, where most weights are.
var nonlinear4 = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// Nonlinear4 returns the values of the sixteen nibbles of IQ4_NL and IQ4_XS.
func Nonlinear4() [16]int8 { return nonlinear4 }

// noMinimum returns the minimum of formats that have none: −0, which added to any number, also to −0, gives that number.
func noMinimum() float32 { return float32(math.Copysign(0, -1)) }

// Dequantize writes the 32 elements.
func (b *BlockIQ4_NL) Dequantize(dst *[32]float32) { _ = IQ4_NL.Dequantize(dst[:], bytesOf(b)) }

// Dequantize writes the 256 elements.
func (b *BlockIQ4_XS) Dequantize(dst *[256]float32) { _ = IQ4_XS.Dequantize(dst[:], bytesOf(b)) }

// unpackNonlinear unpacks 32 elements from 16 bytes.
func unpackNonlinear(b []byte, q []int8) {
	for i, v := range b[:16] {
		q[i], q[i+16] = nonlinear4[v&15], nonlinear4[v>>4]
	}
}

func unpackIQ4_NL(b []byte, u *unpacked) {
	u.d, u.m = half(b), noMinimum()
	unpackNonlinear(b[2:], u.q[:])
}

func unpackIQ4_XS(b []byte, u *unpacked) {
	u.d, u.m = half(b), noMinimum()
	high := binary.LittleEndian.Uint16(b[2:])
	for g := range 8 {
		low := b[4+g/2] >> (g % 2 * 4) & 15
		u.scale[g], u.min[g] = int32(low|byte(high>>(2*g)&3<<4))-32, 0
		unpackNonlinear(b[8+16*g:], u.q[32*g:])
	}
}
