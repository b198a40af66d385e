package engine

import "github.com/antigravity-go/antigravity/tensor"

// Features are what a tower makes of a picture: the rows that stand in a text in place of tokens' embeddings, all of float32 on the host. They do not change
// once they are made, and belong to the caller, who frees them.
type Features struct {
	X    *tensor.Tensor   // [rows, hidden of the model of text]: read by the first layer
	Deep []*tensor.Tensor // of X's shape: the k-th is added to these rows after the k-th layer of the model of text
}

// Rows returns how many rows there are.
func (f *Features) Rows() int { return f.X.Shape().Dim(0) }

// Tensors returns all tensors.
func (f *Features) Tensors() []*tensor.Tensor { return append([]*tensor.Tensor{f.X}, f.Deep...) }

// Free gives the memory back.
func (f *Features) Free() {
	for _, t := range f.Tensors() {
		if t != nil {
			t.Free()
		}
	}
	f.X, f.Deep = nil, nil
}
