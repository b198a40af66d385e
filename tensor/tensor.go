package tensor

import (
	"fmt"
	"unsafe"
)

// A tensor is a window into a buffer: views of the same bytes have other offsets, sizes and shapes, and copy nothing. Rows begin and end
// with blocks of the type. For example, x has the type Q8_0, with blocks of 32 elements in 34 bytes, and the shape [4 64]:
//
//	x                  272 bytes from 0 on; a row has 68 bytes
//	x.Slice(1, 3)      [2 64], 136 bytes from 68 on
//	x.Reshape(8, 32)   [8 32], 272 bytes from 0 on; a row has 34 bytes
//	x.Reshape(16, 16)  an error: a row would be half a block

// Device holds tensors in its memory and computes on them. Backends are devices.
type Device interface {
	// Name is short and unique among the devices of a program: "cpu", "opencl".
	Name() string
	// Memory returns what allocates on the device.
	Memory() Memory
	// CopyFrom returns a copy of t, wherever t lives, on this device.
	CopyFrom(t *Tensor) (*Tensor, error)
}

// Tensor is a Shape over a region of a Buffer on a Device. Data are row-major: the innermost dimension is contiguous, and
// blocks of a quantised type run along it. Several tensors may share a buffer (Slice, Reshape). Any number of goroutines may read a
// Tensor; while one writes its data no other may read or write them.
//
// Rows are whole blocks, and so is offset; size is the bytes of the shape; offset+size is at most the Size of the
// buffer until the buffer is freed.
type Tensor struct {
	shape  Shape
	dtype  DType
	buffer Buffer
	offset int    // the tensor's first byte in the buffer
	size   int    // bytes
	device Device // nil: host memory that belongs to no backend
}

// New allocates a zeroed tensor on a device. With a nil device it is in host memory that belongs to no backend and is not counted in
// any Memory's Used.
func New(device Device, d DType, shape Shape) (*Tensor, error) {
	size, err := shapeBytes(d, shape)
	if err != nil {
		return nil, err
	}
	var memory Memory = new(Galloc)
	if device != nil {
		memory = device.Memory()
	}
	buffer, err := memory.Alloc(size, d)
	if err != nil {
		return nil, fmt.Errorf("tensor: new %v%v: %w", d, shape, err)
	}
	return &Tensor{shape: shape, dtype: d, buffer: buffer, size: size, device: device}, nil
}

// Wrap makes a tensor of a whole existing buffer, which must have the size that the shape needs and already live on the
// device.
func Wrap(device Device, buffer Buffer, shape Shape) (*Tensor, error) {
	size, err := shapeBytes(buffer.DType(), shape)
	if err != nil {
		return nil, err
	}
	if size != buffer.Size() {
		return nil, fmt.Errorf("tensor: %v%v needs %d bytes, the buffer has %d", buffer.DType(), shape, size, buffer.Size())
	}
	return &Tensor{shape: shape, dtype: buffer.DType(), buffer: buffer, size: size, device: device}, nil
}

// FromFloats makes a tensor of type F32 in host memory with a copy of the values. Their number must be that of the shape's elements.
func FromFloats(values []float32, dims ...int) (*Tensor, error) {
	shape, err := NewShape(dims...)
	if err != nil {
		return nil, err
	}
	if shape.NumElements() != len(values) {
		return nil, fmt.Errorf("tensor: %d values for the shape %v", len(values), shape)
	}
	t, err := New(nil, F32, shape)
	if err != nil {
		return nil, err
	}
	data, err := Mut[float32](t)
	if err != nil {
		return nil, err
	}
	copy(data, values)
	return t, nil
}

// shapeBytes returns the bytes of a tensor, and an error unless each row is whole blocks.
func shapeBytes(d DType, shape Shape) (int, error) {
	if _, err := d.Bytes(shape.Dim(-1)); err != nil {
		return 0, fmt.Errorf("tensor: rows of %v%v: %w", d, shape, err)
	}
	return d.Bytes(shape.NumElements())
}

// Shape returns the dimensions.
func (t *Tensor) Shape() Shape { return t.shape }

// DType returns the type of the elements.
func (t *Tensor) DType() DType { return t.dtype }

// Device returns the device that holds the tensor; nil is plain host memory.
func (t *Tensor) Device() Device { return t.device }

// Buffer returns the memory, which other tensors may share.
func (t *Tensor) Buffer() Buffer { return t.buffer }

// Offset returns where in the buffer the tensor begins, in bytes.
func (t *Tensor) Offset() int { return t.offset }

// Size returns the bytes of the tensor's data.
func (t *Tensor) Size() int { return t.size }

// RowBytes returns the bytes of one row of the innermost dimension.
func (t *Tensor) RowBytes() int {
	n, _ := t.dtype.Bytes(t.shape.Dim(-1)) // checked when the tensor was made
	return n
}

