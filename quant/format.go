package quant

import "fmt"

// Format is a storage format for rows of numbers: one of the constants below. The zero value, and any number that is not one of
// them, is no format: it is not Valid, its Dequantize and Quantize return errors, its products are 0, and none of its methods
// panics.
type Format uint8

// The formats. The quantised ones have GGML's layouts, which the Block types spell out.
const (
	F32  Format = iota + 1 // IEEE 754 binary32
	F16                    // IEEE 754 binary16
	BF16                   // the upper half of a binary32
	Q4_0                   // BlockQ4_0
	Q4_1                   // BlockQ4_1
	Q8_0                   // BlockQ8_0
	Q4_K                   // BlockQ4_K
	Q5_K                   // BlockQ5_K
	Q6_K                   // BlockQ6_K
)

// facts are a format's name and sizes. Code is selected by switches over the format, and not by functions in this table, so that the
// compiler sees that no argument escapes: dot products must not allocate.
type facts struct {
	name                 string
	blockLen, blockBytes int // at least 1 element, so that divisions by it are safe
	activation           ActivationForm
}

var formats = [...]facts{
	0:    {"none", 1, 0, Float},
	F32:  {"f32", 1, 4, Float},
	F16:  {"f16", 1, 2, Float},
	BF16: {"bf16", 1, 2, Float},
	Q4_0: {"q4_0", 32, bytesQ4_0, Int8x32},
	Q4_1: {"q4_1", 32, bytesQ4_1, Int8x32},
	Q8_0: {"q8_0", 32, bytesQ8_0, Int8x32},
	Q4_K: {"q4_k", 256, bytesQ4_K, Int8x256},
	Q5_K: {"q5_k", 256, bytesQ5_K, Int8x256},
	Q6_K: {"q6_k", 256, bytesQ6_K, Int8x256},
}

// Formats lists the formats.
func Formats() []Format { return []Format{F32, F16, BF16, Q4_0, Q4_1, Q8_0, Q4_K, Q5_K, Q6_K} }

// facts returns the format's facts.
func (f Format) facts() *facts {
	if !f.Valid() {
		f = 0
	}
	return &formats[f]
}

// Valid tells whether f is one of the formats.
func (f Format) Valid() bool { return f >= F32 && f <= Q6_K }

// String returns the name in lower case, such as "q4_0".
func (f Format) String() string { return f.facts().name }

// BlockLen returns the number of elements of a block: 1 for the float formats and for what is no format.
func (f Format) BlockLen() int { return f.facts().blockLen }

// BlockBytes returns the bytes of a block.
func (f Format) BlockBytes() int { return f.facts().blockBytes }

// ActivationForm returns the form of the activations that the format is multiplied with.
func (f Format) ActivationForm() ActivationForm { return f.facts().activation }

// unpacked is a block as integers: element i is d·scale[i/16]·q[i] + m·min[i/16]. Blocks of 32 elements have no inner scales: their
// element i is d·q[i] + m, and scale and min are unused. In formats without a minimum m is 0.
type unpacked struct {
	d, m       float32
	q          [256]int8
	scale, min [16]int32
}

// unpack reads a block of a quantised format into u.
func (f Format) unpack(b []byte, u *unpacked) {
	switch f {
	case Q4_0:
		unpackQ4_0(b, u)
	case Q4_1:
		unpackQ4_1(b, u)
	case Q8_0:
		unpackQ8_0(b, u)
	case Q4_K:
		unpackQ4_K(b, u)
	case Q5_K:
		unpackQ5_K(b, u)
	case Q6_K:
		unpackQ6_K(b, u)
	}
}

// widen reads len(dst) elements of a float format.
func (f Format) widen(dst []float32, src []byte) {
	switch f {
	case F32:
		copy(rawBytes(dst), src)
	case F16:
		widenF16(dst, src)
	case BF16:
		widenBF16(dst, src)
	}
}

// Bytes returns the bytes of n elements, which must be whole blocks.
func (f Format) Bytes(n int) int {
	format := f.facts()
	return n / format.blockLen * format.blockBytes
}

// check returns an error unless bytes hold exactly n elements in whole blocks.
func (f Format) check(op string, n, bytes int) error {
	if !f.Valid() {
		return fmt.Errorf("quant: %s %d elements: %d is no format", op, n, uint8(f))
	}
	if n%f.BlockLen() != 0 || bytes != f.Bytes(n) {
		return fmt.Errorf("quant: %s %d elements of %s in %d bytes: there must be whole blocks of %d elements in %d bytes each",
			op, n, f, bytes, f.BlockLen(), f.BlockBytes())
	}
	return nil
}

// Dequantize writes the elements of src, whole blocks, to dst, whose length must be the number of these elements.
func (f Format) Dequantize(dst []float32, src []byte) error {
	if err := f.check("dequantize", len(dst), len(src)); err != nil {
		return err
	}
	if f.ActivationForm() == Float {
		f.widen(dst, src)
		return nil
	}
	var u unpacked
	form, blockLen, blockBytes := f.ActivationForm(), f.BlockLen(), f.BlockBytes()
	for ; len(dst) > 0; dst, src = dst[blockLen:], src[blockBytes:] {
		f.unpack(src, &u)
		if form == Int8x32 {
			for i, q := range u.q[:32] {
				dst[i] = float32(u.d*float32(q)) + u.m
			}
			continue
		}
		for i, q := range u.q {
			scale, min := float32(u.d*float32(u.scale[i/16])), float32(u.m*float32(u.min[i/16]))
			dst[i] = float32(scale*float32(q)) + min
		}
	}
	return nil
}
