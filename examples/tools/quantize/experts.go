package main

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/tensor"
)

// findExperts is find for a tensor of experts [experts, rows, columns], or for their biases [experts, rows], in whichever form the folder has them.
func findExperts(stored *checkpoint.Weights, _ map[string]*mmap.File, t *checkpoint.Tensor) (*weight, error) {
	for i := range t.HuggingFace.Forms {
		form := &t.HuggingFace.Forms[i]
		if _, _, err := stored.Tensor(form.Of(0)); err == nil {
			return gatherExperts(stored, form, t)
		}
	}
	return nil, fmt.Errorf("the tensor %s is missing", t.HuggingFace.Name)
}

// gatherExperts finds the pieces that a form has.
func gatherExperts(stored *checkpoint.Weights, form *storage.Form, t *checkpoint.Tensor) (*weight, error) {
	w := &weight{name: t.GGUF.Name, shape: t.Shape}
	pieces, err := form.Gather(t.Shape, func(e int) (h storage.Held, err error) {
		in, _, err := stored.Tensor(form.Of(e))
		if err != nil {
			return h, err
		}
		if form.Exponents != "" {
			w.dtype = tensor.MXFP4
			exponents, _, err := stored.Tensor(form.Exponents)
			if err != nil {
				return h, err
			}
			return storage.HeldMXFP4(&in, &exponents)
		}
		if w.dtype, err = in.ElementType(); err == nil && !w.dtype.Format().Valid() {
			err = fmt.Errorf("the tensor %s has elements of type %v; weights are f32, f16 or bf16", form.Of(e), w.dtype)
		}
		return storage.Held{Type: in.DType, Shape: in.Shape, Data: in.Data}, err
	})
	if err != nil {
		return nil, err
	}
	rows, perRow := t.Shape[1], 1 // of a row as the file to write has it
	if t.Bias {
		rows, perRow = 1, t.Shape[1]
	}
	element := w.dtype.Format().Bytes(t.Shape[len(t.Shape)-1]) / perRow
	row := make([]byte, element*perRow)
	w.moved = &moved{row: func(i int) ([]byte, error) { return row, pieces[i/rows].Read(row, i%rows, element) }}
	return w, nil
}
