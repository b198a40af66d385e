package quant

import "fmt"

// Format is a storage format for rows of numbers: one of the constants below. The zero value, and any number that is not one of
// them, is no format: it is not Valid, its Dequantize and Quantize return errors, its products are 0, and none of its methods
// panics.
type Format uint8

// The formats. The quantised ones have GGML's layouts, which the Block types spell out.
const (
	F32    Format = iota + 1 // IEEE 754 binary32
	F16                      // IEEE 754 binary16
	BF16                     // the upper half of a binary32
	Q4_0                     // BlockQ4_0
	Q4_1                     // BlockQ4_1
	Q8_0                     // BlockQ8_0
	Q4_K                     // BlockQ4_K
	Q5_K                     // BlockQ5_K
	Q6_K                     // BlockQ6_K
	Q5_0                     // BlockQ5_0
	Q5_1                     // BlockQ5_1
	IQ4_NL                   // BlockIQ4_NL
	Q2_K                     // BlockQ2_K
	Q3_K                     // BlockQ3_K
	IQ4_XS                   // BlockIQ4_XS
)

// facts are a format's name, its sizes and what its blocks consist of. Code is selected by switches over the format, and not by functions in this table, so that the
// compiler sees that no argument escapes: dot products must not allocate.
type facts struct {
	name                 string
	blockLen, blockBytes int // at least 1 element, so that divisions by it are safe
	activation           ActivationForm
	groupLen             int  // elements that share an inner scale, a multiple of 16; 0: a block has one scale
	minimum              bool // blocks have a minimum, which products add and which follows the scale
	scaleAt              int  // where the scale is in a block, in bytes; in F32 the half with the exponent
}

var formats = [...]facts{
	0:      {name: "none", blockLen: 1},
	F32:    {name: "f32", blockLen: 1, blockBytes: 4, scaleAt: 2},
	F16:    {name: "f16", blockLen: 1, blockBytes: 2},
	BF16:   {name: "bf16", blockLen: 1, blockBytes: 2},
	Q4_0:   {name: "q4_0", blockLen: 32, blockBytes: bytesQ4_0, activation: Int8x32},
	Q4_1:   {name: "q4_1", blockLen: 32, blockBytes: bytesQ4_1, activation: Int8x32, minimum: true},
	Q8_0:   {name: "q8_0", blockLen: 32, blockBytes: bytesQ8_0, activation: Int8x32},
	Q4_K:   {name: "q4_k", blockLen: 256, blockBytes: bytesQ4_K, activation: Int8x256, groupLen: 32, minimum: true},
	Q5_K:   {name: "q5_k", blockLen: 256, blockBytes: bytesQ5_K, activation: Int8x256, groupLen: 32, minimum: true},
	Q6_K:   {name: "q6_k", blockLen: 256, blockBytes: bytesQ6_K, activation: Int8x256, groupLen: 16, scaleAt: 208},
	Q5_0:   {name: "q5_0", blockLen: 32, blockBytes: bytesQ5_0, activation: Int8x32},
	Q5_1:   {name: "q5_1", blockLen: 32, blockBytes: bytesQ5_1, activation: Int8x32, minimum: true},
	IQ4_NL: {name: "iq4_nl", blockLen: 32, blockBytes: bytesIQ4_NL, activation: Int8x32},
	Q2_K:   {name: "q2_k", blockLen: 256, blockBytes: bytesQ2_K, activation: Int8x256, groupLen: 16, minimum: true, scaleAt: 80},
	Q3_K:   {name: "q3_k", blockLen: 256, blockBytes: bytesQ3_K, activation: Int8x256, groupLen: 16, scaleAt: 108},
	IQ4_XS: {name: "iq4_xs", blockLen: 256, blockBytes: bytesIQ4_XS, activation: Int8x256, groupLen: 32},
}

// Formats lists the formats, in order of value.
func Formats() []Format {
	list := make([]Format, 0, len(formats)-1)
	for f := F32; f.Valid(); f++ {
		list = append(list, f)
	}
	return list
}

// facts returns the format's facts.
func (f Format) facts() *facts {
	if !f.Valid() {
		f = 0
	}
	return &formats[f]
}

// Valid tells whether f is one of the formats.
func (f Format) Valid() bool { return f >= F32 && int(f) < len(formats) }

// String returns the name in lower case, such as "q4_0".
func (f Format) String() string { return f.facts().name }

// BlockLen returns the number of elements of a block: 1 for the float formats and for what is no format.
func (f Format) BlockLen() int { return f.facts().blockLen }

// BlockBytes returns the bytes of a block.
func (f Format) BlockBytes() int { return f.facts().blockBytes }

// ActivationForm returns the form of the activations that the format is multiplied with.
func (f Format) ActivationForm() ActivationForm { return f.facts().activation }

// unpacked is a block as integers: element i is d·scale[g]·q[i] + m·min[g], where g is i divided by the format's groupLen. In blocks
// without inner scales element i is d·q[i] + m, and scale and min are unused. In formats without a minimum m is 0 or noMinimum.
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
	case Q5_0:
		unpackQ5_0(b, u)
	case Q5_1:
		unpackQ5_1(b, u)
	case IQ4_NL:
		unpackIQ4_NL(b, u)
	case Q2_K:
		unpackQ2_K(b, u)
	case Q3_K:
		unpackQ3_K(b, u)
	case IQ4_XS:
		unpackIQ4_XS(b, u)
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

// CanQuantize tells whether Quantize writes the format: it writes all of them.
func (f Format) CanQuantize() bool { return f.Valid() }

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
	blockLen, blockBytes, group := f.BlockLen(), f.BlockBytes(), f.facts().groupLen
	for ; len(dst) > 0; dst, src = dst[blockLen:], src[blockBytes:] {
		f.unpack(src, &u)
		if group == 0 {
			for i, q := range u.q[:blockLen] {
				dst[i] = float32(u.d*float32(q)) + u.m
			}
			continue
		}
		for g := range blockLen / group {
			scale, min := float32(u.d*float32(u.scale[g])), float32(u.m*float32(u.min[g]))
			for i := g * group; i < (g+1)*group; i++ {
				dst[i] = float32(scale*float32(u.q[i])) + min
			}
		}
	}
	return nil
}
