package source

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/antigravity-go/antigravity/internal/rare"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// newRare is newStored for data of a type that nothing computes with: the tensor has the type that it is rewritten as.
func newRare(kind *rare.Type, dims []int, data []byte, owner io.Closer) (Stored, error) {
	shape, err := tensor.NewShape(dims...)
	if err != nil {
		return Stored{}, err
	}
	cols := shape.Dim(-1)
	if cols == 0 || cols%kind.Target().BlockLen() != 0 || shape.NumElements()/cols%kind.RowsAtOnce() != 0 {
		return Stored{}, fmt.Errorf("its shape is %v and its type %v, of whose rows %d lie together: %w", shape, kind, kind.RowsAtOnce(), fault.ErrUnsupported)
	}
	if want := kind.Bytes(shape.NumElements()); len(data) != want {
		return Stored{}, fmt.Errorf("%d bytes of %v, where its shape %v needs %d", len(data), kind, shape, want)
	}
	return Stored{dtype: kind.Target(), shape: shape, data: data, owner: owner, rare: kind}, nil
}

// ScaleOf returns a number by which the products with a tensor, once that is read, are to be multiplied; 0: by nothing besides the model's own numbers.
func ScaleOf(s *Stored) float32 {
	if s.rare == nil {
		return 0
	}
	return s.rare.Scale()
}

// rewriteAtOnce is about how many elements are rewritten between two looks at the context.
const rewriteAtOnce = 1 << 20

// rewritten returns the tensor in memory of our own, in the type that replaces a rare one, with its rows in the file's order. Loading
// does this for several tensors at a time.
func (s *Stored) rewritten(ctx context.Context, memory tensor.Memory) (*tensor.Tensor, error) {
	bytes, err := s.dtype.Bytes(s.shape.NumElements())
	if err != nil {
		return nil, err
	}
	buffer, err := memory.Alloc(bytes, s.dtype)
	if err != nil {
		return nil, err
	}
	cols := s.shape.Dim(-1)
	rows := s.shape.NumElements() / cols
	together := s.rare.RowsAtOnce()
	step := max(rewriteAtOnce/cols/together, 1) * together
	from, to := s.rare.Bytes(cols), s.dtype.Format().Bytes(cols)
	for lo := 0; lo < rows; lo += step {
		hi := min(lo+step, rows)
		err := ctx.Err()
		if err == nil {
			err = s.rare.Rewrite(buffer.Bytes()[lo*to:hi*to], s.data[lo*from:hi*from], cols)
		}
		if err != nil {
			buffer.Free()
			return nil, err
		}
	}
	t, err := tensor.Wrap(nil, buffer, s.shape)
	if err != nil {
		buffer.Free()
	}
	return t, err
}

// LogRewritten logs, once for each type, which tensors of a file will be rewritten while loading.
func LogRewritten(log *slog.Logger, file string, stored []Stored) {
	count := map[string]int{} // by names: a ternary matrix has a type of its own
	for i := range stored {
		if kind := stored[i].rare; kind != nil {
			count[kind.String()]++
		}
	}
	for i := range stored { // in the order of the tensors
		if kind := stored[i].rare; kind != nil && count[kind.String()] > 0 {
			log.Info("weights are rewritten while loading: nothing computes with their type", "file", file, "type", kind.String(),
				"as", kind.Target(), "tensors", count[kind.String()], "relative_error", kind.Loss())
			delete(count, kind.String())
		}
	}
}
