package gguf

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/tensor"
)

// GGMLType is the number by which a GGUF file names a tensor's element type.
type GGMLType uint32

// The element types that package tensor has too. A file may use others: see GGMLType.String for their names.
const (
	F32    GGMLType = 0
	F16    GGMLType = 1
	Q4_0   GGMLType = 2
	Q4_1   GGMLType = 3
	Q5_0   GGMLType = 6
	Q5_1   GGMLType = 7
	Q8_0   GGMLType = 8
	Q2_K   GGMLType = 10
	Q3_K   GGMLType = 11
	Q4_K   GGMLType = 12
	Q5_K   GGMLType = 13
	Q6_K   GGMLType = 14
	IQ4_NL GGMLType = 20
	IQ4_XS GGMLType = 23
	BF16   GGMLType = 30
)

// ggmlTypes gives the geometry of every type that GGML has published, also of those that it has withdrawn but that files
// still carry, so that a file is readable although some of its tensors are not. The numbers are those of ggml.h, the sizes
// those of the block structures in ggml-common.h.
var ggmlTypes = [...]struct {
	name                 string
	blockLen, blockBytes int
	dtype                tensor.DType // 0: no counterpart
}{
	F32:    {"F32", 1, 4, tensor.F32},
	F16:    {"F16", 1, 2, tensor.F16},
	Q4_0:   {"Q4_0", 32, 18, tensor.Q4_0},
	Q4_1:   {"Q4_1", 32, 20, tensor.Q4_1},
	Q5_0:   {"Q5_0", 32, 22, tensor.Q5_0},
	Q5_1:   {"Q5_1", 32, 24, tensor.Q5_1},
	Q8_0:   {"Q8_0", 32, 34, tensor.Q8_0},
	9:      {"Q8_1", 32, 36, 0},
	Q2_K:   {"Q2_K", 256, 84, tensor.Q2_K},
	Q3_K:   {"Q3_K", 256, 110, tensor.Q3_K},
	Q4_K:   {"Q4_K", 256, 144, tensor.Q4_K},
	Q5_K:   {"Q5_K", 256, 176, tensor.Q5_K},
	Q6_K:   {"Q6_K", 256, 210, tensor.Q6_K},
	15:     {"Q8_K", 256, 292, 0},
	16:     {"IQ2_XXS", 256, 66, 0},
	17:     {"IQ2_XS", 256, 74, 0},
	18:     {"IQ3_XXS", 256, 98, 0},
	19:     {"IQ1_S", 256, 50, 0},
	IQ4_NL: {"IQ4_NL", 32, 18, tensor.IQ4_NL},
	21:     {"IQ3_S", 256, 110, 0},
	22:     {"IQ2_S", 256, 82, 0},
	IQ4_XS: {"IQ4_XS", 256, 136, tensor.IQ4_XS},
	24:     {"I8", 1, 1, 0},
	25:     {"I16", 1, 2, 0},
	26:     {"I32", 1, 4, 0},
	27:     {"I64", 1, 8, 0},
	28:     {"F64", 1, 8, 0},
	29:     {"IQ1_M", 256, 56, 0},
	BF16:   {"BF16", 1, 2, tensor.BF16},
	31:     {"Q4_0_4_4", 32, 18, 0},
	32:     {"Q4_0_4_8", 32, 18, 0},
	33:     {"Q4_0_8_8", 32, 18, 0},
	34:     {"TQ1_0", 256, 54, 0},
	35:     {"TQ2_0", 256, 66, 0},
	36:     {"IQ4_NL_4_4", 32, 18, 0},
	37:     {"IQ4_NL_4_8", 32, 18, 0},
	38:     {"IQ4_NL_8_8", 32, 18, 0},
	39:     {"MXFP4", 32, 17, 0},
	40:     {"NVFP4", 64, 36, 0},
	41:     {"Q1_0", 128, 18, 0},
	42:     {"Q2_0", 64, 18, 0},
}

// TypeOf returns the GGML type that d is stored as, and whether there is one.
func TypeOf(d tensor.DType) (GGMLType, bool) {
	for t, g := range ggmlTypes {
		if d.Valid() && g.dtype == d {
			return GGMLType(t), true
		}
	}
	return 0, false
}

// known tells whether the geometry of t is known.
func (t GGMLType) known() bool { return int64(t) < int64(len(ggmlTypes)) && ggmlTypes[t].blockLen > 0 }

// DType returns the counterpart of t, 0 if there is none.
func (t GGMLType) DType() tensor.DType {
	if !t.known() {
		return 0
	}
	return ggmlTypes[t].dtype
}

// String returns GGML's name of t, such as "Q4_K".
func (t GGMLType) String() string {
	if !t.known() {
		return fmt.Sprintf("GGML type %d", uint32(t))
	}
	return ggmlTypes[t].name
}

// Size returns the bytes of a tensor of this type and shape, outermost dimension first.
func (t GGMLType) Size(shape []int) (int, error) {
	if !t.known() {
		return 0, fmt.Errorf("unknown element type %d", uint32(t))
	}
	g := ggmlTypes[t]
	if len(shape) == 0 || len(shape) > tensor.MaxDims {
		return 0, fmt.Errorf("%d dimensions; there must be 1 to %d", len(shape), tensor.MaxDims)
	}
	blocks := 1
	for i, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		if i == len(shape)-1 {
			if d%g.blockLen != 0 {
				return 0, fmt.Errorf("rows of %d elements are no whole number of %v blocks of %d", d, t, g.blockLen)
			}
			d /= g.blockLen
		}
		if d > 0 && blocks > math.MaxInt/d {
			return 0, fmt.Errorf("shape %v has too many elements to count", shape)
		}
		blocks *= d
	}
	if blocks > math.MaxInt/g.blockBytes {
		return 0, fmt.Errorf("shape %v of %v has too many bytes to count", shape, t)
	}
	return blocks * g.blockBytes, nil
}
