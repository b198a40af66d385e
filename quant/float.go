package quant

import (
	"math"
	"unsafe"

	"github.com/x448/float16"
)

// quietBit is set in a quiet NaN of float32 and clear in a signalling one.
const quietBit = 1 << 22

// half reads a binary16 at the beginning of b.
func half(b []byte) float32 { return widenHalf(uint16(b[0]) | uint16(b[1])<<8) }

// widenHalf converts a binary16 to float32, exactly; NaNs become quiet, as the processors' own conversions make them. The exponent is
// corrected by a multiplication, which is exact and also right for subnormal numbers: three times as fast as a library that branches on the
// cases.
func widenHalf(h uint16) float32 {
	const (
		magnitude  = 0x7fff     // all bits of a binary16 but the sign
		infinity   = 0x7c00     // its exponent; all ones in infinities and NaNs
		fraction   = 0x3ff      // the bits behind its exponent
		longer     = 23 - 10    // how many more bits the fraction of a float32 has
		rebias     = 0x1p112    // 2^(127−15): by how much the biases of the two exponents differ
		infinity32 = 0x7f800000 // infinity as a float32
	)
	sign := uint32(h&^magnitude) << 16
	if h&infinity == infinity {
		bits := sign | infinity32 | uint32(h&fraction)<<longer
		if h&fraction != 0 {
			bits |= quietBit
		}
		return math.Float32frombits(bits)
	}
	v := math.Float32frombits(uint32(h&magnitude)<<longer) * rebias
	return math.Float32frombits(math.Float32bits(v) | sign)
}

// putHalf writes v, rounded to nearest even, as a binary16 at the beginning of b.
func putHalf(b []byte, v float32) {
	h := float16.Fromfloat32(v)
	b[0], b[1] = byte(h), byte(h>>8)
}

// widenF16 reads len(dst) numbers of binary16.
func widenF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = half(src[2*i : 2*i+2])
	}
}

// narrowF16 writes the numbers as binary16, rounded to nearest even.
func narrowF16(dst []byte, src []float32) {
	for i, v := range src {
		putHalf(dst[2*i:2*i+2], v)
	}
}

// widenBF16 reads len(dst) numbers from their upper halves in src.
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
			bits |= quietBit
		} else { // a half less than the last kept bit, and one more if that bit is odd: ties go to even
			bits += 0x7fff + bits>>16&1
		}
		dst[2*i], dst[2*i+1] = byte(bits>>16), byte(bits>>24)
	}
}

// rawBytes returns a view of floats as the bytes that they have in memory.
func rawBytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}
