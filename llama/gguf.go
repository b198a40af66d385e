package llama

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/rare"
	"github.com/antigravity-go/antigravity/tensor"
)

// ggufModel is a GGUF file.
type ggufModel struct {
	*gguf.File
	path   string
	closer io.Closer
}

// openGGUF opens a file.
func openGGUF(ctx context.Context, f files, name string, memory tensor.Memory) (*ggufModel, error) {
	data, closer, err := f.weights(ctx, name, memory)
	if err != nil {
		return nil, fmt.Errorf("open the weights: %w", err)
	}
	g := &ggufModel{path: f.path(name), closer: closer}
	defer func() {
		if g.File == nil { // an error, or a panic because a mapped file was cut short
			closer.Close()
		}
	}()
	if g.File, err = gguf.Parse(data); err != nil {
		return nil, formatError(g.path, err)
	}
	return g, nil
}

func (g *ggufModel) file() string { return g.path }

// Close closes the file.
func (g *ggufModel) Close() error { return g.closer.Close() }

func (g *ggufModel) find(t *checkpoint.Tensor) (storedTensor, error) {
	name, within := t.GGUF, false
	if w := &t.Within; w.Rows > 0 {
		if whole, ok := g.Tensor(w.GGUF); ok && len(whole.Shape) > 0 && whole.Shape[0] == w.Rows {
			name, within = w.GGUF, true
		}
	}
	stored, ok := g.Tensor(name)
	if !ok {
		return storedTensor{}, formatError(g.path, fmt.Errorf("the tensor %s %v is missing", t.GGUF, t.Shape))
	}
	s, err := ggufTensor(&stored, g.closer)
	if err == nil && within {
		s, err = s.rows(t.Within.First, t.Shape[0])
	}
	s.pairs = t.HeadDim
	return s, tensorError(g.path, name, stored.Offset, err)
}

// ggufTensor returns a tensor as a file has it, or, if nothing computes with its type, as it will be rewritten.
func ggufTensor(t *gguf.Tensor, owner io.Closer) (storedTensor, error) {
	if kind := rare.Of(t.Type); kind != nil {
		return newRareTensor(kind, t.Shape, t.Data, owner)
	}
	return newStoredTensor(t.DType, t.Type.String(), t.Shape, t.Data, owner)
}

// config reads the configuration.
func (g *ggufModel) config() (*checkpoint.Config, error) {
	if checkpoint.IsAdapter(g.File) {
		return nil, fmt.Errorf("%s is an adapter: %w as a model; load the model that it was made for, and then LoadAdapter", g.path, ErrUnsupported)
	}
	c, err := checkpoint.ConfigOf(g.File)
	if err != nil {
		return nil, formatError(g.path, err)
	}
	return c, nil
}

// tokenizer reads the embedded vocabulary and chat template; a file without a vocabulary has no tokenizer.
func (g *ggufModel) tokenizer() (*Tokenizer, error) {
	v, template, err := checkpoint.VocabularyOf(g.File)
	if err != nil {
		return nil, formatError(g.path, err)
	}
	if v == nil {
		return nil, nil
	}
	b, err := bpe.FromVocab(*v)
	if errors.Is(err, bpe.ErrUnsupported) {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	if err != nil {
		return nil, formatError(g.path, err)
	}
	t := &Tokenizer{vocabulary: b}
	text := func(id int32) string {
		if id < 0 {
			return ""
		}
		return b.Text(id)
	}
	if err := t.setTemplate(template, text(v.BOS), text(v.EOS)); err != nil {
		return nil, err
	}
	return t, nil
}
