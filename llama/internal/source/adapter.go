package source

import (
	"context"
	"fmt"
	"hash"
	"io"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/gguf"
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
	a, b  Stored // [rank, in], [out, rank]
}

// rank returns the inner dimension of the product.
func (p *Pair) rank() int { return p.a.shape.Dim(0) }

// OpenAdapter opens an adapter for models of a configuration: a folder as PEFT writes it (the location may name one of its files), or a
// GGUF file. Files that cannot be mapped are copied into memory. ctx ends the copying.
func OpenAdapter(ctx context.Context, at Location, c *checkpoint.Config, memory tensor.Memory) (*Adapter, error) {
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
func openPEFT(ctx context.Context, f files, c *checkpoint.Config, memory tensor.Memory) (file *Adapter, err error) {
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
func openGGUFAdapter(ctx context.Context, f files, name string, c *checkpoint.Config, memory tensor.Memory) (file *Adapter, err error) {
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
// value heads are in GGUF's order in the model: see checkpoint.Tiling.
func newAdapterFile(adapter *checkpoint.Adapter, path string, closer io.Closer, paired, tiled bool) (*Adapter, error) {
	file := &Adapter{path: path, closer: closer, Pairs: make([]Pair, len(adapter.Pairs))}
	for i := range adapter.Pairs {
		from, to := &adapter.Pairs[i], &file.Pairs[i]
		to.Of, to.Scale = from.Of, from.Scale
		for _, half := range []struct {
			from *checkpoint.AdapterTensor
			to   *Stored
		}{{&from.A, &to.a}, {&from.B, &to.b}} {
			s, err := newStored(half.from.DType, half.from.TypeName, half.from.Shape, half.from.Data, closer)
			if err != nil {
				return nil, tensorError(path, half.from.Name, half.from.Offset, err)
			}
			*half.to = s
		}
		if from.Rows.Rows > 0 {
			var err error
			if to.b, err = to.b.within(from.Rows, from.Of.Shape[0]); err != nil {
				return nil, tensorError(path, from.B.Name, from.B.Offset, err)
			}
		}
		if from.Of.Tiled.Columns && tiled != paired {
			return nil, tensorError(path, from.A.Name, from.A.Offset, fmt.Errorf("the model's heads are in another order than the adapter's: %w", fault.ErrUnsupported))
		}
		to.b.part = from.Of.Partial
		if paired && !from.Of.Tiled.Columns {
			to.b.tiled = from.Of.Tiled
		}
		if paired {
			to.b.pairs = from.Of.HeadDim
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
		fmt.Fprintf(h, "%s %v %d\n", p.Of.HuggingFace, p.Scale, p.b.pairs)
		for _, s := range []*Stored{&p.a, &p.b} {
			fmt.Fprintf(h, "%v %v\n", s.dtype, s.shape)
			h.Write(s.data)
		}
	}
}

// padded returns the matrix with further rows and columns of zeros; itself if it has that size already.
func (s *Stored) padded(rows, cols int) (Stored, error) {
	if rows == s.shape.Dim(0) && cols == s.shape.Dim(1) {
		return *s, nil
	}
	from, err := s.dtype.Bytes(s.shape.Dim(1))
	if err != nil {
		return Stored{}, err
	}
	to, err := s.dtype.Bytes(cols)
	if err != nil {
		return Stored{}, err
	}
	result := Stored{dtype: s.dtype, shape: tensor.ShapeOf(rows, cols), data: make([]byte, rows*to), pairs: s.pairs, part: s.part}
	for row := range s.shape.Dim(0) {
		copy(result.data[row*to:], s.data[row*from:(row+1)*from])
	}
	return result, nil
}
