package gguf

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/antigravity-go/antigravity/tensor"
)

// GGMLType is the number by which a GGUF file names a tensor's element type.
type GGMLType uint32

// F32 is the type that this module writes plain numbers in, such as norms.
const F32 GGMLType = 0

// geometry is a type's name and the sizes of its blocks.
type geometry struct {
	name                 string
	blockLen, blockBytes int
	dtype                tensor.DType // 0: no counterpart
}

// ggmlTypes has the geometry of every type that GGML has published, by number: of package quant's formats, and of the others.
var ggmlTypes = func() map[GGMLType]geometry {
	types := maps.Clone(others)
	for _, d := range tensor.DTypes() {
		if f := d.Format(); f.Valid() {
			types[GGMLType(f.GGMLType())] = geometry{strings.ToUpper(f.String()), f.BlockLen(), f.BlockBytes(), d}
		}
	}
	return types
}()

// others are the types that package quant has no format of, also those that GGML has withdrawn but that files still carry, so that a
// file is readable although some of its tensors are not. The numbers are those of ggml.h, the sizes those of the block structures in
// ggml-common.h.
var others = map[GGMLType]geometry{
	9:  {"Q8_1", 32, 36, 0},
	15: {"Q8_K", 256, 292, 0},
	16: {"IQ2_XXS", 256, 66, 0},
	17: {"IQ2_XS", 256, 74, 0},
	18: {"IQ3_XXS", 256, 98, 0},
	19: {"IQ1_S", 256, 50, 0},
	21: {"IQ3_S", 256, 110, 0},
	22: {"IQ2_S", 256, 82, 0},
	24: {"I8", 1, 1, 0},
	25: {"I16", 1, 2, 0},
	26: {"I32", 1, 4, 0},
	27: {"I64", 1, 8, 0},
	28: {"F64", 1, 8, 0},
	29: {"IQ1_M", 256, 56, 0},
	31: {"Q4_0_4_4", 32, 18, 0},
	32: {"Q4_0_4_8", 32, 18, 0},
	33: {"Q4_0_8_8", 32, 18, 0},
	34: {"TQ1_0", 256, 54, 0},
	35: {"TQ2_0", 256, 66, 0},
	36: {"IQ4_NL_4_4", 32, 18, 0},
	37: {"IQ4_NL_4_8", 32, 18, 0},
	38: {"IQ4_NL_8_8", 32, 18, 0},
	40: {"NVFP4", 64, 36, 0},
	41: {"Q1_0", 128, 18, 0},
	42: {"Q2_0", 64, 18, 0},
}

// TypeOf returns the GGML type that d is stored as, and whether there is one.
func TypeOf(d tensor.DType) (GGMLType, bool) {
	f := d.Format()
	return GGMLType(f.GGMLType()), f.Valid()
}

// DType returns the counterpart of t, or 0 if it has no counterpart.
func (t GGMLType) DType() tensor.DType { return ggmlTypes[t].dtype }

// Block returns the elements and the bytes of a block, 0 for a type that is not known.
func (t GGMLType) Block() (elements, bytes int) {
	return ggmlTypes[t].blockLen, ggmlTypes[t].blockBytes
}

// String returns GGML's name of t, such as "Q4_K".
func (t GGMLType) String() string {
	if g, known := ggmlTypes[t]; known {
		return g.name
	}
	return fmt.Sprintf("GGML type %d", uint32(t))
}

// Size returns the bytes of a tensor of this type and shape, outermost dimension first.
func (t GGMLType) Size(shape []int) (int, error) {
	g, known := ggmlTypes[t]
	if !known {
		return 0, fmt.Errorf("unknown element type %d", uint32(t))
	}
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
