package engine

import "github.com/antigravity-go/antigravity/tensor"

// Features are what a tower makes of a picture: the rows that stand in a text in place of tokens, all of float32 on the host. They belong to the
// caller, who frees them.
type Features struct {
	X    *tensor.Tensor   // [rows, hidden of the model of text]: what the first layer reads
	Deep []*tensor.Tensor // of X's shape: the k-th is added to these rows after the k-th layer of the model of text
}

// Free gives the memory back.
func (f *Features) Free() {
	for _, t := range append([]*tensor.Tensor{f.X}, f.Deep...) {
		if t != nil {
			t.Free()
		}
	}
	f.X, f.Deep = nil, nil
}
