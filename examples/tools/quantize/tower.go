package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
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
			from, to = of.HuggingFace.Within.Name, of.GGUF.Within.Name
			tensors[i].Shape[0] = of.HuggingFace.Within.Rows
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
		if len(w.shape) == 0 { // a bound
			w.shape = []int{1}
		}
		if frames := of.HuggingFace.Frames; frames.Of > 1 {
			if err := w.frame(frames.Of, frames.At); err != nil {
				return fmt.Errorf("the tensor %s: %w", from, err)
			}
		}
		elements := 1
		for _, n := range w.shape {
			elements *= n
		}
		if want := product(tensors[i].Shape); elements != want || len(w.data) != w.dtype.Format().Bytes(elements) {
			return fmt.Errorf("the tensor %s has the shape %v, where %s asks for %v", from, in.Shape, checkpoint.ConfigFile, tensors[i].Shape)
		}
		s.tensors = append(s.tensors, w)
	}
	name := dir
	if absolute, err := filepath.Abs(dir); err == nil {
		name = filepath.Base(absolute)
	}
	s.metadata, err = t.Metadata(name)
	return err
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// frame makes of a filter [out, colours, frames, height, width] the part for one frame.
func (w *weight) frame(of, at int) error {
	if len(w.shape) != 5 || w.shape[2] != of {
		return fmt.Errorf("its shape is %v, and must be [out colours %d height width]", w.shape, of)
	}
	stretch := w.dtype.Format().Bytes(w.shape[3] * w.shape[4])
	var data []byte
	for from := w.data; len(from) >= of*stretch && stretch > 0; from = from[of*stretch:] {
		data = append(data, from[at*stretch:][:stretch]...)
	}
	w.data, w.file, w.offset = data, nil, 0
	w.shape = slices.Delete(slices.Clone(w.shape), 2, 3)
	return nil
}

// ofTower returns the type that a tensor of a tower gets. Filters of patches have no type of blocks, as llama.cpp writes them.
func (o *options) ofTower(w *weight) tensor.DType {
	switch {
	case len(w.shape) == 1 || w.model != nil && w.model.Role == model.Vector:
		return tensor.F32
	case len(w.shape) == 4 && o.mix.base != tensor.F32:
		return tensor.F16
	case len(w.shape) == 4:
		return tensor.F32
	case w.model == nil && !strings.HasPrefix(w.name, "v.blk.") && !strings.HasPrefix(w.name, "v.deepstack.") && !strings.HasPrefix(w.name, "mm."): // of a file: a table of positions, say
		return w.dtype
	}
	return o.mix.base
}
