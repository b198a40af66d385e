package source

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/rare"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// Stored is a tensor as a file has it. Its type is one with a Format and its data are as long as type and shape say.
//
// For example, reading changes tensors so:
//
//	rows(4, 2) of F32 [8, 64]         shape [2, 64], data[1024:1536]: nothing is copied
//	aligned, in the wanted order      read returns a view of the file
//	rows of heads in GGUF's order     read copies row order(i) of the file to row i
//	a vector with the step Plus(1)    0.5 becomes 1.5
type Stored struct {
	name  string // in Hugging Face's terms, for messages
	dtype tensor.DType
	shape tensor.Shape
	data  []byte
	owner io.Closer      // of data
	from  *outer         // not nil: the tensor is some of the rows of a larger one, which do not lie together, and data are all of that's
	order storage.Order  // of the rows in the file; nil: the one that is wanted
	steps []storage.Step // the changes of the elements of a vector or a filter of floats

	columns *columns   // not nil: the tensor is some columns of a filter of patches, or all in another order; data are all of the filter
	pieces  []piece    // not nil: the tensor is put together of these, and data is nil
	rare    *rare.Type // not nil: the data are of this type, and are rewritten as dtype before anything else reads them
}

// DType returns the type as which the tensor is read.
func (s *Stored) DType() tensor.DType { return s.dtype }

// Type returns the name of the type that the file has, and what reading it as DType changes, relative to the weights.
func (s *Stored) Type() (name string, loss float64) {
	if s.rare != nil {
		return s.rare.String(), s.rare.Loss()
	}
	return s.dtype.String(), 0
}

// inMap reports whether the data lie in a mapped file.
func (s *Stored) inMap() bool {
	_, mapped := s.owner.(*mmap.File)
	return mapped
}

// Elements returns how many elements the tensor has; 0 if it was not found.
func (s *Stored) Elements() int {
	if s.dtype == 0 {
		return 0
	}
	return s.shape.NumElements()
}

// ReadElements returns how many elements the tensor has once it is read.
func (s *Stored) ReadElements() int { return s.adjustedShape().NumElements() }

// Bytes returns how many bytes the tensor has in the file.
func (s *Stored) Bytes() int {
	n := len(s.data)
	if s.from != nil {
		n = n / s.from.Rows * s.shape.Dim(0)
	}
	if s.columns != nil {
		n = n / max(s.columns.all, 1) * s.shape.Dim(-1)
	}
	for i := range s.pieces {
		n += s.pieces[i].Bytes()
	}
	return n
}

// outer is a larger tensor.
type outer struct {
	storage.Within
	shape tensor.Shape
}

// within returns the n rows of a tensor that are another tensor.
func (s Stored) within(w storage.Within, n int) (Stored, error) {
	if w.Every == 0 {
		return s.rows(w.First, n)
	}
	dims := s.shape.Dims()
	dims[0] = n
	shape, err := tensor.NewShape(dims...)
	if err != nil {
		return s, err
	}
	s.from, s.shape = &outer{w, s.shape}, shape
	return s, nil
}

// as returns the tensor with another shape that differs in dimensions of 1 alone: itself if the shape differs otherwise.
func (s Stored) as(dims []int) Stored {
	long := func(dims []int) (list []int) {
		for _, d := range dims {
			if d != 1 {
				list = append(list, d)
			}
		}
		return list
	}
	if shape, err := tensor.NewShape(dims...); err == nil && slices.Equal(long(s.shape.Dims()), long(dims)) {
		s.shape = shape
	}
	return s
}

// rows returns some of the rows of a tensor; the elements of a vector are its rows.
func (s Stored) rows(first, n int) (Stored, error) {
	if s.rare != nil && (first%s.rare.RowsAtOnce() != 0 || n%s.rare.RowsAtOnce() != 0) {
		return s, fmt.Errorf("rows %d to %d are part of it and its type is %v, of whose rows %d lie together: %w", first, first+n, s.rare, s.rare.RowsAtOnce(), fault.ErrUnsupported)
	}
	dims := s.shape.Dims()
	bytes := len(s.data) / max(dims[0], 1) // also for a rare type: its rows are whole blocks
	dims[0] = n
	shape, err := tensor.NewShape(dims...)
	if err != nil {
		return s, err
	}
	s.shape, s.data = shape, s.data[first*bytes:(first+n)*bytes]
	return s, nil
}

// adjusted returns a vector or a filter of floats with its elements as they are wanted; itself if they are.
func (s *Stored) adjusted(t *tensor.Tensor, host backend.Backend) (*tensor.Tensor, error) {
	if len(s.steps) == 0 {
		return t, nil
	}
	values, err := tensor.As[float32](t)
	if err != nil {
		return t, err
	}
	result, err := tensor.New(host, tensor.F32, s.adjustedShape())
	if err != nil {
		return t, err
	}
	adjusted, err := tensor.Mut[float32](result)
	if err != nil {
		return t, err
	}
	dims := s.shape.Dims()
	for i, step := range s.steps {
		if i > 0 {
			values = slices.Clone(adjusted)
		}
		step.Apply(adjusted, values, dims)
		dims = step.Shape(dims)
	}
	return result, nil
}

// adjustedShape returns the shape that is wanted.
func (s *Stored) adjustedShape() tensor.Shape {
	dims := s.shape.Dims()
	for _, step := range s.steps {
		dims = step.Shape(dims)
	}
	return tensor.ShapeOf(dims...)
}

