package tensor

import (
	"fmt"
	"math"
	"strings"
)

// MaxDims is the largest number of dimensions of a Shape: what GGML has, and more than any weight of a Llama needs.
const MaxDims = 4

// Shape is an immutable list of up to MaxDims dimensions, outermost first. Shapes compare with ==; the zero value is the
// empty shape, which has no elements.
//
// 0 ≤ n ≤ MaxDims; dims[:n] are not negative and their product fits an int; dims[n:] are 0, so that == compares only the dimensions in use.
type Shape struct {
	dims [MaxDims]int
	n    int // dimensions
}

// NewShape makes a shape. A dimension may be 0 but not negative, and the number of elements must fit an int.
func NewShape(dims ...int) (Shape, error) {
	if len(dims) > MaxDims {
		return Shape{}, fmt.Errorf("tensor: shape %v has %d dimensions, more than %d", dims, len(dims), MaxDims)
	}
	s := Shape{n: len(dims)}
	elements := 1
	for i, d := range dims {
		if d < 0 {
			return Shape{}, fmt.Errorf("tensor: shape %v has a negative dimension", dims)
		}
		if d > 0 && elements > math.MaxInt/d {
			return Shape{}, fmt.Errorf("tensor: shape %v has too many elements to count", dims)
		}
		s.dims[i] = d
		elements *= d
	}
	return s, nil
}

// ShapeOf is NewShape for dimensions that are known to be valid; it panics where NewShape returns an error.
func ShapeOf(dims ...int) Shape {
	s, err := NewShape(dims...)
	if err != nil {
		panic(err)
	}
	return s
}

// NDim returns the number of dimensions.
func (s Shape) NDim() int { return s.n }

// Dim returns dimension i, outermost first; a negative i counts from the innermost, so Dim(-1) is the length of a row.
// A dimension that the shape does not have is 1.
func (s Shape) Dim(i int) int {
	if i < 0 {
		i += s.n
	}
	if i < 0 || i >= s.n {
		return 1
	}
	return s.dims[i]
}

// Dims returns the dimensions in a new slice.
func (s Shape) Dims() []int { return append([]int(nil), s.dims[:s.n]...) }

// NumElements returns the product of the dimensions, 0 for the empty shape.
func (s Shape) NumElements() int {
	if s.n == 0 {
		return 0
	}
	elements := 1
	for _, d := range s.dims[:s.n] {
		elements *= d
	}
	return elements
}

// Rows returns the number of rows: the product of all dimensions but the innermost, 0 for the empty shape.
func (s Shape) Rows() int {
	if s.n == 0 {
		return 0
	}
	rows := 1
	for _, d := range s.dims[:s.n-1] {
		rows *= d
	}
	return rows
}

// String formats the shape as [2 3].
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range s.dims[:s.n] {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprint(&b, d)
	}
	b.WriteByte(']')
	return b.String()
}
