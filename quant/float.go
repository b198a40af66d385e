package quant

import (
	"math"
	"unsafe"

	"github.com/x448/float16"
)

// half reads a binary16 at the beginning of b.
func half(b []byte) float32 { return widenHalf(uint16(b[0]) | uint16(b[1])<<8) }

// widenHalf converts a binary16 to float32, exactly; NaNs become quiet, as the processors' own conversions make them. The
// exponent is moved by a multiplication, which is exact and takes care of subnormals: three times as fast as the branches
// of a library.
func widenHalf(h uint16) float32 {
	const (
		magnitude = 0x7fff
		infinity  = 0x7c00
	)
	sign := uint32(h&^magnitude) << 16
	if h&infinity == infinity {
		bits := sign | 0x7f800000 | uint32(h&0x3ff)<<13
		if h&0x3ff != 0 {
			bits |= 1 << 22
		}
		return math.Float32frombits(bits)
	}
	v := math.Float32frombits(uint32(h&magnitude)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(v) | sign)
}

// putHalf writes v, rounded to nearest even, as a binary16 at the beginning of b.
func putHalf(b []byte, v float32) {
	h := float16.Fromfloat32(v)
	b[0], b[1] = byte(h), byte(h>>8)
}

func widenF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = half(src[2*i : 2*i+2])
	}
}

func narrowF16(dst []byte, src []float32) {
	for i, v := range src {
		putHalf(dst[2*i:2*i+2], v)
	}
}

func widenBF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(src[2*i])<<16 | uint32(src[2*i+1])<<24)
	}
}

// narrowBF16 keeps the upper half of each float32, rounded to nearest even; NaNs stay NaNs and become quiet.
func narrowBF16(dst []byte, src []float32) {
	for i, v := range src {
		bits := math.Float32bits(v)
		if v != v {
			bits |= 1 << 22
		} else {
			bits += 0x7fff + bits>>16&1
		}
		dst[2*i], dst[2*i+1] = byte(bits>>16), byte(bits>>24)
	}
}

// rawBytes views floats as bytes.
func rawBytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}
