package llama

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/tensor"
)

// huggingFace is the weights of a Hugging Face folder.
type huggingFace struct {
	files   files
	weights *checkpoint.Weights
	open    map[string]io.Closer // by the file's name
}

// openHuggingFace opens the weights of a folder.
func openHuggingFace(ctx context.Context, f files, memory tensor.Memory) (*huggingFace, error) {
	h := &huggingFace{files: f, open: map[string]io.Closer{}}
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
	})
	if err != nil {
		return nil, folderError(f, err)
	}
	return h, nil
}

func (h *huggingFace) file() string { return h.files.path(h.weights.List()) }

func (h *huggingFace) format() string {
	if len(h.open) == 1 {
		return "Hugging Face, 1 file of weights"
	}
	return fmt.Sprintf("Hugging Face, %d files of weights", len(h.open))
}

func (h *huggingFace) names() []string { return h.weights.Names() }

func (h *huggingFace) find(t *checkpoint.Tensor) (storedTensor, error) {
	name, within := t.HuggingFace, false
	if w := &t.Within; w.Rows > 0 {
		if whole, _, err := h.weights.Tensor(w.HuggingFace); err == nil && len(whole.Shape) > 0 && whole.Shape[0] == w.Rows {
			name, within = w.HuggingFace, true
		}
	}
	stored, file, err := h.weights.Tensor(name)
	if err != nil {
		return storedTensor{}, folderError(h.files, err)
	}
	d, _ := stored.ElementType() // 0, which newStoredTensor refuses, where there is no such type
	s, err := newStoredTensor(d, stored.DType, stored.Shape, stored.Data, h.open[file])
	if err == nil && within {
		s, err = s.rows(t.Within.First, t.Shape[0])
	}
	if t.PlusOne {
		s.plus = 1
	}
	return s, tensorError(h.files.path(file), name, stored.Offset, err)
}

func (h *huggingFace) tokenizer() (*Tokenizer, error) { return huggingFaceTokenizer(h.files) }

// Close closes the files.
func (h *huggingFace) Close() error {
	var errs []error
	for _, closer := range h.open {
		errs = append(errs, closer.Close())
	}
	return errors.Join(errs...)
}

// folderError turns what is wrong with the content of a folder's file into a FormatError; other errors stay as they are.
func folderError(f files, err error) error {
	var in *checkpoint.FileError
	switch {
	case !errors.As(err, &in):
		return err
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%w: %w", in, ErrUnsupported)
	}
	return formatError(f.path(in.Name), in.Err)
}

// formatError wraps what is wrong with a file's content with the file's name. What is merely not supported is no FormatError.
func formatError(path string, err error) error {
	var at *format.OffsetError
	switch {
	case errors.Is(err, ErrUnsupported):
		return err
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%w: %w", err, ErrUnsupported)
	case errors.As(err, &at):
		return &FormatError{File: path, Offset: at.Offset, Err: at.Err}
	}
	return &FormatError{File: path, Offset: -1, Err: err}
}

// tensorError wraps what newStoredTensor says of a tensor; nil stays nil.
func tensorError(path, name string, offset int64, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("the tensor %s: %w", name, err)
	if errors.Is(err, ErrUnsupported) {
		return err
	}
	return &FormatError{File: path, Offset: offset, Err: err}
}

// huggingFaceTokenizer reads tokenizer.json and the chat template beside it. Without a tokenizer.json there is none: such a
// model computes tokens, and no text.
func huggingFaceTokenizer(f files) (*Tokenizer, error) {
	folder := checkpoint.Folder(f.read)
	data, err := folder.Optional(checkpoint.TokenizerFile)
	if err != nil || data == nil {
		return nil, err
	}
	t, err := parseTokenizer(data)
	if errors.Is(err, ErrUnsupported) {
		return nil, fmt.Errorf("%s: %w", checkpoint.TokenizerFile, err)
	}
	if err != nil {
		return nil, formatError(f.path(checkpoint.TokenizerFile), err)
	}
	c, err := folder.Chat()
	if err != nil {
		return nil, folderError(f, err)
	}
	t.end = c.EOS
	if id, ok := t.vocabulary.ID(c.EOS); ok && c.AddEOS && len(t.ending) == 0 {
		t.ending = []int32{id}
	}
	if err := t.setTemplate(c.Template, c.BOS, c.EOS); err != nil {
		return nil, fmt.Errorf("%s: %w", c.TemplateFile, err)
	}
	return t, nil
}
