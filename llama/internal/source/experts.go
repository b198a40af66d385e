package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// The matrices of a layer's experts are one tensor for the engine, [experts, rows, columns]. Some files have it; others have a tensor for each expert,
// or gate and up in one (see checkpoint.Form). Then the tensor is a list of pieces, one for each expert, which are put together when it is read:
//
//	file's gate_up_proj [2, 4, k]: g0 u0 g1 u1 | g0 u0 g1 u1   →   gate: pieces {first 0, step 2} of both halves, up: {first 1, step 2}

// piece is the rows of one expert: row i is row first + i·step of data.
type piece struct {
	data        []byte
	exponents   []byte // of MXFP4 as folders have it: a byte for each block; nil: data are rows as they are read
	owner       io.Closer
	others      io.Closer // owner of exponents
	rows        int       // that data has
	first, step int
}

// bytes returns about how many of the piece's bytes belong to the tensor.
func (p *piece) bytes() int { return (len(p.data) + len(p.exponents)) / p.step }

// matrixOf finds an expert's tensor in a form, or that of all experts.
type matrixOf func(form *checkpoint.Form, expert int) (s Stored, found bool, err error)

// findForm finds a tensor of experts in the first of several forms that a file has. shape is what the configuration asks for.
func findForm(forms []checkpoint.Form, shape []int, matrix matrixOf) (Stored, error) {
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
func gather(f *checkpoint.Form, shape []int, first Stored, matrix matrixOf) (s Stored, err error) {
	of := append([]int{f.Rows}, shape[2:]...) // the shape of one expert's
	if !f.Each() {
		of = append([]int{shape[0]}, of...)
	}
	if first.shape != tensor.ShapeOf(of...) {
		return s, fmt.Errorf("it is %v%v, where the configuration asks for %v", first.dtype, first.shape, of)
	}
	if first.rare != nil && first.rare.RowsAtOnce() > 1 || len(shape) < 3 && first.dtype.Quantized() {
		return s, fmt.Errorf("its type is %s, of which no rows can be taken: %w", first.typeName(), fault.ErrUnsupported)
	}
	s = first
	s.data, s.pieces, s.shape = nil, make([]piece, shape[0]), tensor.ShapeOf(shape...)
	for e := range s.pieces {
		from := first
		if f.Each() && e > 0 {
			var found bool
			if from, found, err = matrix(f, e); err == nil && !found {
				err = fmt.Errorf("%s is missing", f.Of(e))
			}
			if err == nil && (from.shape != first.shape || from.dtype != first.dtype || from.rare != first.rare) {
				err = fmt.Errorf("%s is %s%v, unlike that of the first expert", f.Of(e), from.typeName(), from.shape)
			}
			if err != nil {
				return s, err
			}
		}
		p := piece{data: from.data, owner: from.owner, rows: f.Rows, first: f.First, step: f.Step}
		if len(from.pieces) > 0 { // MXFP4
			p = from.pieces[0]
			p.rows, p.first, p.step = f.Rows, f.First, f.Step
		}
		if !f.Each() {
			cut := func(data []byte) []byte { return data[len(data)/shape[0]*e : len(data)/shape[0]*(e+1)] }
			p.data, p.exponents = cut(p.data), cut(p.exponents)
		}
		s.pieces[e] = p
	}
	return s, nil
}

// typeName returns the name of the type that the file has.
func (s *Stored) typeName() string {
	name, _ := s.Type()
	return name
}

// The blocks of MXFP4.
const (
	mxfp4       = gguf.GGMLType(39)
	mxfp4Len    = 32 // elements
	mxfp4Nibble = mxfp4Len / 2
)

// newMXFP4 returns weights of which a folder has the elements [experts, rows, blocks, 16] and the exponents [experts, rows, blocks] apart.
func newMXFP4(elements, exponents *safetensors.Tensor, owner, others io.Closer) (s Stored, err error) {
	n := len(elements.Shape)
	if n < 3 || elements.Shape[n-1] != mxfp4Nibble || len(exponents.Shape) != n-1 || len(elements.Data) != mxfp4Nibble*len(exponents.Data) {
		return s, fmt.Errorf("blocks %v and exponents %v of MXFP4 do not belong together", elements.Shape, exponents.Shape)
	}
	for i, d := range exponents.Shape {
		if d != elements.Shape[i] {
			return s, fmt.Errorf("blocks %v and exponents %v of MXFP4 do not belong together", elements.Shape, exponents.Shape)
		}
	}
	dims := append([]int{}, exponents.Shape...)
	dims[n-2] *= mxfp4Len
	blank := Stored{}
	if blank, err = ggufShape(mxfp4, dims); err != nil {
		return s, err
	}
	blank.owner = owner
	blank.pieces = []piece{{data: elements.Data, exponents: exponents.Data, owner: owner, others: others, step: 1}}
	return blank, nil
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
		if err := ctx.Err(); err != nil {
			buffer.Free()
			return nil, err
		}
		s.pieces[e].read(dst[e*rows*rowBytes:][:rows*rowBytes], rowBytes)
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

// read writes the piece's rows to dst.
func (p *piece) read(dst []byte, rowBytes int) {
	if p.exponents == nil && p.step == 1 {
		copy(dst, p.data[p.first*rowBytes:])
		return
	}
	for i := 0; len(dst) > 0; i, dst = i+1, dst[rowBytes:] {
		row := p.first + i*p.step
		if p.exponents == nil {
			copy(dst[:rowBytes], p.data[row*rowBytes:])
			continue
		}
		blocks := len(p.exponents) / p.rows
		joinMXFP4(dst[:rowBytes], p.data[row*blocks*mxfp4Nibble:], p.exponents[row*blocks:][:blocks])
	}
}

// joinMXFP4 writes blocks as GGUF has them: the exponent, then 16 bytes whose lower bits are the first 16 elements. In src each byte has two elements that
// follow each other.
func joinMXFP4(dst, src, exponents []byte) {
	for _, exponent := range exponents {
		dst[0] = exponent
		for i := range mxfp4Nibble {
			low, high := src[i/2], src[mxfp4Nibble/2+i/2] // elements i and i+16
			if i%2 == 0 {
				dst[1+i] = low&15 | high<<4
			} else {
				dst[1+i] = low>>4 | high&0xf0
			}
		}
		dst, src = dst[1+mxfp4Nibble:], src[mxfp4Nibble:]
	}
}

// release lets the system forget the file's pages with the tensor.
func (s *Stored) release() {
	release(s.owner, s.data)
	for i := range s.pieces {
		release(s.pieces[i].owner, s.pieces[i].data)
		release(s.pieces[i].others, s.pieces[i].exponents)
	}
}
