package source

import (
	"context"
	"fmt"
	"hash"
	"io"

	"github.com/antigravity-go/antigravity/backend"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// Adapter is the open files of an adapter: what it adds to the matrices of a model. It is safe for concurrent use until Close.
type Adapter struct {
	path   string // of the file with the tensors, for messages
	Pairs  []Pair
	closer io.Closer // after which the data of Pairs must not be used
}

// Pair is what an adapter adds to one matrix [out, in] of a model: scale·b·a.
type Pair struct {
	Of    checkpoint.Tensor // the matrix
	Scale float64
	a, b  factor // [rank, in], [out, rank]
}

// rank returns the inner dimension of the product.
func (p *Pair) rank() int { return p.a.shape.Dim(0) }

// factor is one of the two matrices of a Pair as the file has it.
type factor struct {
	Stored
	columns func(column int) int // the file's column for a column as it is wanted for computing; nil: they are the same
}

// OpenAdapter opens an adapter for models of a configuration: a folder as PEFT writes it (the location may name one of its files), or a
// GGUF file. Files that cannot be mapped are copied into memory. ctx ends the copying.
func OpenAdapter(ctx context.Context, at Location, c *model.Config, memory tensor.Memory) (*Adapter, error) {
	f, name := at.files, at.name
	if name == "" || name == checkpoint.AdapterConfigFile || name == checkpoint.AdapterWeightsFile {
		return openPEFT(ctx, f, c, memory)
	}
	is, err := isGGUF(f, name)
	if err != nil {
		return nil, err
	}
	if !is {
		return nil, notAnAdapter(f, name)
	}
	return openGGUFAdapter(ctx, f, name, c, memory)
}

// notAnAdapter returns the error for a file that is no adapter: it says what kind of file it is instead.
func notAnAdapter(f files, name string) error {
	head, err := f.head(name)
	if err != nil {
		return err
	}
	kind := kindOf(head)
	if kind == "" {
		kind = fmt.Sprintf("of an unknown kind, and begins with %.8q", head)
	}
	return fmt.Errorf("the file is %s: %w; an adapter is a GGUF file, or the directory that holds %s and %s", kind, fault.ErrUnsupported,
		checkpoint.AdapterConfigFile, checkpoint.AdapterWeightsFile)
}

// openPEFT opens the folder of an adapter.
func openPEFT(ctx context.Context, f files, c *model.Config, memory tensor.Memory) (file *Adapter, err error) {
	var closer io.Closer
	defer func() {
		if file == nil && closer != nil { // an error, or a panic because a mapped file was cut short
			closer.Close()
		}
	}()
	adapter, err := checkpoint.Folder(f.read).Adapter(c, func(name string) (data []byte, err error) {
		if data, closer, err = f.weights(ctx, name, memory); err != nil {
			return nil, fmt.Errorf("open the adapter's weights: %w", err)
		}
		return data, nil
	})
	if err != nil {
		return nil, folderError(f, err)
	}
	return newAdapterFile(adapter, f.path(checkpoint.AdapterWeightsFile), closer, false, c.Recurrent.Tiled)
}

// openGGUFAdapter opens a GGUF file that is an adapter.
func openGGUFAdapter(ctx context.Context, f files, name string, c *model.Config, memory tensor.Memory) (file *Adapter, err error) {
	data, closer, err := f.weights(ctx, name, memory)
	if err != nil {
		return nil, fmt.Errorf("open the adapter: %w", err)
	}
	defer func() {
		if file == nil {
			closer.Close()
		}
	}()
	g, err := gguf.Parse(data)
	if err != nil {
		return nil, Malformed(f.path(name), err)
	}
	adapter, err := checkpoint.AdapterOf(g, c)
	if err != nil {
		return nil, Malformed(f.path(name), err)
	}
	return newAdapterFile(adapter, f.path(name), closer, true, c.Recurrent.Tiled)
}

// newAdapterFile checks the types of an adapter's tensors. paired says that the rows of each B are in GGUF's order; tiled says that the columns of
// value heads are in GGUF's order in the model: see model.Tiling.
func newAdapterFile(adapter *checkpoint.Adapter, path string, closer io.Closer, inGGUF, tiled bool) (*Adapter, error) {
	file := &Adapter{path: path, closer: closer, Pairs: make([]Pair, len(adapter.Pairs))}
	for i := range adapter.Pairs {
		from, to := &adapter.Pairs[i], &file.Pairs[i]
		to.Of, to.Scale = from.Of, from.Scale
		for _, half := range []struct {
			from *checkpoint.AdapterTensor
			to   *Stored
		}{{&from.A, &to.a.Stored}, {&from.B, &to.b.Stored}} {
			s, err := newStored(half.from.DType, half.from.TypeName, half.from.Shape, half.from.Data, closer)
			if err != nil {
				return nil, tensorError(path, half.from.Name, half.from.Offset, err)
			}
			*half.to = s
		}
		if from.Rows.Rows > 0 {
			var err error
			if to.b.Stored, err = to.b.within(from.Rows, from.Of.Shape[0]); err != nil {
				return nil, tensorError(path, from.B.Name, from.B.Offset, err)
			}
		}
		switch order := from.Of.GGUF.Columns; {
		case order == nil || tiled == inGGUF:
		case tiled:
			to.a.columns = order.Wanted
		default:
			to.a.columns = order.Stored
		}
		to.b.order = from.Of.HuggingFace.Rows
		if inGGUF {
			to.b.order = from.Of.GGUF.Rows
		}
	}
	return file, nil
}

// Close closes the files.
func (f *Adapter) Close() error { return f.closer.Close() }

// Hash adds to h all that the adapter adds to a model.
func (f *Adapter) Hash(h hash.Hash) {
	for i := range f.Pairs {
		p := &f.Pairs[i]
		pairs, _ := p.b.order.(storage.Paired)
		fmt.Fprintf(h, "%s %v %d\n", p.Of.HuggingFace.Name, p.Scale, pairs.HeadDim)
		for _, s := range []*Stored{&p.a.Stored, &p.b.Stored} {
			fmt.Fprintf(h, "%v %v\n", s.dtype, s.shape)
			h.Write(s.data)
		}
	}
}

// read returns the matrix on the host, with its rows and columns in the order that is wanted for computing, and with zeros in further ones up
// to rows and cols. It is a view of the file if it can be. For example, with rows 0 2 1 3 in the file and a rank of 3, B becomes
//
//	file's 0 0 0 | 2 2 2 | 1 1 1 | 3 3 3   →   0 0 0 - | 1 1 1 - | 2 2 2 - | 3 3 3 -
//
// All that Stored says of order is done before zeros are added, which know nothing of it.
func (f *factor) read(ctx context.Context, host backend.Backend, rows, cols int) (t *tensor.Tensor, err error) {
	if t, _, _, err = f.Stored.read(ctx, host.Memory(), true); err != nil {
		return nil, err
	}
	if f.columns != nil {
		if t, err = f.reordered(t, host); err != nil {
			return nil, err
		}
	}
	if rows == t.Shape().Dim(0) && cols == t.Shape().Dim(1) {
		return t, nil
	}
	defer t.Free()
	from, err := t.DType().Bytes(t.Shape().Dim(1))
	if err != nil {
		return nil, err
	}
	to, err := t.DType().Bytes(cols)
	if err != nil {
		return nil, err
	}
	padded, err := tensor.New(host, t.DType(), tensor.ShapeOf(rows, cols))
	if err != nil {
		return nil, err
	}
	dst, src := padded.Data(), t.Data()
	clear(dst)
	for row := range t.Shape().Dim(0) {
		copy(dst[row*to:], src[row*from:(row+1)*from])
	}
	return padded, nil
}

// reordered returns the matrix with its columns in the order that is wanted, as floats of 32 bits, and frees t.
func (f *factor) reordered(t *tensor.Tensor, host backend.Backend) (*tensor.Tensor, error) {
	defer t.Free()
	result, err := tensor.New(host, tensor.F32, t.Shape())
	if err != nil {
		return nil, err
	}
	if err := host.Run(&backend.Cast{Src: t, Dst: result}); err != nil {
		result.Free()
		return nil, err
	}
	values, err := tensor.Mut[float32](result)
	if err != nil {
		result.Free()
		return nil, err
	}
	row := make([]float32, t.Shape().Dim(1))
	for lo := 0; lo < len(values); lo += len(row) {
		copy(row, values[lo:])
		for i := range row {
			values[lo+i] = row[f.columns(i)]
		}
	}
	return result, nil
}

// floats returns a copy of the matrix as float32.
func (f *factor) floats(ctx context.Context, host backend.Backend) (*tensor.Tensor, error) {
	t, err := f.read(ctx, host, f.shape.Dim(0), f.shape.Dim(1))
	if err != nil {
		return nil, err
	}
	defer t.Free()
	result, err := tensor.New(host, tensor.F32, f.shape)
	if err != nil {
		return nil, err
	}
	if err := host.Run(&backend.Cast{Src: t, Dst: result}); err != nil {
		result.Free()
		return nil, err
	}
	return result, nil
}
