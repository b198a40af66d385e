package llama

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unsafe"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/rare"
	"github.com/antigravity-go/antigravity/tensor"
)

// weightSource is where a model's tensors come from: the files of a Hugging Face folder, or a GGUF file.
type weightSource interface {
	// find returns a tensor as the file has it, without reading its data. Its shape is the file's.
	find(t *checkpoint.Tensor) (storedTensor, error)
	// tokenizer reads the tokenizer that comes with the weights, nil where none does. It needs nothing that Close takes away.
	tokenizer() (*Tokenizer, error)
	// file names, for messages, the file that lists the tensors; format says in words what the files are, and names lists the tensors
	// that they have.
	file() string
	format() string
	names() []string
	// Close closes the files, after which the data of tensors must not be used.
	Close() error
}

// storedTensor is a tensor as a file has it. Its type is one with a Format and its data are as long as type and shape say.
type storedTensor struct {
	dtype tensor.DType
	shape tensor.Shape
	data  []byte
	owner io.Closer // of data
	pairs int       // where not 0: rows belong to heads of so many elements, in GGUF's order
	plus  float32   // to be added to the elements of a vector
	times float32   // by which they are to be multiplied then; 0: 1

	rare *rare.Type // not nil: the data are of this type, and are rewritten as dtype before anything else reads them
}

// rows returns some of the rows of a tensor; the elements of a vector are its rows.
func (s storedTensor) rows(first, n int) (storedTensor, error) {
	if s.rare != nil && (first%s.rare.RowsAtOnce() != 0 || n%s.rare.RowsAtOnce() != 0) {
		return s, fmt.Errorf("rows %d to %d are part of it and its type is %v, of whose rows %d lie together: %w", first, first+n, s.rare, s.rare.RowsAtOnce(), ErrUnsupported)
	}
	dims := s.shape.Dims()
	bytes := len(s.data) / max(dims[0], 1) // also of a rare type, whose shape has whole blocks
	dims[0] = n
	shape, err := tensor.NewShape(dims...)
	if err != nil {
		return s, err
	}
	s.shape, s.data = shape, s.data[first*bytes:(first+n)*bytes]
	return s, nil
}

// adjusted returns a vector of floats with what is to be added to its elements, and multiplied; itself where that is nothing.
func (s *storedTensor) adjusted(t *tensor.Tensor, host converter) (*tensor.Tensor, error) {
	if s.plus == 0 && s.times == 0 {
		return t, nil
	}
	values, err := tensor.As[float32](t)
	if err != nil {
		return t, err
	}
	times := s.times
	if times == 0 {
		times = 1
	}
	result, err := tensor.New(host, tensor.F32, t.Shape())
	if err != nil {
		return t, err
	}
	adjusted, err := tensor.Mut[float32](result)
	if err != nil {
		return t, err
	}
	for i, v := range values {
		adjusted[i] = float32(v+s.plus) * times
	}
	return result, nil
}

// newStoredTensor is the one way from a file's tensor to ours: it refuses types that cannot be computed with, and shapes that
// do not fit the data. The type's name is the file's. Of GGUF's types some more can be read: see newRareTensor.
func newStoredTensor(d tensor.DType, typeName string, dims []int, data []byte, owner io.Closer) (storedTensor, error) {
	if !d.Format().Valid() {
		return storedTensor{}, fmt.Errorf("its type is %.20q: %w; weights can be %s", typeName, ErrUnsupported, weightTypes())
	}
	shape, err := tensor.NewShape(dims...)
	if err != nil {
		return storedTensor{}, err
	}
	if _, err := tensor.Wrap(nil, tensor.WrapBytes(d, data, owner, true), shape); err != nil {
		return storedTensor{}, err
	}
	return storedTensor{dtype: d, shape: shape, data: data, owner: owner}, nil
}

// weightTypes lists the types that weights can have.
func weightTypes() string {
	var names []string
	for _, d := range tensor.DTypes() {
		if d.Format().Valid() {
			names = append(names, d.String())
		}
	}
	return strings.Join(names, ", ")
}

// host returns the tensor with its rows in Hugging Face's order: a view of the file where order and alignment allow that, else a
// copy. A tensor with pairs must have a shape of whole heads.
func (s *storedTensor) host(ctx context.Context, memory tensor.Memory) (t *tensor.Tensor, view bool, err error) {
	if s.pairs != 0 {
		t, err = s.halved(ctx, memory)
		return t, false, err
	}
	return s.asStored(ctx, memory)
}

// order returns where the file has a row, nil where its order is Hugging Face's.
func (s *storedTensor) order() func(row int) int {
	if s.pairs == 0 {
		return nil
	}
	return func(row int) int { return checkpoint.PairedRow(row, s.pairs) }
}

