package quant

// The blocks of 256 elements. A comment spells out each layout: the parts of a block in the order in which they lie, with their sizes in
// bytes, and how an element is made of them. d and dmin are numbers of binary16.

// unpackQ4_K unpacks d 2, dmin 2, scales 12, qs 128: eight groups of 32, an element of group g being d·scale[g]·q − dmin·min[g]. The
// scales and minimums of the groups have six bits each, packed in scales: the first four groups have theirs in the lower six bits of
// bytes 0–3 and of bytes 4–7; group g ≥ 4 has the lower four bits of its scale and of its minimum in the low and in the high nibble of
// byte g+4, and the upper two in the upper two bits of bytes g−4 and g. Each 32 bytes of qs hold two groups, the first in their low
// nibbles and the second in their high ones.
func unpackQ4_K(b []byte, u *unpacked) {
	u.d, u.m = half(b), -half(b[2:])
	groupScales(b[4:16], u)
	for i, v := range b[16:144] {
		at := i/32*64 + i%32
		u.q[at], u.q[at+32] = int8(v&15), int8(v>>4)
	}
}

// packGroups writes the lower four bits of each element as unpackQ4_K reads them.
func packGroups(b []byte, u *unpacked) {
	for i := range b {
		at := i/32*64 + i%32
		b[i] = byte(u.q[at])&15 | byte(u.q[at+32])<<4
	}
}

// groupScales unpacks the scale and the minimum of each group of 32, see unpackQ4_K.
func groupScales(b []byte, u *unpacked) {
	for g := range 4 {
		u.scale[g], u.min[g] = int32(b[g]&63), int32(b[g+4]&63)
		u.scale[g+4], u.min[g+4] = int32(b[g+8]&15|b[g]>>6<<4), int32(b[g+8]>>4|b[g+4]>>6<<4)
	}
}

// packGroupScales writes the scales of a block and of its groups, see unpackQ4_K.
func packGroupScales(b []byte, u *unpacked) {
	putHalf(b, u.d)
	putHalf(b[2:], -u.m)
	s := b[4:16]
	for g := range 4 {
		scale, min := byte(u.scale[g+4]), byte(u.min[g+4])
		s[g] = byte(u.scale[g]) | scale>>4<<6
		s[g+4] = byte(u.min[g]) | min>>4<<6
		s[g+8] = scale&15 | min<<4
	}
}

// unpackQ5_K unpacks d 2, dmin 2, scales 12, qh 32, qs 128: as Q4_K, with a fifth bit for each element. Bit g of qh[i] belongs to
// element i of group g.
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

func packQ5_K(b []byte, u *unpacked) {
	packGroupScales(b, u)
	high := b[16:48]
	clear(high)
	for i, q := range u.q {
		high[i%32] |= byte(q) >> 4 & 1 << (i / 32)
	}
	packGroups(b[48:176], u)
}

// unpackQ6_K unpacks ql 128, qh 64, scales 16, d 2: sixteen groups of 16, an element of group g being d·scales[g]·(q−32), with signed
// scales. Of an element's six bits ql has the lower four and qh the upper two, of the first 128 elements in the first halves of ql and
// qh. Byte i of ql's half holds element i of the 128 in its low nibble and element 64+i in its high one; the four pairs of bits of
// byte i of qh's half, the lowest first, belong to the elements i, 32+i, 64+i and 96+i.
func unpackQ6_K(b []byte, u *unpacked) {
	low, high := b[:128], b[128:192]
	u.d, u.m = half(b[208:]), 0
	for g, scale := range b[192:208] {
		u.scale[g], u.min[g] = int32(int8(scale)), 0
	}
	for i := range 64 {
		// part is a half of the block: 128 elements, 64 bytes of low and 32 bytes of high.
		for part := range 2 {
			v, bits := low[part*64+i], high[part*32+i%32]>>(i/32*2)
			at := part*128 + i
			u.q[at], u.q[at+64] = int8(v&15|bits&3<<4)-32, int8(v>>4|bits>>4&3<<4)-32
		}
	}
}

func packQ6_K(b []byte, u *unpacked) {
	low, high := b[:128], b[128:192]
	for part := range 2 { // a half of the block
		for i := range 32 {
			var v [4]byte
			for j := range v {
				v[j] = byte(u.q[part*128+32*j+i] + 32)
			}
			low[part*64+i] = v[0]&15 | v[2]<<4
			low[part*64+32+i] = v[1]&15 | v[3]<<4
			high[part*32+i] = v[0]>>4 | v[1]>>4<<2 | v[2]>>4<<4 | v[3]>>4<<6
		}
	}
	for g, scale := range u.scale {
		b[192+g] = byte(scale)
	}
	putHalf(b[208:], u.d)
}

// unpackQ2_K unpacks scales 16, qs 64, d 2, dmin 2: sixteen groups of 16, an element of group g being d·scale·q − dmin·min, with the
// scale in the low nibble of scales[g] and the minimum in the high one. The first 32 bytes of qs have the first 128 elements: the four
// pairs of bits of byte i, the lowest first, belong to the elements i, 32+i, 64+i and 96+i. The other half of qs is alike.
func unpackQ2_K(b []byte, u *unpacked) {
	u.d, u.m = half(b[80:]), -half(b[82:])
	for g, v := range b[:16] {
		u.scale[g], u.min[g] = int32(v&15), int32(v>>4)
	}
	unpackPairs(b[16:80], u)
}

func packQ2_K(b []byte, u *unpacked) {
	for g := range 16 {
		b[g] = byte(u.scale[g]) | byte(u.min[g])<<4
	}
	packPairs(b[16:80], u, 0)
	putHalf(b[80:], u.d)
	putHalf(b[82:], -u.m)
}

// unpackPairs unpacks elements of two bits, see unpackQ2_K.
func unpackPairs(b []byte, u *unpacked) {
	for i, v := range b[:64] {
		at := i/32*128 + i%32
		u.q[at], u.q[at+32], u.q[at+64], u.q[at+96] = int8(v&3), int8(v>>2&3), int8(v>>4&3), int8(v>>6)
	}
}

// packPairs writes the lower two bits of each element, after adding the bias, as unpackQ2_K reads them.
func packPairs(b []byte, u *unpacked, bias int8) {
	for i := range 64 {
		at := i/32*128 + i%32
		pair := func(j int) byte { return byte(u.q[at+32*j]+bias) & 3 }
		b[i] = pair(0) | pair(1)<<2 | pair(2)<<4 | pair(3)<<6
	}
}

// unpackQ3_K unpacks hmask 32, qs 64, scales 12, d 2: sixteen groups of 16, an element of group g being d·(scale−32)·(q−4). The lower
// two bits of q are in qs, as Q2_K has them; the third, of element 32·j+i, is bit j of hmask[i]. The scales have six bits: group g < 8
// has the lower four in the low nibble of scales[g] and group g ≥ 8 in the high one of scales[g−8], and the upper two are the pair g/4
// of bits of scales[8+g%4].
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

func packQ3_K(b []byte, u *unpacked) {
	clear(b[:32])
	for i, q := range u.q {
		b[i%32] |= byte(q+4) >> 2 & 1 << (i / 32)
	}
	packPairs(b[32:96], u, 4)
	clear(b[96:108])
	for g, scale := range u.scale {
		v := byte(scale + 32)
		b[96+g%8] |= v & 15 << (g / 8 * 4)
		b[104+g%4] |= v >> 4 << (g / 4 * 2)
	}
	putHalf(b[108:], u.d)
}
