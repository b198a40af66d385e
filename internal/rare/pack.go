package rare

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/x448/float16"
)

// putHalf writes v as a half-precision number. One that is too large for that is an error.
func putHalf(b []byte, v float32) error {
	h := float16.Fromfloat32(v)
	if h.IsInf(0) && !math.IsInf(float64(v), 0) {
		return fmt.Errorf("its scale %g is too large for half precision", v)
	}
	binary.LittleEndian.PutUint16(b, h.Bits())
	return nil
}

// packQ6K writes a block of Q6_K with the same scales and integers.
func packQ6K(dst []byte, u *block) error {
	low, high := dst[:128], dst[128:192]
	for i := range 128 { // of byte i of low
		part, at := i/64, i%64
		first, second := byte(u.q[part*128+at]+32), byte(u.q[part*128+at+64]+32)
		low[i] = first&15 | second<<4
	}
	for i := range 64 {
		at := i/32*128 + i%32
		high[i] = 0
		for pair := range 4 {
			high[i] |= byte(u.q[at+32*pair]+32) >> 4 << (2 * pair)
		}
	}
	for g, s := range u.scale {
		dst[192+g] = byte(s)
	}
	return putHalf(dst[208:], u.d)
}

// thirds are the new values of the integers of IQ2, by their lower six bits.
var thirds = [64]int8{8: 5, 25: 16, 43: 27, 64 - 8: -5, 64 - 25: -16, 64 - 43: -27}

// packThirds writes a block of IQ2 as Q6_K, which has integers up to 31. The integers 8, 25 and 43 become 5, 16 and 27. Of all such
// integers these are the most nearly in proportion, given how often each occurs: the mean square of the differences is that of 0.9 percent
// of an element.
func packThirds(dst []byte, u *block) error {
	const unit = 1.5834 // 8/5, 25/16 and 43/27 are about this
	for i, q := range u.q {
		u.q[i] = thirds[q&63]
	}
	u.d *= unit
	return packQ6K(dst, u)
}

// packQ4K writes a block of odd integers between −offset and 30−offset as Q4_K: q is 2·(q+offset)/2 − offset. All is exact but the block's
// minimum, offset·d, which half precision may round. Groups of 32 must have one scale, below 64.
func packQ4K(offset int8) func(dst []byte, u *block) error {
	return func(dst []byte, u *block) error {
		for g := range 4 { // the minimum of a group is as many as its scale is
			low, high := byte(u.scale[2*g]), byte(u.scale[2*g+8])
			dst[4+g] = low | high>>4<<6
			dst[8+g] = low | high>>4<<6
			dst[12+g] = high&15 | high<<4
		}
		for i := range 128 {
			at := i/32*64 + i%32
			dst[16+i] = byte(u.q[at]+offset)>>1 | byte(u.q[at+32]+offset)>>1<<4
		}
		if err := putHalf(dst, 2*u.d); err != nil {
			return err
		}
		return putHalf(dst[2:], float32(offset)*u.d)
	}
}

// packQ2K writes a block of integers between −1 and 2, with one scale, as Q2_K.
func packQ2K(dst []byte, u *block) error {
	for g := range 16 {
		dst[g] = 1 | 1<<4 // scale and minimum
	}
	for i := range 64 {
		at := i/32*128 + i%32
		dst[16+i] = 0
		for pair := range 4 {
			dst[16+i] |= byte(u.q[at+32*pair]+1) << (2 * pair)
		}
	}
	if err := putHalf(dst[80:], u.d); err != nil {
		return err
	}
	return putHalf(dst[82:], u.d)
}

// packQ4_0 writes integers between −8 and 7 with one scale as blocks of Q4_0.
func packQ4_0(dst []byte, u *block) error {
	for n := range len(dst) / 18 {
		b, q := dst[18*n:][:18], u.q[32*n:][:32]
		for i := range 16 {
			b[2+i] = byte(q[i]+8) | byte(q[i+16]+8)<<4
		}
		if err := putHalf(b, u.d); err != nil {
			return err
		}
	}
	return nil
}
