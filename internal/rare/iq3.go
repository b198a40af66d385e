package rare

import "encoding/binary"

// The two kinds of IQ3 have entries of four integers. Those of IQ3_XXS are half of ggml's, which are even.
var (
	iq3XXS = grid{gridIQ3XXS, 3, [8]int8{2, 6, 10, 14, 18, 22, 26, 31}}
	iq3S   = grid{gridIQ3S, 3, [8]int8{1, 3, 5, 7, 9, 11, 13, 15}}
)

// unpackIQ3XXS reads an index for each four elements, and then, for each 32, four times seven signs and a scale in 32 bits.
func unpackIQ3XXS(u *block, b []byte) {
	u.d = half(b) / 2
	for g := range 8 {
		rest := binary.LittleEndian.Uint32(b[66+4*g:])
		u.scale[2*g] = odd(rest >> 28)
		u.scale[2*g+1] = u.scale[2*g]
		for l := range 4 {
			at, index := 32*g+8*l, b[2+8*g+2*l:][:2]
			signs := evenSigns(byte(rest >> (7 * l)))
			iq3XXS.put(u.q[at:][:4], int(index[0]), signs)
			iq3XXS.put(u.q[at+4:][:4], int(index[1]), signs>>4)
		}
	}
}

// unpackIQ3S reads for each four elements the lower eight bits of an index, then their ninth bits, the signs, and a scale of four bits
// for each 32 elements.
func unpackIQ3S(u *block, b []byte) {
	u.d = half(b)
	low, high, signs, scales := b[2:66], b[66:74], b[74:106], b[106:110]
	for i := range 64 {
		iq3S.put(u.q[4*i:][:4], int(low[i])|int(high[i/8]>>(i%8)&1)<<8, signs[i/2]>>(i%2*4))
	}
	for g := range 8 {
		u.scale[2*g] = odd(scales[g/2] >> (g % 2 * 4) & 15)
		u.scale[2*g+1] = u.scale[2*g]
	}
}
