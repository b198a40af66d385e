package quant

import "fmt"

// A Format is a row of the table formats. unpack turns a block of any quantised format into the same integers, so that Dequantize needs
// one loop for all of them; pack is its inverse. For example, a row of 4096 elements as Q4_K has 16 blocks of 256 elements and 144 bytes:
// Bytes returns 2304. Element 40 of a block lies in group 1, since groups have 32 elements:
//
//	unpack       d = 0.5, m = -0.25, scale[1] = 3, min[1] = 4, q[40] = 10
//	Dequantize   0.5·3·10 + (-0.25)·4 = 14

// Format is a storage format for rows of numbers: one of the constants below. The zero value, and any number that is not one of them, is no
// format: it is not Valid, its Dequantize and Quantize return errors, its products are 0, and its methods do not panic.
type Format uint8

// The formats. The quantised ones have GGML's blocks: the comments of the functions that unpack them spell out the layouts. Package
// tensor has the same numbers, and saved states have them in their headers: a new format takes the next one.
const (
	F32    Format = iota + 1 // IEEE 754 binary32
	F16                      // IEEE 754 binary16
	BF16                     // the upper half of a binary32
	_                        // package tensor's U8: bytes, which are no format
	Q4_0                     // 32 × 4 bits, f16 scale: 18 bytes
	Q4_1                     // 32 × 4 bits, f16 scale and minimum: 20 bytes
	Q8_0                     // 32 × 8 bits, f16 scale: 34 bytes
	Q4_K                     // 256 × 4 bits, eight 6-bit scales and minimums: 144 bytes
	Q5_K                     // 256 × 5 bits, eight 6-bit scales and minimums: 176 bytes
	Q6_K                     // 256 × 6 bits, sixteen 8-bit scales: 210 bytes
	Q5_0                     // 32 × 5 bits, f16 scale: 22 bytes
	Q5_1                     // 32 × 5 bits, f16 scale and minimum: 24 bytes
	IQ4_NL                   // 32 × 4 bits that choose from sixteen values, f16 scale: 18 bytes
	Q2_K                     // 256 × 2 bits, sixteen 4-bit scales and minimums: 84 bytes
	Q3_K                     // 256 × 3 bits, sixteen 6-bit scales: 110 bytes
	IQ4_XS                   // 256 × 4 bits that choose from sixteen values, eight 6-bit scales: 136 bytes
	_                        // package tensor's I32: whole numbers, which are no format
	MXFP4                    // 32 × 4 bits, numbers of E2M1, and an exponent: 17 bytes
)

// facts are what other packages and the algorithms of this one need to know of a format: no other place of the module repeats them.
// Code is selected by switches over the format, and not by functions in this table, so that the compiler sees that no argument
// escapes: dot products must not allocate.
type facts struct {
	name                 string
	ggml                 uint32 // the number of the type in GGUF files, of ggml.h
	fileType             uint32 // llama.cpp's number for files with most matrices in this format
	blockLen, blockBytes int    // at least 1 element, so that divisions by it are safe
	activation           ActivationForm
	groupLen             int      // elements that share an inner scale, a multiple of 16; 0: a block has one scale
	minimum              bool     // blocks have a minimum, which products add and which follows the scale
	exponent             bool     // the scale is a power of two, stored as one byte of exponent; else it is a binary16
	scaleAt              int      // the scale's first byte in a block; in F32 the half with the exponent
	rounding             rounding // how Quantize and QuantizeWeighted search; zero: they do not
}

