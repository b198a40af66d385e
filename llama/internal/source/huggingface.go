package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/rare"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// huggingFace is the weights of a Hugging Face folder.
type huggingFace struct {
	files   files
	weights *checkpoint.Weights
	open    map[string]io.Closer // by the file's name
	used    map[string]bool      // the tensors that find has found
}

// openHuggingFace opens the weights of a folder, and of the modules within it.
func openHuggingFace(ctx context.Context, f files, memory tensor.Memory, modules []model.Dense) (*huggingFace, error) {
	h := &huggingFace{files: f, open: map[string]io.Closer{}, used: map[string]bool{}}
	defer func() {
		if h.weights == nil { // an error, or a panic because a mapped file was cut short
			h.Close()
		}
	}()
	var err error
	h.weights, err = checkpoint.Folder(f.read).Weights(func(name string) ([]byte, error) {
		data, closer, err := f.weights(ctx, name, memory)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the weights %s are missing: %w", f.path(name), err)
		}
		if err != nil {
			return nil, fmt.Errorf("open the weights: %w", err)
		}
		h.open[name] = closer
		return data, nil
	}, modules...)
	if err != nil {
		return nil, folderError(f, err)
	}
	return h, nil
}

func (h *huggingFace) File() string { return h.files.path(h.weights.List()) }

func (h *huggingFace) Format() string {
	if len(h.open) == 1 {
		return "Hugging Face, 1 file of weights"
	}
	return fmt.Sprintf("Hugging Face, %d files of weights", len(h.open))
}

func (h *huggingFace) names() []string { return h.weights.Names() }

func (h *huggingFace) find(t *checkpoint.Tensor) (Stored, error) {
	if forms := t.HuggingFace.Forms; forms != nil {
		s, err := findForm(forms, t.Shape, h.matrix)
		return s, tensorError(h.File(), t.HuggingFace.Name, 0, err)
	}
	if t.HuggingFace.Constant != 0 {
		return newConstant(t.HuggingFace.Constant, t.Shape)
	}
	name, within := t.HuggingFace.Name, false
	w := &t.HuggingFace.Within
	if w.Rows > 0 {
		if whole, _, _, err := h.tensor(&t.HuggingFace, w.Name); err == nil && len(whole.Shape) > 0 && whole.Shape[0] == w.Rows {
			name, within = w.Name, true
		}
	}
	stored, usual, file, err := h.tensor(&t.HuggingFace, name)
	if err != nil {
		return Stored{}, folderError(h.files, err)
	}
	h.used[usual] = true
	s, err := newFolderTensor(&t.HuggingFace, &stored, h.open[file])
	if err == nil && within {
		s, err = s.within(*w, t.Shape[0])
	}
	if err == nil {
		s, err = s.patch(&t.HuggingFace, stored.Shape)
	}
	s.order, s.steps = t.HuggingFace.Rows, t.HuggingFace.Steps
	return s, tensorError(h.files.path(file), name, stored.Offset, err)
}

// newFolderTensor returns a tensor as a folder has it, or, if it is ternary, as it will be rewritten.
func newFolderTensor(l *storage.Layout, stored *safetensors.Tensor, owner io.Closer) (Stored, error) {
	d, _ := stored.ElementType() // 0, which newStored refuses, if there is no such type
	if shape := stored.Shape; len(shape) == 2 && (l.Digits && stored.DType == "U8" || l.Ternary) {
		rows, kind := shape[0], rare.Ternary(d, shape[0], shape[1])
		if l.Digits {
			rows = 4 * shape[0]
			kind = rare.Digits(rows, shape[1])
		}
		if kind == nil || l.Rows != nil || l.Within.Name != "" {
			return Stored{}, fmt.Errorf("a ternary matrix of %s%v: %w, since its rows are no whole blocks of 32, or parts of it are wanted", stored.DType, shape, fault.ErrUnsupported)
		}
		return newRare(kind, []int{rows, shape[1]}, stored.Data, owner)
	}
	return newStored(d, stored.DType, flatDims(l, stored.Shape), stored.Data, owner)
}

// tensor returns the tensor of a name as a layout means it, and the name that names lists for it.
func (h *huggingFace) tensor(l *storage.Layout, name string) (t safetensors.Tensor, usual, file string, err error) {
	if l.Own {
		return h.weights.Own(name)
	}
	t, file, err = h.weights.Tensor(name)
	return t, name, file, err
}

// matrix returns a tensor by its name. One of MXFP4 has the type that GGUF calls so.
func (h *huggingFace) matrix(form *storage.Form, expert int) (s Stored, found bool, err error) {
	stored, file, err := h.weights.Tensor(form.Of(expert))
	if err != nil {
		return s, false, nil
	}
	h.used[form.Of(expert)] = true
	if form.Exponents != "" {
		h.used[form.Exponents] = true
		exponents, other, err := h.weights.Tensor(form.Exponents)
		if err != nil {
			return s, true, err
		}
		s, err = newMXFP4(&stored, &exponents, h.open[file], h.open[other])
		return s, true, err
	}
	d, _ := stored.ElementType()
	s, err = newStored(d, stored.DType, stored.Shape, stored.Data, h.open[file])
	return s, true, err
}

func (h *huggingFace) found() map[string]bool { return h.used }

// Close closes the files.
func (h *huggingFace) Close() error {
	var errs []error
	for _, closer := range h.open {
		errs = append(errs, closer.Close())
	}
	return errors.Join(errs...)
}