// Data returns the host's view of the tensor's bytes, nil while the host may not touch them. It stays valid while t is
// reachable and its buffer is neither unmapped nor freed.
func (t *Tensor) Data() []byte {
	b := t.buffer.Bytes()
	if b == nil {
		return nil
	}
	return b[t.offset : t.offset+t.size : t.offset+t.size]
}

// Free releases the buffer; all tensors that share it must not be used afterwards.
func (t *Tensor) Free() error { return t.buffer.Free() }

// String describes the tensor without its data, as f32[2 3]@cpu.
func (t *Tensor) String() string {
	where := "host"
	if t.device != nil {
		where = t.device.Name()
	}
	return fmt.Sprintf("%v%v@%s", t.dtype, t.shape, where)
}

// Slice returns a view of the rows [lo, hi) of the outermost dimension. The rows of a tensor with one dimension are single elements: lo and
// hi must then be multiples of the block's length, 32 for Q8_0.
func (t *Tensor) Slice(lo, hi int) (*Tensor, error) {
	view := new(Tensor)
	if err := t.SliceInto(view, lo, hi); err != nil {
		return nil, err
	}
	return view, nil
}

// SliceInto is Slice that writes the view to an existing Tensor, which may be t itself, so that a loop need not allocate.
func (t *Tensor) SliceInto(view *Tensor, lo, hi int) error {
	if t.shape.n == 0 || lo < 0 || hi < lo || hi > t.shape.dims[0] {
		return fmt.Errorf("tensor: rows [%d, %d) of %v", lo, hi, t)
	}
	elements := 1 // of a row
	for _, d := range t.shape.dims[1:t.shape.n] {
		elements *= d
	}
	// Blocks run along the innermost dimension. If that is also the outermost, a row is only a part of a block.
	from, err := t.dtype.Bytes(lo * elements)
	if err != nil {
		return fmt.Errorf("tensor: rows [%d, %d) of %v: %w", lo, hi, t, err)
	}
	to, err := t.dtype.Bytes(hi * elements)
	if err != nil {
		return fmt.Errorf("tensor: rows [%d, %d) of %v: %w", lo, hi, t, err)
	}
	offset := t.offset + from // view may be t
	*view = *t
	view.shape.dims[0], view.offset, view.size = hi-lo, offset, to-from
	return nil
}

// Reshape returns a view of the same data in another shape, which must have the same number of elements.
func (t *Tensor) Reshape(dims ...int) (*Tensor, error) {
	shape, err := NewShape(dims...)
	if err != nil {
		return nil, err
	}
	size, err := shapeBytes(t.dtype, shape)
	if err != nil {
		return nil, err
	}
	if shape.NumElements() != t.shape.NumElements() {
		return nil, fmt.Errorf("tensor: reshape %v to %v: %d elements are not %d", t, shape, t.shape.NumElements(), shape.NumElements())
	}
	view := *t
	view.shape, view.size = shape, size
	return &view, nil
}

// ToDevice returns the tensor on another device: t itself if it is there already, else a copy.
func (t *Tensor) ToDevice(device Device) (*Tensor, error) {
	if t.device == device {
		return t, nil
	}
	if device == nil {
		return nil, fmt.Errorf("tensor: move %v: no device given", t)
	}
	moved, err := device.CopyFrom(t)
	if err != nil {
		return nil, fmt.Errorf("tensor: move %v to %s: %w", t, device.Name(), err)
	}
	return moved, nil
}

// Element is a Go type with which a tensor's data can be viewed: float32 for F32, uint8 for U8, int32 for I32. The other types' Format
// reads them.
type Element interface{ float32 | uint8 | int32 }

// As returns the host's view of the data as elements of T. It returns an error for a type that is not the tensor's own, and
// while the host may not touch the data. The view is valid as long as Data's is, and must not be written.
func As[T Element](t *Tensor) ([]T, error) {
	var zero T
	want := U8
	switch any(zero).(type) {
	case float32:
		want = F32
	case int32:
		want = I32
	}
	if want != t.dtype {
		return nil, fmt.Errorf("tensor: %v viewed as %v", t, want)
	}
	data := t.Data()
	if data == nil {
		return nil, fmt.Errorf("tensor: the host may not touch %v now: map its buffer first", t)
	}
	if len(data) == 0 {
		return nil, nil
	}
	if uintptr(unsafe.Pointer(&data[0]))%unsafe.Alignof(zero) != 0 {
		return nil, fmt.Errorf("tensor: the data of %v are not aligned for %v", t, t.dtype)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&data[0])), len(data)/int(unsafe.Sizeof(zero))), nil
}

// Mut is As for a view that may be written. For a read-only buffer the error wraps ErrReadOnly.
func Mut[T Element](t *Tensor) ([]T, error) {
	if t.buffer.ReadOnly() {
		return nil, fmt.Errorf("write to %v: %w", t, ErrReadOnly)
	}
	return As[T](t)
}
