package safetensors

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/antigravity-go/antigravity/tensor"
)

// dtypes lists the format's element types: their width in bits, and their counterpart in package tensor, if any.
var dtypes = map[string]struct {
	bits  uint
	dtype tensor.DType
}{
	"F64":     {64, 0},
	"F32":     {32, tensor.F32},
	"F16":     {16, tensor.F16},
	"BF16":    {16, tensor.BF16},
	"F8_E4M3": {8, 0},
	"F8_E5M2": {8, 0},
	"F8_E8M0": {8, 0},
	"F6_E2M3": {6, 0},
	"F6_E3M2": {6, 0},
	"F4":      {4, 0},
	"C64":     {64, 0},
	"I64":     {64, 0},
	"I32":     {32, 0},
	"I16":     {16, 0},
	"I8":      {8, 0},
	"U64":     {64, 0},
	"U32":     {32, 0},
	"U16":     {16, 0},
	"U8":      {8, tensor.U8},
	"BOOL":    {8, 0},
}

// DTypeError reports the use of a tensor with an element type that package tensor does not have.
type DTypeError struct {
	Tensor, DType string
}

// Error names the tensor and its type, and the types that would do.
func (e *DTypeError) Error() string {
	return fmt.Sprintf("safetensors: tensor %q has elements of type %.20q; F32, F16, BF16 and U8 are supported",
		e.Tensor, e.DType)
}

// ElementType returns t's type as package tensor knows it, or a *DTypeError.
func (t Tensor) ElementType() (tensor.DType, error) {
	if d := dtypes[t.DType].dtype; d != 0 {
		return d, nil
	}
	return 0, &DTypeError{t.Name, t.DType}
}

// size returns the bytes of a tensor; known is false when the format has no such type.
func size(dtype string, shape []int) (n int, known bool, err error) {
	elements := uint64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, false, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		hi, lo := bits.Mul64(elements, uint64(d))
		if hi != 0 {
			return 0, false, fmt.Errorf("shape %v has too many elements to count", shape)
		}
		elements = lo
	}
	width, known := dtypes[dtype]
	if !known {
		return 0, false, nil
	}
	hi, total := bits.Mul64(elements, uint64(width.bits))
	if hi != 0 || total/8 > math.MaxInt {
		return 0, true, fmt.Errorf("shape %v of %s has too many bytes to count", shape, dtype)
	}
	if total%8 != 0 {
		return 0, true, fmt.Errorf("shape %v of %s is no whole number of bytes", shape, dtype)
	}
	return int(total / 8), true, nil
}
