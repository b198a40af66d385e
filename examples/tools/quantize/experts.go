package main

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/tensor"
)

// findExperts is find for a tensor of experts [experts, rows, columns], or for their biases [experts, rows], in whichever form the folder has them.
func findExperts(stored *checkpoint.Weights, _ map[string]*mmap.File, t *checkpoint.Tensor) (*weight, error) {
	for i := range t.Forms.HuggingFace {
		form := &t.Forms.HuggingFace[i]
		if _, _, err := stored.Tensor(form.Of(0)); err == nil {
			return gatherExperts(stored, form, t)
		}
	}
	return nil, fmt.Errorf("the tensor %s is missing", t.HuggingFace)
}

// gatherExperts finds the pieces that a form has.
func gatherExperts(stored *checkpoint.Weights, form *checkpoint.Form, t *checkpoint.Tensor) (*weight, error) {
	w := &weight{name: t.GGUF, shape: t.Shape}
	pieces := make([]checkpoint.Piece, t.Shape[0])
	for e := range pieces {
		in, _, err := stored.Tensor(form.Of(e))
		if err != nil {
			return nil, err
		}
		var exponents safetensors.Tensor
		d := tensor.MXFP4
		shape, want := in.Shape, form.Shape(t.Shape)
		if form.Exponents == "" {
			if d, err = in.ElementType(); err != nil {
				return nil, err
			}
		} else {
			if exponents, _, err = stored.Tensor(form.Exponents); err != nil {
				return nil, err
			}
			want = append(want[:len(want)-1], want[len(want)-1]/checkpoint.MXFP4Len)
			if shape = exponents.Shape; len(in.Data) != checkpoint.MXFP4Nibbles*len(exponents.Data) {
				return nil, fmt.Errorf("the tensors %s and %s do not belong together", form.Name, form.Exponents)
			}
		}
		if !slices.Equal(shape, want) || !d.Format().Valid() || e > 0 && d != w.dtype {
			return nil, fmt.Errorf("the tensor %s has the type %v and the shape %v, where %s asks for %v", form.Of(e), d, shape, checkpoint.ConfigFile, want)
		}
		w.dtype, pieces[e] = d, form.Cut(in.Data, exponents.Data, e, len(pieces))
	}
	rows, perRow := t.Shape[1], 1 // of a row as the file to write has it
	if t.Bias {
		rows, perRow = 1, t.Shape[1]
	}
	element := w.dtype.Format().Bytes(t.Shape[len(t.Shape)-1]) / perRow
	row := make([]byte, element*perRow)
	w.moved = &moved{row: func(i int) []byte {
		pieces[i/rows].Read(row, i%rows, element)
		return row
	}}
	return w, nil
}
