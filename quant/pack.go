package quant

// pack writes a block of a quantised format: what unpack reads.
func (f Format) pack(b []byte, u *unpacked) {
	switch f {
	case Q4_0:
		putHalf(b, u.d)
		packNibbles(b[2:18], u.q[:32], 8)
	case Q4_1:
		putHalf(b, u.d)
		putHalf(b[2:], u.m)
		packNibbles(b[4:20], u.q[:32], 0)
	case Q4_K:
		packGroupScales(b, u)
		for i := range 4 {
			packPair(b[16+32*i:48+32*i], u.q[64*i:64*i+64])
		}
	case Q5_K:
		packQ5_K(b, u)
	case Q6_K:
		packQ6_K(b, u)
	}
}

// packNibbles writes 32 integers as BlockQ4_0 has them, bias added.
func packNibbles(b []byte, q []int8, bias int8) {
	for i := range 16 {
		b[i] = byte(q[i]+bias)&15 | byte(q[i+16]+bias)<<4
	}
}

// packPair writes the lower four bits of two groups of 32 as BlockQ4_K has them.
func packPair(b []byte, q []int8) {
	for i := range 32 {
		b[i] = byte(q[i])&15 | byte(q[i+32])<<4
	}
}

// packGroupScales writes the scales of a block and of its groups, see BlockQ4_K.
func packGroupScales(b []byte, u *unpacked) {
	putHalf(b, u.d)
	putHalf(b[2:], -u.m)
	s := b[4:16]
	for g := range 4 {
		scale, min := byte(u.scale[2*g]), byte(u.min[2*g])
		upperScale, upperMin := byte(u.scale[2*g+8]), byte(u.min[2*g+8])
		s[g] = scale | upperScale>>4<<6
		s[g+4] = min | upperMin>>4<<6
		s[g+8] = upperScale&15 | upperMin<<4
	}
}

func packQ5_K(b []byte, u *unpacked) {
	packGroupScales(b, u)
	high := b[16:48]
	clear(high)
	for i := range 4 {
		packPair(b[48+32*i:80+32*i], u.q[64*i:64*i+64])
	}
	for i, q := range u.q {
		high[i%32] |= byte(q) >> 4 & 1 << (i / 32)
	}
}

func packQ6_K(b []byte, u *unpacked) {
	low, high := b[:128], b[128:192]
	for g := range 16 {
		b[192+g] = byte(u.scale[g])
	}
	putHalf(b[208:], u.d)
	for part := range 2 {
		for i := range 32 {
			var v [4]byte
			for k := range v {
				v[k] = byte(u.q[part*128+32*k+i] + 32)
			}
			low[part*64+i] = v[0]&15 | v[2]<<4
			low[part*64+32+i] = v[1]&15 | v[3]<<4
			high[part*32+i] = v[0]>>4 | v[1]>>4<<2 | v[2]>>4<<4 | v[3]>>4<<6
		}
	}
}
