package rare

import (
	"encoding/binary"

	"github.com/x448/float16"
)

// block is a block as integers: element i is d·scale[i/16]·q[i], which float32 holds exactly. d is the file's scale times a power of two.
type block struct {
	d     float32
	scale [16]int32
	q     [256]int8
}

// half reads a half-precision number.
func half(b []byte) float32 { return float16.Frombits(binary.LittleEndian.Uint16(b)).Float32() }

// one gives a block one scale.
func (u *block) one(d float32) {
	u.d = d
	for i := range u.scale {
		u.scale[i] = 1
	}
}

// odd returns the scale 2s+1, by which ggml's codebooks count.
func odd[T byte | uint16 | uint32](s T) int32 { return 2*int32(s) + 1 }
