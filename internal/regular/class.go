package regular

import "math/bits"

// Class is a set of bytes: byte b is bit b%64 of word b/64.
type Class [4]uint64

// ClassOf returns the class of these bytes.
func ClassOf(bytes ...byte) (c Class) {
	for _, b := range bytes {
		c.Add(b)
	}
	return c
}

// Range returns the class of the bytes from low to high, both included.
func Range(low, high byte) (c Class) {
	for i := range c {
		first, last := max(int(low)-64*i, 0), min(int(high)-64*i, 63)
		if first <= last {
			c[i] = ^uint64(0) >> (63 - last + first) << first
		}
	}
	return c
}

// Add puts a byte into the class.
func (c *Class) Add(b byte) { c[b/64] |= 1 << (b % 64) }

// Has reports whether a byte is in the class.
func (c *Class) Has(b byte) bool { return c[b/64]>>(b%64)&1 != 0 }

// Or returns the bytes of either class.
func (c Class) Or(d Class) Class { return Class{c[0] | d[0], c[1] | d[1], c[2] | d[2], c[3] | d[3]} }

// And returns the bytes of both classes.
func (c Class) And(d Class) Class { return Class{c[0] & d[0], c[1] & d[1], c[2] & d[2], c[3] & d[3]} }

// Not returns the bytes that are not in the class.
func (c Class) Not() Class { return Class{^c[0], ^c[1], ^c[2], ^c[3]} }

// Len returns how many bytes are in the class.
func (c Class) Len() int {
	return bits.OnesCount64(c[0]) + bits.OnesCount64(c[1]) + bits.OnesCount64(c[2]) + bits.OnesCount64(c[3])
}

// Bytes appends the bytes of the class to dst, in ascending order.
func (c Class) Bytes(dst []byte) []byte {
	for i, w := range c {
		for ; w != 0; w &= w - 1 {
			dst = append(dst, byte(i*64+bits.TrailingZeros64(w)))
		}
	}
	return dst
}

// Without returns the class without byte b.
func (c Class) Without(b byte) Class {
	c[b/64] &^= 1 << (b % 64)
	return c
}

// Lowest returns the lowest byte of a class that has any.
func (c Class) Lowest() byte {
	for i, w := range c {
		if w != 0 {
			return byte(i*64 + bits.TrailingZeros64(w))
		}
	}
	return 0
}
