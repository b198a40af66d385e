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
	pipeline, err := folder.Pipeline()
	if err != nil {
		return err
	}
	c.Dense = pipeline.Dense
	mapped := map[string]*mmap.File{}
	stored, err := folder.Weights(func(name string) ([]byte, error) {
		f, err := s.mapFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		mapped[name] = f
		return f.Bytes(), nil
	}, c.Dense...)
	if err != nil {
		return err
	}
	if err := checkpoint.CheckLayers(stored.Names(), c.Layers); err != nil {
		return err
	}
	if err := s.addDivisors(c); err != nil {
		return err
	}
	parts := partsOf(c)
	for _, t := range c.Tensors() {
		if w := &t.Within; w.GGUF != "" { // GGUF fuses what Hugging Face does
			if w.First > 0 {
				continue // it is part of a tensor that has been added as a whole
			}
			t.HuggingFace, t.GGUF, t.Shape = w.HuggingFace, w.GGUF, slices.Clone(t.Shape)
			t.Shape[0], *w = w.Rows, checkpoint.Within{}
		}
		w, err := find(stored, mapped, &t)
		if err != nil {
			return err
		}
		w.model = parts[w.name]
		s.tensors = append(s.tensors, *w)
	}
	s.config = c
	name := dir
	if absolute, err := filepath.Abs(dir); err == nil {
		name = filepath.Base(absolute)
	}
	pooling, err := pipeline.Metadata(c)
	if err != nil {
		return err
	}
	s.metadata = append(c.Metadata(name), pooling...)
	return s.addVocabulary(folder, c)
}

// addDivisors adds llama3's and longrope's stretching of RoPE in GGUF's form, where the model has it.
func (s *source) addDivisors(c *checkpoint.Config) error {
	divisors, err := c.GGUFDivisors()
	if err != nil {
		return err
	}
	for _, d := range divisors {
		data := make([]byte, tensor.F32.Format().Bytes(len(d.List)))
		s.tensors = append(s.tensors, weight{name: d.Name, dtype: tensor.F32, shape: []int{len(d.List)}, data: data})
		if err := tensor.F32.Format().Quantize(data, d.List); err != nil {
			return err
		}
	}
	return nil
}

// plusOne returns a norm whose weights Hugging Face stores less one as GGUF has it.
func plusOne(w *weight) (*weight, error) {
	values := make([]float32, w.shape[0])
	if err := w.dtype.Format().Dequantize(values, w.data); err != nil {
		return nil, err
	}
	for i := range values {
		values[i]++
	}
	data := make([]byte, tensor.F32.Format().Bytes(len(values)))
	return &weight{name: w.name, dtype: tensor.F32, shape: w.shape, data: data}, tensor.F32.Format().Quantize(data, values)
}

// find finds a tensor, which may be some rows of another one, and checks its shape.
func find(stored *checkpoint.Weights, mapped map[string]*mmap.File, t *checkpoint.Tensor) (*weight, error) {
	name := t.HuggingFace
	if t.Within.Rows > 0 {
		name = t.Within.HuggingFace
	}
	in, file, err := stored.Tensor(name)
	if err != nil {
		return nil, err
	}
	if w := &t.Within; w.Rows > 0 && len(in.Shape) > 0 && in.Shape[0] == w.Rows {
		row := len(in.Data) / w.Rows
		in.Shape, in.Data = slices.Clone(in.Shape), in.Data[w.First*row:][:t.Shape[0]*row]
		in.Shape[0], in.Offset = t.Shape[0], in.Offset+int64(w.First*row)
	}
	d, err := in.ElementType()
	if err != nil {
		return nil, err
	}
	if !slices.Equal(in.Shape, t.Shape) {
		return nil, fmt.Errorf("the tensor %s has the shape %v, where %s asks for %v", name, in.Shape, checkpoint.ConfigFile, t.Shape)
	}
	if !d.Format().Valid() {
		return nil, fmt.Errorf("the tensor %s has elements of type %v; weights are f32, f16 or bf16", name, d)
	}
	w := &weight{name: t.GGUF, dtype: d, shape: t.Shape, data: in.Data, headDim: t.HeadDim, file: mapped[file], offset: in.Offset}
	if t.PlusOne {
		return plusOne(w)
	}
	return w, nil
}
