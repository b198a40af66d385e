package quant

import (
	"encoding/binary"
	"math"
)

// nonlinear4 are the values of the sixteen nibbles of IQ4_NL and IQ4_XS. They are denser near 0, where most weights are.
var nonlinear4 = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// noMinimum returns the minimum of formats without minimums: −0. Adding it changes no number, not even −0.
func noMinimum() float32 { return float32(math.Copysign(0, -1)) }

// unpackIQ4_NL unpacks d 2, qs 16: element i is nonlinear4[q]·d, q being the nibble that Q4_0 has for it.
func unpackIQ4_NL(b []byte, u *unpacked) {
	u.d, u.m = half(b), noMinimum()
	unpackNonlinear(b[2:], u.q[:])
}

// unpackNonlinear unpacks 32 elements from 16 bytes.
func unpackNonlinear(b []byte, q []int8) {
	for i, v := range b[:16] {
		q[i], q[i+16] = nonlinear4[v&15], nonlinear4[v>>4]
	}
}

// packNonlinear writes 32 of the values of nonlinear4 as unpackNonlinear reads them.
func packNonlinear(b []byte, q []int8) {
	for i := range 16 {
		b[i] = nonlinearIndex(q[i]) | nonlinearIndex(q[i+16])<<4
	}
}

// nonlinearIndex returns where nonlinear4 has a value.
func nonlinearIndex(v int8) byte {
	low := 0
	for step := 8; step > 0; step /= 2 {
		if nonlinear4[low+step] <= v {
			low += step
		}
	}
	return byte(low)
}

// unpackIQ4_XS unpacks d 2, scalesH 2, scalesL 4, qs 128: eight groups of 32, an element of group g being d·(scale−32)·nonlinear4[q].
// Bytes 16·g and on of qs have the group's q, as Q4_0 has those of a block. The scales have six bits: the lower four are nibble g of
// scalesL, the low one of a byte first, and the upper two are the pair g of bits of scalesH, the lowest first.
func unpackIQ4_XS(b []byte, u *unpacked) {
	u.d, u.m = half(b), noMinimum()
	high := binary.LittleEndian.Uint16(b[2:])
	for g := range 8 {
		low := b[4+g/2] >> (g % 2 * 4) & 15
		u.scale[g], u.min[g] = int32(low|byte(high>>(2*g)&3<<4))-32, 0
		unpackNonlinear(b[8+16*g:], u.q[32*g:])
	}
}

func packIQ4_XS(b []byte, u *unpacked) {
	putHalf(b, u.d)
	clear(b[2:8])
	high := uint16(0)
	for g := range 8 {
		v := byte(u.scale[g] + 32)
		b[4+g/2] |= v & 15 << (g % 2 * 4)
		high |= uint16(v>>4) << (2 * g)
		packNonlinear(b[8+16*g:24+16*g], u.q[32*g:32*g+32])
	}
	binary.LittleEndian.PutUint16(b[2:], high)
}
