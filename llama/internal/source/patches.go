package source

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// A tower's filter of patches is a matrix for the engine: a row for each state, of the values of a patch. Folders have it as such a matrix or as
// [out, colours, height, width], and for towers that read two frames as [out, colours, frames, height, width], and then the engine wants a matrix for each frame.
// Some towers read patches with the colours innermost, and files have them outermost:
//
//	[48, 3, 2, 8, 8], frame 1     →   [48, 192]: of each of 3·48 stretches of 2·64 values the second 64
//	[48, 3, 8, 8], with colours   →   [48, 192]: of each row the values 0 64 128 1 65 129 2 …
//
// A matrix may also be stored as [in, out].

// columns says which columns of a file's rows a tensor has.
type columns struct {
	all int                  // in the file's rows
	of  func(row, i int) int // the file's element for a row and a column that are wanted
}

// flatDims returns the dimensions that a layout gives to a tensor that a file has with others.
func flatDims(l *storage.Layout, dims []int) []int {
	if len(dims) == 0 { // a number
		return []int{1}
	}
	if len(dims) < 2 || !l.Flat && !l.Tables {
		return dims
	}
	joined, rest := dims[1:], dims[0]
	if l.Tables {
		joined, rest = dims[:len(dims)-1], dims[len(dims)-1]
	}
	n := 1
	for _, d := range joined {
		if d != 0 && n > math.MaxInt/d {
			return dims
		}
		n *= d
	}
	if l.Tables {
		return []int{n, rest}
	}
	return []int{rest, n}
}

// patch returns the tensor with the columns that a layout asks for, of a filter that the file has with dimensions.
func (s Stored) patch(l *storage.Layout, dims []int) (Stored, error) {
	switch f := l.Frames; {
	case f.Of > 1:
		if len(dims) != 5 || dims[2] != f.Of {
			return s, fmt.Errorf("it is %v, and must be a filter of %d frames, [out colours %d height width]", dims, f.Of, f.Of)
		}
		area := dims[3] * dims[4]
		all := dims[1] * f.Of * area
		s.columns = &columns{all, func(row, i int) int { return row*all + i/area*f.Of*area + f.At*area + i%area }}
		dims = []int{dims[0], dims[1] * area}
	case l.Colours && len(dims) == 4:
		colours, area := dims[1], dims[2]*dims[3]
		s.columns = &columns{colours * area, func(row, i int) int { return row*colours*area + i%colours*area + i/colours }}
		dims = []int{dims[0], colours * area}
	case l.Transposed && len(dims) == 2:
		in, out := dims[0], dims[1]
		s.columns = &columns{in, func(row, i int) int { return i*out + row }}
		dims = []int{out, in}
	default:
		return s, nil
	}
	if s.rare != nil || s.dtype.BlockLen() != 1 {
		return s, fmt.Errorf("its type is %s, of which no columns can be taken: %w", s.typeName(), fault.ErrUnsupported)
	}
	shape, err := tensor.NewShape(dims...)
	s.shape = shape
	return s, err
}

// picked returns a copy with the tensor's columns.
func (s *Stored) picked(memory tensor.Memory) (*tensor.Tensor, error) {
	size, rows, cols := s.dtype.BlockBytes(), s.shape.Dim(0), s.shape.Dim(1)
	buffer, err := memory.Alloc(rows*cols*size, s.dtype)
	if err != nil {
		return nil, err
	}
	dst := buffer.Bytes()
	for i := range rows {
		for j := range cols {
			copy(dst[(i*cols+j)*size:][:size], s.data[s.columns.of(i, j)*size:])
		}
	}
	return tensor.Wrap(nil, buffer, s.shape)
}
