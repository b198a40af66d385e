package tensor

import (
	"fmt"
	"math"
	"strings"

	"github.com/antigravity-go/antigravity/quant"
)

// DType is the type of a tensor's elements: a plain number type, or a block-quantised format in which BlockLen
// consecutive elements of a row share BlockBytes bytes. The zero value means "not set".
type DType uint8

// The element types. The quantised types have GGML's layouts, so that llama.cpp's files can be read and written; package quant
// describes the layouts and converts them.
const (
	F32    DType = iota + 1 // IEEE 754 binary32
	F16                     // IEEE 754 binary16
	BF16                    // the upper half of a binary32
	U8                      // bytes
	Q4_0                    // 32 × 4 bits, f16 scale: 18 bytes
	Q4_1                    // 32 × 4 bits, f16 scale and minimum: 20 bytes
	Q8_0                    // 32 × 8 bits, f16 scale: 34 bytes
	Q4_K                    // 256 × 4 bits, eight 6-bit scales and minimums: 144 bytes
	Q5_K                    // 256 × 5 bits, eight 6-bit scales and minimums: 176 bytes
	Q6_K                    // 256 × 6 bits, sixteen 8-bit scales: 210 bytes
	Q5_0                    // 32 × 5 bits, f16 scale: 22 bytes
	Q5_1                    // 32 × 5 bits, f16 scale and minimum: 24 bytes
	IQ4_NL                  // 32 × 4 bits that choose from sixteen values, f16 scale: 18 bytes
	Q2_K                    // 256 × 2 bits, sixteen 4-bit scales and minimums: 84 bytes
	Q3_K                    // 256 × 3 bits, sixteen 6-bit scales: 110 bytes
	IQ4_XS                  // 256 × 4 bits that choose from sixteen values, eight 6-bit scales: 136 bytes
)

// dtypes lists the element types by value. U8 has no format; the others' geometry is their format's.
var dtypes = [...]struct {
	name                 string
	blockLen, blockBytes int
	format               quant.Format
}{
	F32:    {"f32", 1, 4, quant.F32},
	F16:    {"f16", 1, 2, quant.F16},
	BF16:   {"bf16", 1, 2, quant.BF16},
	U8:     {"u8", 1, 1, 0},
	Q4_0:   {"q4_0", 32, 18, quant.Q4_0},
	Q4_1:   {"q4_1", 32, 20, quant.Q4_1},
	Q8_0:   {"q8_0", 32, 34, quant.Q8_0},
	Q4_K:   {"q4_k", 256, 144, quant.Q4_K},
	Q5_K:   {"q5_k", 256, 176, quant.Q5_K},
	Q6_K:   {"q6_k", 256, 210, quant.Q6_K},
	Q5_0:   {"q5_0", 32, 22, quant.Q5_0},
	Q5_1:   {"q5_1", 32, 24, quant.Q5_1},
	IQ4_NL: {"iq4_nl", 32, 18, quant.IQ4_NL},
	Q2_K:   {"q2_k", 256, 84, quant.Q2_K},
	Q3_K:   {"q3_k", 256, 110, quant.Q3_K},
	IQ4_XS: {"iq4_xs", 256, 136, quant.IQ4_XS},
}

// DTypes lists every element type, in order of value.
func DTypes() []DType {
	list := make([]DType, 0, len(dtypes)-1)
	for d := F32; int(d) < len(dtypes); d++ {
		list = append(list, d)
	}
	return list
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

// Valid tells whether d is one of the element types above.
func (d DType) Valid() bool { return d >= F32 && int(d) < len(dtypes) }

// String returns the name in lower case, such as "q4_0".
func (d DType) String() string {
	if !d.Valid() {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// BlockLen returns the number of elements of one block: 1 for the plain types, 0 for an invalid one.
func (d DType) BlockLen() int {
	if !d.Valid() {
		return 0
	}
	return dtypes[d].blockLen
}

// BlockBytes returns the bytes of one block: of one element for the plain types, 0 for an invalid one.
func (d DType) BlockBytes() int {
	if !d.Valid() {
		return 0
	}
	return dtypes[d].blockBytes
}

// Quantized tells whether elements are stored in blocks of more than one.
func (d DType) Quantized() bool { return d.BlockLen() > 1 }

// Bytes returns the bytes of n elements. It returns an error when n is negative or no whole number of blocks, or when the elements
// need more bytes than an int can count.
func (d DType) Bytes(n int) (int, error) {
	if !d.Valid() {
		return 0, fmt.Errorf("tensor: %d elements of an unknown element type %d", n, uint8(d))
	}
	block := dtypes[d].blockLen
	if n < 0 || n%block != 0 {
		return 0, fmt.Errorf("tensor: %d elements are no whole number of %v blocks of %d", n, d, block)
	}
	if n/block > math.MaxInt/dtypes[d].blockBytes {
		return 0, fmt.Errorf("tensor: %d elements of %v are too many for the address space", n, d)
	}
	return n / block * dtypes[d].blockBytes, nil
}

// Format returns the storage format of the type, which converts its elements and computes with them. For U8, and for what is no
// type, the format is not Valid.
func (d DType) Format() quant.Format {
	if !d.Valid() {
		return 0
	}
	return dtypes[d].format
}
