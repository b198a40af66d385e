package quant

import "encoding/binary"

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
	case Q5_0:
		putHalf(b, u.d)
		packFive(b[2:22], u.q[:32], 16)
	case Q5_1:
		putHalf(b, u.d)
		putHalf(b[2:], u.m)
		packFive(b[4:24], u.q[:32], 0)
	case IQ4_NL:
		putHalf(b, u.d)
		packNonlinear(b[2:18], u.q[:32])
	case Q2_K:
		packQ2_K(b, u)
	case Q3_K:
		packQ3_K(b, u)
	case Q4_K:
		packGroupScales(b, u)
		packGroups(b[16:144], u)
	case Q5_K:
		packQ5_K(b, u)
	case Q6_K:
		packQ6_K(b, u)
	case IQ4_XS:
		packIQ4_XS(b, u)
	}
}

// packNibbles writes 32 integers as BlockQ4_0 has them, after adding the bias.
func packNibbles(b []byte, q []int8, bias int8) {
	for i := range 16 {
		b[i] = byte(q[i]+bias)&15 | byte(q[i+16]+bias)<<4
	}
}

// packFive writes 32 integers of five bits: BlockQ5_0's QH and QS.
func packFive(b []byte, q []int8, bias int8) {
	var high uint32
	for i, v := range q {
		high |= uint32(byte(v+bias)>>4&1) << i
	}
	binary.LittleEndian.PutUint32(b, high)
	packNibbles(b[4:20], q, bias)
}

// packNonlinear writes 32 of the values of nonlinear4 as BlockIQ4_NL has them.
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

// packPairs writes the lower two bits of each element, after adding the bias, as BlockQ2_K has them.
func packPairs(b []byte, u *unpacked, bias int8) {
	for i := range 64 {
		at := i/32*128 + i%32
		pair := func(j int) byte { return byte(u.q[at+32*j]+bias) & 3 }
		b[i] = pair(0) | pair(1)<<2 | pair(2)<<4 | pair(3)<<6
	}
}

func packQ2_K(b []byte, u *unpacked) {
	for g := range 16 {
		b[g] = byte(u.scale[g]) | byte(u.min[g])<<4
	}
	packPairs(b[16:80], u, 0)
	putHalf(b[80:], u.d)
	putHalf(b[82:], -u.m)
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

// packGroupScales writes the scales of a block and of its groups, see BlockQ4_K.
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

// packGroups writes the lower four bits of each element as BlockQ4_K has them.
func packGroups(b []byte, u *unpacked) {
	for i := range b {
		at := i/32*64 + i%32
		b[i] = byte(u.q[at])&15 | byte(u.q[at+32])<<4
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

func packQ6_K(b []byte, u *unpacked) {
	low, high := b[:128], b[128:192]
	for part := range 2 { // a half of the block, see BlockQ6_K
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
