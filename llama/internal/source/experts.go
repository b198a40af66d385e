package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// The matrices of a layer's experts are one tensor for the engine, [experts, rows, columns]. Some files have it; others have a tensor for each expert,
// or gate and up in one (see storage.Form). Then the tensor is a list of pieces, one for each expert, which are put together when it is read:
//
//	file's gate_up_proj [2, 4, k]: g0 u0 g1 u1 | g0 u0 g1 u1   →   gate: pieces {first 0, step 2} of both halves, up: {first 1, step 2}

// piece is the rows of one expert.
type piece struct {
	storage.Piece
	owner, others io.Closer // of data and of exponents
}

// matrixOf finds an expert's tensor in a form, or that of all experts.
type matrixOf func(form *storage.Form, expert int) (s Stored, found bool, err error)

// findForm finds a tensor of experts in the first of several forms that a file has. shape is what the configuration asks for.
func findForm(forms []storage.Form, shape []int, matrix matrixOf) (Stored, error) {
	for i := range forms {
		f := &forms[i]
		first, found, err := matrix(f, 0)
		switch {
		case err != nil:
			return first, fmt.Errorf("%s: %w", f.Of(0), err)
		case !found:
		case f.Whole(shape[1]):
			return first, nil // Find checks the shape
		default:
			s, err := gather(f, shape, first, matrix)
			if err != nil {
				return s, fmt.Errorf("%s: %w", f.Of(0), err)
			}
			return s, nil
		}
	}
	return Stored{}, errors.New("it is missing")
}

// gather makes a tensor of the pieces that a form has. first is that of the first expert, or that of all.
func gather(f *storage.Form, shape []int, first Stored, matrix matrixOf) (s Stored, err error) {
	if first.rare != nil && first.rare.RowsAtOnce() > 1 || (len(shape) < 3 || f.Transposed) && first.dtype.Quantized() {
		return s, fmt.Errorf("its type is %s, of which no rows can be taken: %w", first.typeName(), fault.ErrUnsupported)
	}
	owners := make([]piece, shape[0])
	pieces, err := f.Gather(shape, func(e int) (storage.Held, error) {
		from := first
		if e > 0 {
			var found bool
			if from, found, err = matrix(f, e); err == nil && !found {
				err = fmt.Errorf("%s is missing", f.Of(e))
			}
			if err != nil {
				return storage.Held{}, err
			}
		}
		h := storage.Held{Type: from.typeName(), Shape: from.shape.Dims(), Data: from.data}
		owners[e].owner = from.owner
		if len(from.pieces) > 0 { // MXFP4
			owners[e] = from.pieces[0]
			h.Data, h.Exponents = owners[e].Data, owners[e].Exponents
		}
		return h, nil
	})
	if err != nil {
		return s, err
	}
	s = first
	s.data, s.pieces, s.shape = nil, owners, tensor.ShapeOf(shape...)
	for e := range s.pieces {
		if !f.Each() {
			s.pieces[e] = owners[0]
		}
		s.pieces[e].Piece = pieces[e]
	}
	return s, nil
}

// typeName returns the name of the type that the file has.
func (s *Stored) typeName() string {
	name, _ := s.Type()
	return name
}

// mxfp4 is GGUF's type for blocks of MXFP4.
const mxfp4 = gguf.GGMLType(39)

// newMXFP4 returns weights that a folder has as two tensors, elements and exponents; see storage.HeldMXFP4.
func newMXFP4(elements, exponents *safetensors.Tensor, owner, others io.Closer) (s Stored, err error) {
	held, err := storage.HeldMXFP4(elements, exponents)
	if err != nil {
		return s, err
	}
	if s, err = ggufShape(mxfp4, held.Shape); err != nil {
		return s, err
	}
	s.owner = owner
	s.pieces = []piece{{storage.Piece{Data: held.Data, Exponents: held.Exponents, Step: 1}, owner, others}}
	return s, nil
}

// collected returns a tensor that is put together of pieces, in memory of our own.
func (s *Stored) collected(ctx context.Context, memory tensor.Memory) (*tensor.Tensor, error) {
	dims := s.shape.Dims()
	rows := dims[1]
	rowBytes := s.rowBytes()
	dtype := s.dtype
	if s.rare != nil {
		dtype = tensor.U8 // until it is rewritten
	}
	buffer, err := memory.Alloc(dims[0]*rows*rowBytes, dtype)
	if err != nil {
		return nil, err
	}
	dst := buffer.Bytes()
	for e := range s.pieces {
		if err := errors.Join(ctx.Err(), s.pieces[e].Read(dst[e*rows*rowBytes:][:rows*rowBytes], 0, rowBytes)); err != nil {
			buffer.Free()
			return nil, err
		}
	}
	if s.rare == nil {
		return tensor.Wrap(nil, buffer, s.shape)
	}
	defer buffer.Free()
	whole := *s
	whole.data, whole.pieces = dst, nil
	return whole.rewritten(ctx, memory)
}

// rowBytes returns the bytes of a row as they are put together; a row of biases is one element.
func (s *Stored) rowBytes() int {
	n := 1
	if s.shape.NDim() > 2 {
		n = s.shape.Dim(-1)
	}
	if s.rare != nil {
		return s.rare.Bytes(n)
	}
	return s.dtype.Format().Bytes(n)
}

// Mappable reports whether Loader.MapExperts leaves the tensor in the file: it has all experts, in a type and an order that the CPU computes with.
func (s *Stored) Mappable() bool { return s.Viewed() && s.shape.NDim() == 3 }

// release lets the system forget the file's pages with the tensor.
func (s *Stored) release() {
	release(s.owner, s.data)
	for i := range s.pieces {
		release(s.pieces[i].owner, s.pieces[i].Data)
		release(s.pieces[i].others, s.pieces[i].Exponents)
	}
}
