package source

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// A tower's filter of patches is a matrix for the engine: a row for each state, of the values of a patch. Folders have it as [out, colours, height, width],
// and for towers that read two frames as [out, colours, frames, height, width], and then the engine wants a matrix for each frame:
//
//	[48, 3, 2, 8, 8], frame 1   →   [48, 192]: of each of 3·48 stretches of 2·64 values the second 64

// frame says which part of a filter a tensor is.
type frame struct {
	storage.Frames
	stretch int // the bytes of one frame that lie together
}

// flatDims returns the dimensions that a layout gives to a tensor that a file has with others.
func flatDims(l *storage.Layout, dims []int) []int {
	if !l.Flat || len(dims) < 2 {
		return dims
	}
	row := 1
	for _, d := range dims[1:] {
		if d != 0 && row > math.MaxInt/d {
			return dims
		}
		row *= d
	}
	return []int{dims[0], row}
}

// ofFrame returns the tensor of one frame of a filter that the file has with dimensions.
func (s Stored) ofFrame(f storage.Frames, dims []int) (Stored, error) {
	if len(dims) != 5 || dims[2] != f.Of {
		return s, fmt.Errorf("it is %v, and must be a filter of %d frames, [out colours %d height width]", dims, f.Of, f.Of)
	}
	if s.rare != nil || s.dtype.BlockLen() != 1 {
		return s, fmt.Errorf("its type is %s, of which no frame can be taken: %w", s.typeName(), fault.ErrUnsupported)
	}
	s.frame = &frame{f, dims[3] * dims[4] * s.dtype.BlockBytes()}
	shape, err := tensor.NewShape(dims[0], dims[1]*dims[3]*dims[4])
	s.shape = shape
	return s, err
}

// frameOnly returns a copy of the values of the tensor's frame.
func (s *Stored) frameOnly(memory tensor.Memory) (*tensor.Tensor, error) {
	f := s.frame
	buffer, err := memory.Alloc(len(s.data)/f.Of, s.dtype)
	if err != nil {
		return nil, err
	}
	dst := buffer.Bytes()
	for from := s.data[f.At*f.stretch:]; len(dst) > 0; dst = dst[f.stretch:] {
		copy(dst[:f.stretch], from)
		from = from[min(f.Of*f.stretch, len(from)):]
	}
	return tensor.Wrap(nil, buffer, s.shape)
}
