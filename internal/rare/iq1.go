package rare

import (
	"encoding/binary"

	"github.com/x448/float16"
)

// The two kinds of IQ1 have entries of eight integers, −1, 0 and 1, to which an eighth is added or from which it is taken. These are the
// sums in eighths: first those with the eighth added.
var iq1 = [2]grid{
	{gridIQ1, 2, [8]int8{-7, 1, 9}},
	{gridIQ1, 2, [8]int8{-9, -1, 7}},
}

// unpackIQ1S reads for each eight elements the lower eight bits of an index; then, for each 32 elements, 16 bits: the upper three bits of
// four indices, a scale of three, and whether the eighth is taken.
func unpackIQ1S(u *block, b []byte) {
	u.d = half(b) / 8
	for g := range 8 {
		high := binary.LittleEndian.Uint16(b[34+2*g:])
		u.scale[2*g] = odd(high >> 12 & 7)
		u.scale[2*g+1] = u.scale[2*g]
		for l := range 4 {
			iq1[high>>15].put(u.q[32*g+8*l:][:8], int(b[2+4*g+l])|int(high>>(3*l)&7)<<8, 0)
		}
	}
}

// unpackIQ1M reads for each eight elements the lower eight bits of an index, and a nibble with its upper three and whether the eighth is
// taken. Then come four times 16 bits: four scales of three bits, and a quarter of the block's own scale.
func unpackIQ1M(u *block, b []byte) {
	var d uint16
	for i := range 4 {
		s := binary.LittleEndian.Uint16(b[48+2*i:])
		d |= s >> 12 << (4 * i)
		for j := range 4 {
			u.scale[4*i+j] = odd(s >> (3 * j) & 7)
		}
	}
	u.d = float16.Frombits(d).Float32() / 8
	for i := range 32 {
		high := b[32+i/2] >> (i % 2 * 4) & 15
		iq1[high>>3].put(u.q[8*i:][:8], int(b[i])|int(high&7)<<8, 0)
	}
}
