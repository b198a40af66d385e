package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/tensor"
)

// folderOf returns the small files of a Hugging Face folder.
func folderOf(dir string) checkpoint.Folder {
	return func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) }
}

// readFolder reads a Hugging Face folder.
func (s *source) readFolder(dir string) error {
	folder := folderOf(dir)
	c, err := folder.Config()
	if err != nil {
		return err
	}
	mapped := map[string]*mmap.File{}
	stored, err := folder.Weights(func(name string) ([]byte, error) {
		f, err := s.mapFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		mapped[name] = f
		return f.Bytes(), nil
	})
	if err != nil {
		return err
	}
	if err := s.addDivisors(c); err != nil {
		return err
	}
	for _, t := range c.Tensors() {
		w, err := find(stored, mapped, &t)
		if err != nil {
			return err
		}
		w.model = &t
		s.tensors = append(s.tensors, *w)
	}
	s.config = c
	name := dir
	if absolute, err := filepath.Abs(dir); err == nil {
		name = filepath.Base(absolute)
	}
	s.metadata = c.Metadata(name)
	return s.addVocabulary(folder, c)
}

// addDivisors adds llama3's stretching of RoPE in GGUF's form, where the model has it.
func (s *source) addDivisors(c *checkpoint.Config) error {
	list := c.RoPE.StretchDivisors(c.HeadDim)
	if list == nil {
		return nil
	}
	data := make([]byte, tensor.F32.Format().Bytes(len(list)))
	s.tensors = append(s.tensors, weight{name: checkpoint.DivisorsGGUF, dtype: tensor.F32, shape: []int{len(list)}, data: data})
	return tensor.F32.Format().Quantize(data, list)
}

// find finds a tensor and checks its shape.
func find(stored *checkpoint.Weights, mapped map[string]*mmap.File, t *checkpoint.Tensor) (*weight, error) {
	in, file, err := stored.Tensor(t.HuggingFace)
	if err != nil {
		return nil, err
	}
	d, err := in.ElementType()
	if err != nil {
		return nil, err
	}
	if !slices.Equal(in.Shape, t.Shape) {
		return nil, fmt.Errorf("the tensor %s has the shape %v, where %s asks for %v", t.HuggingFace, in.Shape, checkpoint.ConfigFile, t.Shape)
	}
	if !d.Format().Valid() {
		return nil, fmt.Errorf("the tensor %s has elements of type %v; weights are f32, f16 or bf16", t.HuggingFace, d)
	}
	return &weight{name: t.GGUF, dtype: d, shape: t.Shape, data: in.Data, headDim: t.HeadDim, file: mapped[file], offset: in.Offset}, nil
}
