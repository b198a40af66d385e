package llama

import (
	"context"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/tensor"
)

// adapterFile is the open files of an adapter: what it adds to the matrices of a model.
type adapterFile struct {
	path   string // of the file with the tensors, for messages
	pairs  []adapterPair
	closer io.Closer // after which the data of the pairs must not be used
}

// adapterPair is what an adapter adds to one matrix [out, in] of a model: scale·b·a.
type adapterPair struct {
	of    checkpoint.Tensor
	a, b  storedTensor // [rank, in], [out, rank]
	scale float64
}

// rank returns the inner dimension of the product.
func (p *adapterPair) rank() int { return p.a.shape.Dim(0) }

// openAdapter opens an adapter for such a model: a folder as PEFT writes it, where name is empty or one of its files, or a
// GGUF file.
func openAdapter(ctx context.Context, f files, name string, c *checkpoint.Config, memory tensor.Memory) (*adapterFile, error) {
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
	return fmt.Errorf("the file is %s: %w; an adapter is a GGUF file, or the directory that holds %s and %s", kind, ErrUnsupported,
		checkpoint.AdapterConfigFile, checkpoint.AdapterWeightsFile)
}

// openPEFT opens the folder of an adapter.
func openPEFT(ctx context.Context, f files, c *checkpoint.Config, memory tensor.Memory) (file *adapterFile, err error) {
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
	return newAdapterFile(adapter, f.path(checkpoint.AdapterWeightsFile), closer, false)
}

// openGGUFAdapter opens a GGUF file that is an adapter.
func openGGUFAdapter(ctx context.Context, f files, name string, c *checkpoint.Config, memory tensor.Memory) (file *adapterFile, err error) {
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
		return nil, formatError(f.path(name), err)
	}
	adapter, err := checkpoint.AdapterOf(g, c)
	if err != nil {
		return nil, formatError(f.path(name), err)
	}
	return newAdapterFile(adapter, f.path(name), closer, true)
}

// newAdapterFile checks the types of an adapter's tensors. paired tells that the rows of each B are in GGUF's order.
func newAdapterFile(adapter *checkpoint.Adapter, path string, closer io.Closer, paired bool) (*adapterFile, error) {
	file := &adapterFile{path: path, closer: closer, pairs: make([]adapterPair, len(adapter.Pairs))}
	for i := range adapter.Pairs {
		from, to := &adapter.Pairs[i], &file.pairs[i]
		to.of, to.scale = from.Of, from.Scale
		for _, half := range []struct {
			from *checkpoint.AdapterTensor
			to   *storedTensor
		}{{&from.A, &to.a}, {&from.B, &to.b}} {
			s, err := newStoredTensor(half.from.DType, half.from.TypeName, half.from.Shape, half.from.Data, closer)
			if err != nil {
				return nil, tensorError(path, half.from.Name, half.from.Offset, err)
			}
			*half.to = s
		}
		if rows := from.Of.Shape[0]; to.b.shape.Dim(0) != rows {
			var err error
			if to.b, err = to.b.rows(from.First, rows); err != nil {
				return nil, tensorError(path, from.B.Name, from.B.Offset, err)
			}
		}
		if paired {
			to.b.pairs = from.Of.HeadDim
		}
	}
	return file, nil
}

// Close closes the files.
func (f *adapterFile) Close() error { return f.closer.Close() }
