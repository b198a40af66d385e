package tensor

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/quant"
)

// DType is the type of a tensor's elements: a plain number type, or a block-quantised format in which BlockLen
// consecutive elements of a row share BlockBytes bytes. The zero value means "not set".
//
// All but U8 and I32 are the formats of package quant, with its numbers: names and geometry are the format's.
type DType uint8

// The element types.
const (
	F32    = DType(quant.F32)    // IEEE 754 binary32
	F16    = DType(quant.F16)    // IEEE 754 binary16
	BF16   = DType(quant.BF16)   // the upper half of a binary32
	U8     = BF16 + 1            // bytes
	Q4_0   = DType(quant.Q4_0)   // 32 × 4 bits, f16 scale: 18 bytes
	Q4_1   = DType(quant.Q4_1)   // 32 × 4 bits, f16 scale and minimum: 20 bytes
	Q8_0   = DType(quant.Q8_0)   // 32 × 8 bits, f16 scale: 34 bytes
	Q4_K   = DType(quant.Q4_K)   // 256 × 4 bits, eight 6-bit scales and minimums: 144 bytes
	Q5_K   = DType(quant.Q5_K)   // 256 × 5 bits, eight 6-bit scales and minimums: 176 bytes
	Q6_K   = DType(quant.Q6_K)   // 256 × 6 bits, sixteen 8-bit scales: 210 bytes
	Q5_0   = DType(quant.Q5_0)   // 32 × 5 bits, f16 scale: 22 bytes
	Q5_1   = DType(quant.Q5_1)   // 32 × 5 bits, f16 scale and minimum: 24 bytes
	IQ4_NL = DType(quant.IQ4_NL) // 32 × 4 bits that choose from sixteen values, f16 scale: 18 bytes
	Q2_K   = DType(quant.Q2_K)   // 256 × 2 bits, sixteen 4-bit scales and minimums: 84 bytes
	Q3_K   = DType(quant.Q3_K)   // 256 × 3 bits, sixteen 6-bit scales: 110 bytes
	IQ4_XS = DType(quant.IQ4_XS) // 256 × 4 bits that choose from sixteen values, eight 6-bit scales: 136 bytes
	I32    = IQ4_XS + 1          // whole numbers of 32 bits with a sign, such as the numbers of chosen experts
	MXFP4  = DType(quant.MXFP4)  // 32 × 4 bits, numbers of E2M1, and an exponent: 17 bytes
)

// DTypes lists every element type, in order of value.
func DTypes() (list []DType) {
	for d := range DType(math.MaxUint8) {
		if d.Valid() {
			list = append(list, d)
		}
	}
	return list
}

// WeightTypes lists the element types that weights can have, in order of value: those with a Format.
func WeightTypes() []DType {
	return slices.DeleteFunc(DTypes(), func(d DType) bool { return !d.Format().Valid() })
}

// ParseDType reads a name such as "f16" or "Q4_0"; case does not matter.
func ParseDType(name string) (DType, error) {
	var known []string
	for _, d := range DTypes() {
		if strings.EqualFold(name, d.String()) {
			return d, nil
		}
		known = append(known, d.String())
	}
	return 0, fmt.Errorf("tensor: unknown element type %q; known are %s", name, strings.Join(known, ", "))
}

// Valid reports whether d is one of the element types above.
func (d DType) Valid() bool { return d == U8 || d == I32 || quant.Format(d).Valid() }

// String returns the name in lower case, such as "q4_0".
func (d DType) String() string {
	switch {
	case d == U8:
		return "u8"
	case d == I32:
		return "i32"
	case !d.Valid():
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return d.Format().String()
}

// BlockLen returns the number of elements of one block: 1 for the plain types, 0 for an invalid one.
func (d DType) BlockLen() int {
	if !d.Valid() {
		return 0
	}
	return quant.Format(d).BlockLen()
}

// BlockBytes returns the bytes of one block: of one element for the plain types, 0 for an invalid one.
func (d DType) BlockBytes() int {
	switch d {
	case U8:
		return 1
	case I32:
		return 4
	}
	return quant.Format(d).BlockBytes()
}

// Quantized reports whether elements are stored in blocks of more than one.
func (d DType) Quantized() bool { return d.BlockLen() > 1 }

// Bytes returns the bytes of n elements. It returns an error when n is negative or no whole number of blocks, or when the elements
// need more bytes than an int can count.
func (d DType) Bytes(n int) (int, error) {
	if !d.Valid() {
		return 0, fmt.Errorf("tensor: %d elements of an unknown element type %d", n, uint8(d))
	}
	blockLen, blockBytes := d.BlockLen(), d.BlockBytes()
	if n < 0 || n%blockLen != 0 {
		return 0, fmt.Errorf("tensor: %d elements are no whole number of %v blocks of %d", n, d, blockLen)
	}
	if n/blockLen > math.MaxInt/blockBytes {
		return 0, fmt.Errorf("tensor: %d elements of %v are too many for the address space", n, d)
	}
	return n / blockLen * blockBytes, nil
}

// Format returns the storage format of the type, which converts its elements and computes with them. The formats of U8, of I32 and of
// invalid types are not Valid.
func (d DType) Format() quant.Format {
	if f := quant.Format(d); f.Valid() {
		return f
	}
	return 0
}
