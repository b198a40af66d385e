package rare

import (
	"encoding/binary"
	"math/bits"
)

// The three kinds of IQ2 have entries of eight integers, and scales that count eighths of the block's.
var (
	iq2XXS = grid{gridIQ2XXS, 2, levels2}
	iq2XS  = grid{gridIQ2XS, 2, levels2}
	iq2S   = grid{gridIQ2S, 2, levels2}
)

// evenSigns completes seven signs with an eighth that makes the number of negative ones even.
func evenSigns(s byte) byte { return s&127 | byte(bits.OnesCount8(s&127)&1)<<7 }

// unpackIQ2XXS reads groups of 32 elements: four bytes with the indices of entries, then 32 bits with four times seven signs and a scale.
func unpackIQ2XXS(u *block, b []byte) {
	u.d = half(b) / 8
	for g := range 8 {
		at := b[2+8*g:][:8]
		rest := binary.LittleEndian.Uint32(at[4:])
		u.scale[2*g] = odd(rest >> 28)
		u.scale[2*g+1] = u.scale[2*g]
		for l := range 4 {
			iq2XXS.put(u.q[32*g+8*l:][:8], int(at[l]), evenSigns(byte(rest>>(7*l))))
		}
	}
}

// unpackIQ2XS reads 16 bits for each eight elements, an index of nine bits and seven signs; then a scale of four bits for each 16 elements.
func unpackIQ2XS(u *block, b []byte) {
	u.d = half(b) / 8
	nibbleScales(u, b[66:74])
	for i := range 32 {
		v := binary.LittleEndian.Uint16(b[2+2*i:])
		iq2XS.put(u.q[8*i:][:8], int(v&511), evenSigns(byte(v>>9)))
	}
}

// unpackIQ2S reads for each eight elements the lower eight bits of an index and eight signs, then the upper two bits of the indices and
// a scale of four bits for each 16 elements.
func unpackIQ2S(u *block, b []byte) {
	u.d = half(b) / 8
	low, signs, high := b[2:34], b[34:66], b[66:74]
	nibbleScales(u, b[74:82])
	for i := range 32 {
		iq2S.put(u.q[8*i:][:8], int(low[i])|int(high[i/4]>>(i%4*2)&3)<<8, signs[i])
	}
}

// nibbleScales reads sixteen scales of four bits, the low nibble first.
func nibbleScales(u *block, b []byte) {
	for i, s := range b[:8] {
		u.scale[2*i], u.scale[2*i+1] = odd(s&15), odd(s>>4)
	}
}
