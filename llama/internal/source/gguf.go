package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/rare"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// ggufModel is a GGUF file, or the files that a split one consists of.
type ggufModel struct {
	gguf    *gguf.File
	paths   []string        // of the parts, by gguf.Tensor.Part
	used    map[string]bool // the tensors that find has found
	closers []io.Closer
}

// openGGUF opens a file. If it is the first part of a split file, it opens the other parts, from the same folder, too.
func openGGUF(ctx context.Context, f files, name string, memory tensor.Memory) (_ *ggufModel, err error) {
	g, complete := &ggufModel{used: map[string]bool{}}, false
	defer func() {
		if !complete { // an error, or a panic because a mapped file was cut short
			err = errors.Join(err, g.Close())
		}
	}()
	first, err := g.openPart(ctx, f, name, memory)
	if err != nil {
		return nil, err
	}
	names, err := first.Parts(name)
	if err != nil {
		return nil, Malformed(g.paths[0], err)
	}
	parts := []*gguf.File{first}
	for i, name := range names[1:] {
		part, err := g.openPart(ctx, f, name, memory)
		if err != nil {
			return nil, fmt.Errorf("part %d of %d of the model %s: %w", i+2, len(names), g.paths[0], err)
		}
		parts = append(parts, part)
	}
	if g.gguf = first; len(parts) > 1 {
		if g.gguf, err = gguf.Join(parts); err != nil {
			return nil, Malformed(g.paths[0], err)
		}
	}
	complete = true
	return g, nil
}

// openPart opens one file.
func (g *ggufModel) openPart(ctx context.Context, f files, name string, memory tensor.Memory) (*gguf.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, closer, err := f.weights(ctx, name, memory)
	if err != nil {
		return nil, fmt.Errorf("open the weights: %w", err)
	}
	g.paths, g.closers = append(g.paths, f.path(name)), append(g.closers, closer)
	part, err := gguf.Parse(data)
	if err != nil {
		return nil, Malformed(f.path(name), err)
	}
	return part, nil
}

func (g *ggufModel) File() string { return g.paths[0] }

func (g *ggufModel) Format() string {
	text := fmt.Sprintf("GGUF version %d", g.gguf.Version())
	if n := len(g.paths); n > 1 {
		text += fmt.Sprintf(", %d files", n)
	}
	return text
}

func (g *ggufModel) names() (names []string) {
	for _, t := range g.gguf.Tensors() {
		names = append(names, t.Name)
	}
	return names
}

func (g *ggufModel) found() map[string]bool { return g.used }

// Close closes the files.
func (g *ggufModel) Close() error {
	var errs []error
	for _, c := range g.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func (g *ggufModel) find(t *checkpoint.Tensor) (Stored, error) {
	if forms := t.GGUF.Forms; forms != nil {
		s, err := findForm(forms, t.Shape, g.matrix)
		return s, tensorError(g.File(), t.GGUF.Name, 0, err)
	}
	if t.GGUF.Constant != 0 {
		return newConstant(t.GGUF.Constant, t.Shape)
	}
	name, within := t.GGUF.Name, false
	w := &t.GGUF.Within
	if w.Name != "" {
		if whole, ok := g.gguf.Tensor(w.Name); ok && len(whole.Shape) > 0 && flatDims(&t.GGUF, whole.Shape)[0] == w.Rows {
			name, within = w.Name, true
		}
	}
	stored, ok := g.gguf.Tensor(name)
	if !ok {
		return Stored{}, Malformed(g.File(), fmt.Errorf("the tensor %s %v is missing", t.GGUF.Name, t.Shape))
	}
	g.used[name] = true
	dims := stored.Shape
	stored.Shape = flatDims(&t.GGUF, dims)
	s, err := ggufTensor(&stored, g.closers[stored.Part])
	if err == nil && within {
		s, err = s.within(*w, t.Shape[0])
	}
	if err == nil {
		s, err = s.patch(&t.GGUF, dims)
	}
	if written := t.GGUF.Shape; err == nil && !within && slices.Equal(stored.Shape, written) && tensor.ShapeOf(written...).NumElements() == tensor.ShapeOf(t.Shape...).NumElements() {
		s.shape = tensor.ShapeOf(t.Shape...)
	}
	s.order, s.steps = t.GGUF.Rows, t.GGUF.Steps
	return s, tensorError(g.paths[stored.Part], name, stored.Offset, err)
}

// matrix returns a tensor by its name.
func (g *ggufModel) matrix(form *storage.Form, expert int) (s Stored, found bool, err error) {
	stored, ok := g.gguf.Tensor(form.Of(expert))
	if !ok {
		return s, false, nil
	}
	g.used[stored.Name] = true
	s, err = ggufTensor(&stored, g.closers[stored.Part])
	return s, true, err
}

// ggufTensor returns a tensor as a file has it, or, if nothing computes with its type, as it will be rewritten.
func ggufTensor(t *gguf.Tensor, owner io.Closer) (Stored, error) {
	if kind := rare.Of(t.Type); kind != nil {
		return newRare(kind, t.Shape, t.Data, owner)
	}
	return newStored(t.DType, t.Type.String(), t.Shape, t.Data, owner)
}

// ggufShape returns a tensor of one of GGUF's types without its data.
func ggufShape(t gguf.GGMLType, dims []int) (Stored, error) {
	kind := rare.Of(t)
	d := t.DType()
	if kind != nil {
		d = kind.Target()
	}
	shape, err := tensor.NewShape(dims...)
	if err == nil && shape.Dim(-1)%max(d.BlockLen(), 1) != 0 {
		err = fmt.Errorf("rows of %d are no whole blocks", shape.Dim(-1))
	}
	return Stored{dtype: d, shape: shape, rare: kind}, err
}

// config reads the configuration.
func (g *ggufModel) config() (*model.Config, []checkpoint.Ignored, error) {
	if checkpoint.IsAdapter(g.gguf) {
		return nil, nil, fmt.Errorf("%s is an adapter: %w as a model; load the model that it was made for, and then LoadAdapter", g.File(), fault.ErrUnsupported)
	}
	c, idle, err := checkpoint.ConfigOf(g.gguf)
	if err != nil {
		return nil, nil, Malformed(g.File(), err)
	}
	return c, idle, nil
}