// asStored returns the tensor with its rows in the file's order: a view of the file where alignment allows that, else a copy.
func (s *storedTensor) asStored(ctx context.Context, memory tensor.Memory) (t *tensor.Tensor, view bool, err error) {
	if s.rare != nil {
		t, err = s.rewritten(ctx, memory)
		return t, false, err
	}
	if len(s.data) == 0 || uintptr(unsafe.Pointer(&s.data[0]))%alignment(s.dtype) == 0 {
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

// halved returns a copy whose rows, in GGUF's order, are in Hugging Face's.
func (s *storedTensor) halved(ctx context.Context, memory tensor.Memory) (*tensor.Tensor, error) {
	dtype, data := s.dtype, s.data
	if s.rare != nil {
		t, err := s.rewritten(ctx, memory)
		if err != nil {
			return nil, err
		}
		defer t.Free()
		data = t.Data()
	}
	if s.shape.NDim() == 1 && dtype.Quantized() { // the elements that change places share blocks
		values := make([]float32, s.shape.NumElements())
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
	buffer, err := memory.Alloc(len(data), dtype)
	if err != nil {
		return nil, err
	}
	dst := buffer.Bytes()
	for row := range rows {
		copy(dst[row*rowBytes:(row+1)*rowBytes], data[checkpoint.PairedRow(row, s.pairs)*rowBytes:])
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

// place returns where the model keeps a tensor.
func (m *Model) place(t *checkpoint.Tensor) **tensor.Tensor {
	switch t.Part {
	case checkpoint.Embedding:
		return &m.embedding
	case checkpoint.OutputNorm:
		return &m.norm
	case checkpoint.Head:
		return &m.head
	}
	l := &m.layers[t.Layer]
	switch t.Part {
	case checkpoint.AttentionNorm:
		return &l.attentionNorm
	case checkpoint.FeedForwardNorm:
		return &l.mlpNorm
	case checkpoint.AttentionPostNorm:
		return &l.attentionPostNorm
	case checkpoint.FeedForwardPostNorm:
		return &l.mlpPostNorm
	case checkpoint.QueryNorm:
		return &l.qNorm
	case checkpoint.KeyNorm:
		return &l.kNorm
	}
	p := map[checkpoint.Part]*projection{
		checkpoint.Query: &l.q, checkpoint.Key: &l.k, checkpoint.Value: &l.v, checkpoint.AttentionOutput: &l.o,
		checkpoint.Gate: &l.gate, checkpoint.Up: &l.up, checkpoint.Down: &l.down,
	}[t.Part]
	if t.Bias {
		return &p.bias
	}
	return &p.weight
}

// targetType returns the type in which a tensor of a role is kept when the caller asks for quantised linear layers. The
// head decides between neighbouring tokens and gets eight bits, as the usual four-bit files give it six.
func targetType(role checkpoint.Role, stored, asked tensor.DType) tensor.DType {
	switch {
	case role == checkpoint.Vector:
		return tensor.F32
	case asked == 0 || role == checkpoint.Lookup:
		return stored
	case role == checkpoint.Logits && asked.Quantized():
		return tensor.Q8_0
	default:
		return asked
	}
}

// converter is a device on the host's memory that converts weights on their way to the model's device.
type converter interface {
	tensor.Device
	Cast(src, dst *tensor.Tensor) error
}

// convertAtOnce is how many elements are converted between two looks at the context.
const convertAtOnce = 4 << 20

// convert returns t in another type: itself where it has that type already, else a copy in memory of our own.
func convert(ctx context.Context, t *tensor.Tensor, d tensor.DType, host converter) (*tensor.Tensor, error) {
	if t.DType() == d {
		return t, nil
	}
	if cols := t.Shape().Dim(-1); cols%d.BlockLen() != 0 {
		return nil, fmt.Errorf("convert %v to %v: rows of %d are no whole blocks of %d", t, d, cols, d.BlockLen())
	}
	result, err := tensor.New(host, d, t.Shape())
	if err != nil {
		return nil, err
	}
	if err := castRows(ctx, t, result, host); err != nil {
		result.Free()
		return nil, fmt.Errorf("convert: %w", err)
	}
	return result, nil
}

// castRows converts some rows after the other. A tensor with one dimension is one row.
func castRows(ctx context.Context, t, result *tensor.Tensor, host converter) error {
	d := result.DType()
	if t.Shape().NDim() == 1 {
		return host.Cast(t, result)
	}
	rows := t.Shape().Dim(0)
	step := max(convertAtOnce/max(t.Shape().NumElements()/max(rows, 1), 1), 1)
	for lo := 0; lo < rows; lo += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		from, err := t.Slice(lo, min(lo+step, rows))
		if err != nil {
			return err
		}
		to, err := result.Slice(lo, min(lo+step, rows))
		if err != nil {
			return err
		}
		if err := host.Cast(from, to); err != nil {
			return err
		}
		if d == tensor.F32 || d == tensor.BF16 || to.Data() == nil { // the former have as large numbers as any weights
			continue
		}
		if i := d.Format().FirstNotFinite(to.Data()); i >= 0 {
			return d.Format().NotFinite(lo + i*d.BlockLen()/t.Shape().Dim(-1))
		}
	}
	return nil
}