// newStored is the one way from a file's tensor to ours: it refuses types that cannot be computed with, and shapes that
// do not fit the data. The type's name is the file's. Of GGUF's types some more can be read: see newRare.
func newStored(d tensor.DType, typeName string, dims []int, data []byte, owner io.Closer) (Stored, error) {
	if !d.Format().Valid() {
		return Stored{}, fmt.Errorf("its type is %.20q: %w; weights can be %s", typeName, fault.ErrUnsupported, WeightTypes())
	}
	shape, err := tensor.NewShape(dims...)
	if err != nil {
		return Stored{}, err
	}
	if _, err := tensor.Wrap(nil, tensor.WrapBytes(d, data, owner, true), shape); err != nil {
		return Stored{}, err
	}
	return Stored{dtype: d, shape: shape, data: data, owner: owner}, nil
}

// newConstant returns a vector that no file has, of one number.
func newConstant(v float32, dims []int) (Stored, error) {
	shape, err := tensor.NewShape(dims...)
	if err != nil {
		return Stored{}, err
	}
	data := make([]byte, tensor.F32.Format().Bytes(shape.NumElements()))
	return Stored{dtype: tensor.F32, shape: shape, data: data}, tensor.F32.Format().Quantize(data, slices.Repeat([]float32{v}, shape.NumElements()))
}

// WeightTypes lists the types that weights can have.
func WeightTypes() string {
	var names []string
	for _, d := range tensor.WeightTypes() {
		names = append(names, d.String())
	}
	return strings.Join(names, ", ")
}

// read returns the tensor on the host: a view of the file if order and alignment allow that, else a copy. If inOrder is true, its rows are
// in the order that is wanted for computing; otherwise they may be in the file's order, and order returns the file's row for each row; nil
// means that the orders are the same. If the tensor's rows belong to heads, it must have whole heads.
func (s *Stored) read(ctx context.Context, memory tensor.Memory, inOrder bool) (t *tensor.Tensor, order func(row int) int, view bool, err error) {
	if order = s.rowOf(); order != nil && (inOrder || s.from != nil) {
		t, err = s.ordered(ctx, memory, order)
		return t, nil, false, err
	}
	t, view, err = s.asStored(ctx, memory)
	return t, order, view, err
}

// rowOf returns a function from a row as it is wanted for computing to the file's row, or nil if they are the same.
func (s *Stored) rowOf() func(row int) int {
	switch {
	case s.order == nil && s.from == nil:
		return nil
	case s.from == nil:
		return s.order.Stored
	case s.order == nil:
		return s.from.Row
	}
	return func(row int) int { return s.from.Row(s.order.Stored(row)) }
}

// Viewed reports whether the tensor can be a view of the file: it lies there in one piece, in the order that is wanted, and as its type needs it.
func (s *Stored) Viewed() bool {
	return s.pieces == nil && s.columns == nil && s.rare == nil && s.rowOf() == nil && s.aligned()
}

// aligned reports whether the data lie as typed views need them.
func (s *Stored) aligned() bool {
	return len(s.data) == 0 || uintptr(unsafe.Pointer(&s.data[0]))%alignment(s.dtype) == 0
}

// asStored returns the tensor with its rows in the file's order: a view of the file if alignment allows that, else a copy.
func (s *Stored) asStored(ctx context.Context, memory tensor.Memory) (t *tensor.Tensor, view bool, err error) {
	if s.pieces != nil {
		t, err = s.collected(ctx, memory)
		return t, false, err
	}
	if s.rare != nil {
		t, err = s.rewritten(ctx, memory)
		return t, false, err
	}
	if s.columns != nil {
		t, err = s.picked(memory)
		return t, false, err
	}
	if s.aligned() {
		t, err = tensor.Wrap(nil, tensor.WrapBytes(s.dtype, s.data, s.owner, true), s.shape)
		return t, true, err
	}
	buffer, err := memory.Alloc(len(s.data), s.dtype)
	if err != nil {
		return nil, false, err
	}
	copy(buffer.Bytes(), s.data)
	t, err = tensor.Wrap(nil, buffer, s.shape)
	return t, false, err
}

// ordered returns a copy with its rows in the order that is wanted for computing: row i is the file's row order(i).
func (s *Stored) ordered(ctx context.Context, memory tensor.Memory, order func(row int) int) (*tensor.Tensor, error) {
	dtype, data := s.dtype, s.data
	if s.rare != nil {
		all := *s
		if s.from != nil {
			all.shape = s.from.shape
		}
		t, err := all.rewritten(ctx, memory)
		if err != nil {
			return nil, err
		}
		defer t.Free()
		data = t.Data()
	}
	if s.shape.NDim() == 1 && dtype.Quantized() { // the elements that change places share blocks
		values := make([]float32, len(data)/dtype.BlockBytes()*dtype.BlockLen())
		if err := dtype.Format().Dequantize(values, data); err != nil {
			return nil, err
		}
		dtype, data = tensor.F32, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))
	}
	rows := s.shape.Dim(0)
	rowBytes, err := dtype.Bytes(s.shape.NumElements() / rows)
	if err != nil {
		return nil, err
	}
	buffer, err := memory.Alloc(rows*rowBytes, dtype)
	if err != nil {
		return nil, err
	}
	dst := buffer.Bytes()
	for row := range rows {
		copy(dst[row*rowBytes:(row+1)*rowBytes], data[order(row)*rowBytes:])
	}
	return tensor.Wrap(nil, buffer, s.shape)
}

// alignment returns what typed views of a type need, in bytes: blocks begin with a 16-bit scale.
func alignment(d tensor.DType) uintptr {
	if d.Quantized() {
		return 2
	}
	return uintptr(d.BlockBytes())
}
