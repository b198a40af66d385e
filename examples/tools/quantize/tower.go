package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// A model that sees has its tower in a file of its own in GGUF, mmproj. With -tower it is written in place of the model of text. Rows keep the folder's
// order; a filter of patches that has a part for each of two frames becomes two tensors:
//
//	model.visual.blocks.0.attn.qkv.weight     becomes v.blk.0.attn_qkv.weight, the bytes as they are
//	model.visual.patch_embed.proj.weight      [1024, 3, 2, 16, 16] becomes v.patch_embd.weight and v.patch_embd.weight.1, [1024, 3, 16, 16]

// readTower reads the tower of a Hugging Face folder.
func (s *source) readTower(dir string) error {
	folder := folderOf(dir)
	c, err := folder.Config()
	if err != nil {
		return err
	}
	stored, mapped, err := s.mapWeights(dir)
	if err != nil {
		return err
	}
	t, why, err := folder.Tower(c, stored.OwnNames())
	switch {
	case err != nil:
		return err
	case t == nil && why == "":
		return cli.Usagef("-tower: the model of %s has no tower that sees", dir)
	case t == nil:
		return fmt.Errorf("the model's tower cannot be written: %s", why)
	}
	tensors := t.Tensors()
	done := map[string]bool{}
	for i := range tensors {
		of := t.TensorOf(&tensors[i])
		from, to := of.HuggingFace.Name, of.GGUF.Name
		if of.HuggingFace.Within.Name != "" {
			from = of.HuggingFace.Within.Name
			if of.GGUF.Within.Name != "" {
				to, tensors[i].Shape[0] = of.GGUF.Within.Name, of.HuggingFace.Within.Rows
			}
		}
		if done[to] {
			continue
		}
		done[to] = true
		in, _, file, err := stored.Own(from)
		if err != nil {
			return err
		}
		w := weight{name: to, model: &of, shape: in.Shape, data: in.Data, file: mapped[file], offset: in.Offset}
		if w.dtype, err = in.ElementType(); err != nil {
			return err
		}
		if !w.dtype.Format().Valid() || w.dtype.Quantized() {
			return fmt.Errorf("the tensor %s has elements of type %v; weights are f32, f16 or bf16", from, w.dtype)
		}
		if whole := of.HuggingFace.Within; whole.Name != "" && of.GGUF.Within.Name == "" {
			w.cut(whole.Rows, whole.First, of.Shape[0])
		}
		if len(w.shape) == 0 { // a bound
			w.shape = []int{1}
		}
		if shape, element := storage.Rewritten(&of.HuggingFace, &of.GGUF, w.shape); element != nil {
			w.rewrite(shape, element)
		}
		elements := product(w.shape)
		if want := product(tensors[i].Shape); elements != want || len(w.data) != w.dtype.Format().Bytes(elements) {
			return fmt.Errorf("the tensor %s has the shape %v, where %s asks for %v", from, in.Shape, checkpoint.ConfigFile, tensors[i].Shape)
		}
		changed, err := changed(&w, &of)
		if err != nil {
			return err
		}
		changed.model = &of
		s.tensors = append(s.tensors, *changed)
	}
	if err := s.copyRow(dir, stored, mapped, t.Copied(), c); err != nil {
		return err
	}
	name := dir
	if absolute, err := filepath.Abs(dir); err == nil {
		name = filepath.Base(absolute)
	}
	s.metadata, err = t.Metadata(name)
	return err
}

// cut takes some of the rows. A tensor that does not have all of them stays as it is, and is refused.
func (w *weight) cut(all, first, rows int) {
	if len(w.shape) == 0 || w.shape[0] != all || len(w.data)%all != 0 {
		return
	}
	row := len(w.data) / all
	w.data, w.offset = w.data[first*row:][:rows*row], w.offset+int64(first*row)
	w.shape = append([]int{rows}, w.shape[1:]...)
}

// inputProjection is the matrix of Gemma's towers that makes features.
const inputProjection = "mm.input_projection.weight"

// copyRow adds the row of a token in the table of embeddings, if the tower's file has one and the folder's tokenizer knows the token.
func (s *source) copyRow(dir string, stored *checkpoint.Weights, mapped map[string]*mmap.File, row families.Copied, c *model.Config) error {
	data, err := folderOf(dir).Optional(checkpoint.TokenizerFile)
	if row.Name == "" || data == nil || err != nil {
		return err
	}
	var tokens struct {
		Added []struct {
			ID      int
			Content string
		} `json:"added_tokens"`
	}
	if err := json.Unmarshal(data, &tokens); err != nil {
		return fmt.Errorf("%s: %w", checkpoint.TokenizerFile, err)
	}
	for _, token := range tokens.Added {
		if token.Content != row.Token {
			continue
		}
		all := checkpoint.Tensors(c)
		at := slices.IndexFunc(all, func(t checkpoint.Tensor) bool { return t.Part == model.Embedding })
		table, err := find(stored, mapped, &all[at])
		if err != nil {
			return err
		}
		if token.ID < 0 || token.ID >= table.shape[0] {
			return fmt.Errorf("%s: the token %s has the number %d, and there are %d", checkpoint.TokenizerFile, token.Content, token.ID, table.shape[0])
		}
		width := len(table.data) / table.shape[0]
		s.tensors = append(s.tensors, weight{name: row.Name, dtype: table.dtype, shape: table.shape[1:], data: table.data[token.ID*width:][:width]})
	}
	return nil
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// rewrite gives the tensor another shape: its i-th element is one of those that it had. The data are checked after that.
func (w *weight) rewrite(shape []int, element func(i int) int) {
	size := w.dtype.Format().Bytes(1)
	data := make([]byte, product(shape)*size)
	for i := range len(data) / size {
		if at := element(i) * size; at+size <= len(w.data) {
			copy(data[i*size:][:size], w.data[at:])
		}
	}
	w.data, w.file, w.offset, w.shape = data, nil, 0, shape
}

// ofTower returns the type that a tensor of a tower gets. Filters of patches have no type of blocks, as llama.cpp writes them, and neither has Gemma's last
// matrix, which is stored transposed.
func (o *options) ofTower(w *weight) tensor.DType {
	switch {
	case len(w.shape) == 1 || w.model != nil && w.model.Role == model.Vector:
		return tensor.F32
	case (len(w.shape) == 4 || w.name == inputProjection) && o.mix.base != tensor.F32:
		return tensor.F16
	case len(w.shape) == 4:
		return tensor.F32
	case w.model == nil && !strings.HasPrefix(w.name, "v.blk.") && !strings.HasPrefix(w.name, "v.deepstack.") && !strings.HasPrefix(w.name, "mm."): // of a file: a table of positions, say
		return w.dtype
	}
	return o.mix.base
}
