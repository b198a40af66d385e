package rare

// unpackTQ1 reads digits of base three, which stand for −1, 0 and 1. Byte b is the fraction b/256. Its digits come out at the top, one
// multiplication by three after the other; five of them in each byte of the first 48, four in the others.
func unpackTQ1(u *block, b []byte) {
	u.one(half(b[52:]))
	at := 0
	for _, part := range [...]struct{ from, to, digits int }{{0, 32, 5}, {32, 48, 5}, {48, 52, 4}} {
		power := byte(1)
		for range part.digits {
			for _, v := range b[part.from:part.to] {
				u.q[at] = int8(uint16(v*power)*3>>8) - 1
				at++
			}
			power *= 3
		}
	}
}

// unpackTQ2 reads two bits an element: the first 32 bytes have the elements 0 to 127. Each 32 elements take the next pair of bits.
func unpackTQ2(u *block, b []byte) {
	u.one(half(b[64:]))
	for i := range 256 {
		u.q[i] = int8(b[i/128*32+i%32]>>(i%128/32*2)&3) - 1
	}
}

// unpackQ1 reads a bit an element: −1 or 1.
func unpackQ1(u *block, b []byte) {
	u.one(half(b))
	for i := range 128 {
		u.q[i] = int8(b[2+i/8]>>(i%8)&1)*2 - 1
	}
}

// unpackQ2 reads two bits an element: −1 to 2.
func unpackQ2(u *block, b []byte) {
	u.one(half(b))
	for i := range 64 {
		u.q[i] = int8(b[2+i/4]>>(i%4*2)&3) - 1
	}
}
