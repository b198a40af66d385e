package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// A Hugging Face folder's tensors are renamed and rearranged for GGUF without being copied: a weight has either a part of a mapped file or
// functions that read its rows in GGUF's order. Tensors that GGUF has as one, such as the experts of a layer, are put together. Only a few
// vectors are computed anew. For example:
//
//	model.layers.0.mlp.down_proj.weight       becomes blk.0.ffn_down.weight, the bytes as they are
//	model.layers.0.self_attn.q_proj.weight    becomes blk.0.attn_q.weight; for a Llama with heads of 8 rows, GGUF's rows 0 1 2 3 4 5 6 7
//	                                          are the folder's rows 0 4 1 5 2 6 3 7: both rows of one of RoPE's pairs lie together
//	model.layers.0.input_layernorm.weight     becomes blk.0.attn_norm.weight; for a Gemma 2, an element 0.25 becomes 1.25

// folderOf returns the small files of a Hugging Face folder.
func folderOf(dir string) checkpoint.Folder {
	return func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) }
}

// namesIn returns a function that lists the files in a folder of the folder dir.
func namesIn(dir string) func(folder string) []string {
	return func(folder string) (names []string) {
		entries, _ := os.ReadDir(filepath.Join(dir, folder))
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
}

// readFolder reads a Hugging Face folder.
func (s *source) readFolder(dir string) error {
	folder := folderOf(dir)
	c, err := folder.Config()
	if err != nil {
		return err
	}
	if c.Rounding.Rows {
		return fmt.Errorf("%s: a model with ternary matrices: its folder has two bits for each weight already, and no file is made of it: %w", dir, errors.ErrUnsupported)
	}
	pipeline, err := folder.Pipeline()
	if err != nil {
		return err
	}
	if err := pipeline.Fit(c); err != nil {
		return fmt.Errorf("%s: %w", checkpoint.ModulesFile, err)
	}
	stored, mapped, err := s.mapWeights(dir, c.Dense...)
	if err != nil {
		return err
	}
	if err := checkpoint.CheckLayers(stored.Names(), c.Layers); err != nil {
		return err
	}
	stored.FitAhead(c)
	if _, err := stored.ReadNumbers(c); err != nil {
		return err
	}
	if err := s.addDivisors(c); err != nil {
		return err
	}
	parts := partsOf(c)
	wholes := map[string]*combined{}
	for _, t := range checkpoint.AllTensors(c) {
		if t.GGUF.Constant != 0 {
			continue
		}
		if v := t.HuggingFace.Constant; v != 0 {
			w, err := constant(v*cmp.Or(t.GGUF.Factor, 1), &t)
			if err != nil {
				return err
			}
			w.model = parts[w.name]
			s.tensors = append(s.tensors, *w)
			continue
		}
		look := find
		if t.HuggingFace.Forms != nil {
			look = findExperts
		}
		w, err := look(stored, mapped, &t)
		if err != nil {
			return err
		}
		if whole := &t.GGUF.Within; whole.Name != "" {
			if w, err = wholes[whole.Name].add(wholes, w, &t); err != nil {
				return err
			}
		}
		if w != nil {
			w.model = parts[w.name]
			s.tensors = append(s.tensors, *w)
		}
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
	s.metadata = append(checkpoint.Metadata(c, name), pooling...)
	return s.addVocabulary(folder, namesIn(dir), c, pipeline)
}

// constant returns a vector that the folder does not have, of one number.
func constant(v float32, t *checkpoint.Tensor) (*weight, error) {
	data := make([]byte, tensor.F32.Format().Bytes(t.Shape[0]))
	return &weight{name: t.GGUF.Name, dtype: tensor.F32, shape: t.Shape, data: data}, tensor.F32.Format().Quantize(data, slices.Repeat([]float32{v}, t.Shape[0]))
}

// addDivisors adds llama3's or longrope's stretching of RoPE in GGUF's form, if the model has it.
func (s *source) addDivisors(c *model.Config) error {
	divisors, err := checkpoint.GGUFDivisors(c)
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

// combined is a tensor of GGUF's that several parts of the model are rows of.
type combined struct {
	weight weight
	rows   [][]byte
	filled int
}

// add adds a part's rows to the tensor that has them, which all remembers by its name. It returns the tensor once that has all rows, and
// nil before.
func (c *combined) add(all map[string]*combined, w *weight, t *checkpoint.Tensor) (*weight, error) {
	whole := &t.GGUF.Within
	if c == nil {
		c = &combined{weight: weight{name: whole.Name, dtype: w.dtype, shape: slices.Clone(w.shape)}, rows: make([][]byte, whole.Rows)}
		if !t.GGUF.Tables { // else it is that of all tables
			c.weight.shape[0] = whole.Rows
		}
		all[whole.Name] = c
	}
	if w.dtype != c.weight.dtype {
		return nil, fmt.Errorf("the tensor %s has parts of the types %v and %v", whole.Name, w.dtype, c.weight.dtype)
	}
	n := t.Shape[0]
	for i := range n {
		if w.moved == nil {
			c.rows[whole.Row(i)] = w.data[i*(len(w.data)/n):][:len(w.data)/n]
			continue
		}
		row, err := w.moved.row(i)
		if err != nil {
			return nil, err
		}
		c.rows[whole.Row(i)] = row
	}
	if c.filled += n; c.filled < whole.Rows {
		return nil, nil
	}
	c.weight.moved = &moved{row: func(i int) ([]byte, error) { return c.rows[i], nil }}
	return &c.weight, nil
}

// changed returns a vector with its elements as GGUF has them, if these are not those of Hugging Face: norms that are stored less one, and
// decays that are stored as logarithms.
func changed(w *weight, t *checkpoint.Tensor) (*weight, error) {
	steps := storage.Beyond(&t.HuggingFace, &t.GGUF)
	if len(steps) == 0 {
		return w, nil
	}
	values := make([]float32, w.shape[0])
	if err := w.dtype.Format().Dequantize(values, w.data); err != nil {
		return nil, err
	}
	for _, step := range steps {
		step.Apply(values, values, w.shape)
	}
	data := make([]byte, tensor.F32.Format().Bytes(len(values)))
	return &weight{name: w.name, dtype: tensor.F32, shape: w.shape, data: data}, tensor.F32.Format().Quantize(data, values)
}

// mapWeights maps the files of a folder's tensors, and those of modules. mapped has the files by their names.
func (s *source) mapWeights(dir string, modules ...model.Dense) (stored *checkpoint.Weights, mapped map[string]*mmap.File, err error) {
	mapped = map[string]*mmap.File{}
	stored, err = folderOf(dir).Weights(func(name string) ([]byte, error) {
		f, err := s.mapFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		mapped[name] = f
		return f.Bytes(), nil
	}, modules...)
	return stored, mapped, err
}

// find finds a tensor, which may be some rows of another one, and checks its shape.
func find(stored *checkpoint.Weights, mapped map[string]*mmap.File, t *checkpoint.Tensor) (*weight, error) {
	name, whole := t.HuggingFace.Name, &t.HuggingFace.Within
	if whole.Rows > 0 {
		if in, _, err := stored.Tensor(whole.Name); err == nil && len(in.Shape) > 0 && in.Shape[0] == whole.Rows {
			name = whole.Name
		} else {
			whole = &storage.Within{}
		}
	}
	in, file, err := stored.Tensor(name)
	if err != nil {
		return nil, err
	}
	d, err := in.ElementType()
	if err != nil {
		return nil, err
	}
	if !d.Format().Valid() {
		return nil, fmt.Errorf("the tensor %s has elements of type %v; weights are f32, f16 or bf16", name, d)
	}
	shape := slices.Clone(in.Shape)
	if len(t.Shape) == 2 && len(shape) == 3 && shape[1] == 1 { // a filter of one channel
		shape = slices.Delete(shape, 1, 2)
	}
	for len(shape) > len(t.Shape) && shape[0] == 1 { // a row that is a matrix
		shape = shape[1:]
	}
	n := len(in.Data) / max(shape[0], 1) // bytes of a row
	w := &weight{name: t.GGUF.Name, dtype: d, shape: t.Shape, data: in.Data, file: mapped[file], offset: in.Offset}
	if whole.Rows > 0 {
		shape[0] = t.Shape[0]
		if whole.Every == 0 {
			w.data, w.offset = in.Data[whole.First*n:][:shape[0]*n], in.Offset+int64(whole.First*n)
		}
	}
	if !slices.Equal(shape, t.Shape) {
		return nil, fmt.Errorf("the tensor %s has the shape %v, where %s asks for %v", name, shape, checkpoint.ConfigFile, t.Shape)
	}
	if w, err = changed(w, t); err != nil {
		return nil, err
	}
	w.arrange(t, whole)
	w.multiply(t.GGUF.Factor, t.Shape[0])
	if t.GGUF.Shape != nil {
		w.shape = t.GGUF.Shape
	}
	return w, nil
}

// multiply makes the elements those of a matrix of n rows that is multiplied by a factor, floats of 32 bits; 0 changes nothing.
func (w *weight) multiply(factor float32, n int) {
	if factor == 0 {
		return
	}
	data, from, row := w.data, w.dtype.Format(), func(i int) ([]byte, error) { return nil, nil }
	if size := len(data) / max(n, 1); w.moved == nil {
		row = func(i int) ([]byte, error) { return data[i*size:][:size], nil }
		w.moved = &moved{}
	} else {
		row = w.moved.row
	}
	cols := w.shape[len(w.shape)-1]
	w.dtype = tensor.F32
	w.moved = &moved{columns: w.moved.columns, row: func(i int) ([]byte, error) {
		stored, err := row(i)
		if err != nil {
			return nil, err
		}
		values, multiplied := make([]float32, cols), make([]byte, tensor.F32.Format().Bytes(cols))
		if err := from.Dequantize(values, stored); err != nil {
			return nil, err
		}
		for i := range values {
			values[i] *= factor
		}
		return multiplied, tensor.F32.Format().Quantize(multiplied, values)
	}}
}

// arrange notes the origin of GGUF's rows and columns, if the folder has them in another order.
func (w *weight) arrange(t *checkpoint.Tensor, whole *storage.Within) {
	var orders []func(row int) int
	if order := storage.Between(&t.HuggingFace, &t.GGUF); order != nil {
		orders = append(orders, order)
	}
	columns := storage.ColumnsBetween(&t.HuggingFace, &t.GGUF)
	rows := t.Shape[0]
	if whole.Every != 0 {
		orders, rows = append(orders, whole.Row), whole.Rows
	}
	if len(orders) == 0 && columns == nil {
		return
	}
	data, n := w.data, len(w.data)/rows
	w.moved = &moved{columns: columns, row: func(i int) ([]byte, error) {
		for _, order := range orders {
			i = order(i)
		}
		return data[i*n:][:n], nil
	}}
}
