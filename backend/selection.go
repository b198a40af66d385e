package backend

import (
	"fmt"

	"github.com/antigravity-go/antigravity/tensor"
)

// Largest finds the k largest elements of each row of X [rows, n], of type F32, for k = len(Indices)/rows: Values[r·k+i] is the i-th
// largest of row r and Indices[r·k+i] its index in the row. Equal ones come in the order of their indices, and NaN counts as larger
// than everything. The sign of a 0 and the bits of a NaN may be lost. It waits for the result.
type Largest struct {
	X       *tensor.Tensor
	Indices []int32
	Values  []float32
}

// Check checks that both lists have the same number of elements, at most n of each row.
func (o *Largest) Check() error {
	if err := needF32("Largest", o.X); err != nil {
		return err
	}
	rows, n := o.X.Shape().Rows(), o.X.Shape().Dim(-1)
	if rows < 1 || len(o.Indices)%rows != 0 || len(o.Indices)/rows > n || len(o.Values) != len(o.Indices) {
		return fmt.Errorf("backend: Largest of %v to %d indices and %d values: both must be as many, the same number for each of the rows "+
			"and no more than a row has elements", o.X, len(o.Indices), len(o.Values))
	}
	return nil
}

// Wanted returns k.
func (o *Largest) Wanted() int { return len(o.Indices) / o.X.Shape().Rows() }

// Mask writes -Inf to the elements of X [rows, n], of type F32, that are not allowed: element i of row r is allowed where bit i%64 of
// Allowed[r·⌈n/64⌉+i/64] is 1. There are as many words as the rows take; what the last one of a row has beyond n bits is not looked
// at. Allowed may be changed as soon as Run has returned.
type Mask struct {
	X       *tensor.Tensor
	Allowed []uint64
}

// Check checks that there are the words of as many rows.
func (o *Mask) Check() error {
	if err := needF32("Mask", o.X); err != nil {
		return err
	}
	if rows, words := o.X.Shape().Rows(), o.Words(); len(o.Allowed) != rows*words {
		return fmt.Errorf("backend: Mask of %v by %d words: there must be %d, %d a row", o.X, len(o.Allowed), rows*words, words)
	}
	return needWritable("Mask", o.X)
}

// Words returns how many words a row has.
func (o *Mask) Words() int { return (o.X.Shape().Dim(-1) + 63) / 64 }