// formats is the table of formats. Formats with a formula as their reference (see Quantize) are searched with importance only.
var formats = [...]facts{
	0:    {name: "none", blockLen: 1},
	F32:  {name: "f32", ggml: 0, fileType: 0, blockLen: 1, blockBytes: 4, scaleAt: 2},
	F16:  {name: "f16", ggml: 1, fileType: 1, blockLen: 1, blockBytes: 2},
	BF16: {name: "bf16", ggml: 30, fileType: 32, blockLen: 1, blockBytes: 2},
	Q4_0: {name: "q4_0", ggml: 2, fileType: 2, blockLen: 32, blockBytes: 18, activation: Int8x32,
		rounding: rounding{low: -8, high: 7, tries: 9, step: 0.15}},
	Q4_1: {name: "q4_1", ggml: 3, fileType: 3, blockLen: 32, blockBytes: 20, activation: Int8x32, minimum: true,
		rounding: rounding{high: 15, tries: 9, step: 0.15}},
	Q8_0: {name: "q8_0", ggml: 8, fileType: 7, blockLen: 32, blockBytes: 34, activation: Int8x32},
	Q4_K: {name: "q4_k", ggml: 12, fileType: 14, blockLen: 256, blockBytes: 144, activation: Int8x256, groupLen: 32, minimum: true,
		rounding: rounding{high: 15, scaleHigh: 63, minHigh: 63, tries: 9, step: 0.15}},
	Q5_K: {name: "q5_k", ggml: 13, fileType: 16, blockLen: 256, blockBytes: 176, activation: Int8x256, groupLen: 32, minimum: true,
		rounding: rounding{high: 31, scaleHigh: 63, minHigh: 63, tries: 7, step: 0.15}},
	Q6_K: {name: "q6_k", ggml: 14, fileType: 18, blockLen: 256, blockBytes: 210, activation: Int8x256, groupLen: 16, scaleAt: 208,
		rounding: rounding{low: -32, high: 31, scaleLow: -128, scaleHigh: 127, tries: 6, step: 0.2}},
	Q5_0: {name: "q5_0", ggml: 6, fileType: 8, blockLen: 32, blockBytes: 22, activation: Int8x32,
		rounding: rounding{low: -16, high: 15, tries: 8, step: 0.15}},
	Q5_1: {name: "q5_1", ggml: 7, fileType: 9, blockLen: 32, blockBytes: 24, activation: Int8x32, minimum: true,
		rounding: rounding{high: 31, tries: 8, step: 0.15}},
	IQ4_NL: {name: "iq4_nl", ggml: 20, fileType: 25, blockLen: 32, blockBytes: 18, activation: Int8x32,
		rounding: rounding{low: -127, high: 113, book: newBook(nonlinear4[:]), tries: 9, step: 2, steep: true}},
	Q2_K: {name: "q2_k", ggml: 10, fileType: 10, blockLen: 256, blockBytes: 84, activation: Int8x256, groupLen: 16, minimum: true, scaleAt: 80,
		rounding: rounding{high: 3, scaleHigh: 15, minHigh: 15, tries: 10, step: 0.1}},
	Q3_K: {name: "q3_k", ggml: 11, fileType: 11, blockLen: 256, blockBytes: 110, activation: Int8x256, groupLen: 16, scaleAt: 108,
		rounding: rounding{low: -4, high: 3, scaleLow: -32, scaleHigh: 31, tries: 9, step: 0.1}},
	IQ4_XS: {name: "iq4_xs", ggml: 23, fileType: 30, blockLen: 256, blockBytes: 136, activation: Int8x256, groupLen: 32,
		rounding: rounding{low: -127, high: 113, book: newBook(nonlinear4[:]), scaleLow: -32, scaleHigh: 31, tries: 9, step: 2, steep: true}},
	MXFP4: {name: "mxfp4", ggml: 39, fileType: 38, blockLen: 32, blockBytes: 17, activation: Int8x32, exponent: true},
}

// Formats lists the formats, in order of value.
func Formats() []Format {
	list := make([]Format, 0, len(formats)-1)
	for f := range Format(len(formats)) {
		if f.Valid() {
			list = append(list, f)
		}
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

// Valid reports whether f is one of the formats.
func (f Format) Valid() bool { return int(f) < len(formats) && formats[f].blockBytes > 0 }

// String returns the name in lower case, such as "q4_0".
func (f Format) String() string { return f.facts().name }

// BlockLen returns the number of elements of a block: 1 for the float formats and for invalid ones.
func (f Format) BlockLen() int { return f.facts().blockLen }

// BlockBytes returns the bytes of a block.
func (f Format) BlockBytes() int { return f.facts().blockBytes }

// GGMLType returns the number by which GGUF files name the type of a tensor in the format. It is 0, as for F32, if the format is not Valid.
func (f Format) GGMLType() uint32 { return f.facts().ggml }

// FileType returns llama.cpp's number for files with most matrices in the format. It is 0, as for F32, if the format is not Valid.
func (f Format) FileType() uint32 { return f.facts().fileType }

// ScalesAt returns the offsets of the binary16 numbers of a quantised block, in bytes from its beginning: the scale and, in formats with
// minimums, the minimum, or the scale of the groups' minimums. It returns nil for the float formats, for those with an ExponentAt, and for
// invalid formats.
func (f Format) ScalesAt() []int {
	switch facts := f.facts(); {
	case facts.activation == Float, facts.exponent:
		return nil
	case facts.minimum:
		return []int{facts.scaleAt, facts.scaleAt + 2}
	default:
		return []int{facts.scaleAt}
	}
}

// ExponentAt returns the offset of the scale's exponent in a block, in bytes from its beginning. ok is false if the format's scale is not a
// power of two. The scale of an exponent e is 2^(e−127), and the numbers of a block with e = 255 are not finite.
func (f Format) ExponentAt() (at int, ok bool) { return f.facts().scaleAt, f.facts().exponent }

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
	case MXFP4:
		unpackMXFP4(b, u)
	}
}

// pack writes a block of a quantised format that is searched: what unpack reads.
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

// Dequantize writes the elements of src, whole blocks, to dst. Its length must be their number.
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
