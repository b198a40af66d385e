package backend

import (
	"fmt"

	"github.com/antigravity-go/antigravity/tensor"
)

// Gather copies row Indices[i] of Table [rows, dim], of any weight type, to row i of Out [len(Indices), dim] as F32.
type Gather struct {
	Table   *tensor.Tensor
	Indices []int32
	Out     *tensor.Tensor
}

// Check checks the operands, and that the indices are within the table.
func (o *Gather) Check() error {
	if err := needF32("Gather", o.Out); err != nil {
		return err
	}
	table, out, n := o.Table, o.Out, len(o.Indices)
	rows, dim := table.Shape().Dim(0), table.Shape().Dim(-1)
	if table.Shape().NDim() != 2 || !table.DType().Format().Valid() || out.Shape().Rows() != n || out.Shape().Dim(-1) != dim {
		return fmt.Errorf("backend: Gather of %d rows of %v to %v: shapes must be [rows dim] and [%d dim]", n, table, out, n)
	}
	for _, index := range o.Indices {
		if index < 0 || int(index) >= rows {
			return fmt.Errorf("backend: Gather of row %d of %v", index, table)
		}
	}
	return needWritable("Gather", out)
}

// CopySlice copies N elements from Src, beginning with element From, to Dst at To; both have one type, and offsets and N are whole blocks.
// Regions of one buffer may overlap, as memmove's may.
type CopySlice struct {
	Src, Dst    *tensor.Tensor
	From, To, N int
}

// Copy returns the operation that copies all elements of src to the beginning of dst.
func Copy(src, dst *tensor.Tensor) *CopySlice {
	return &CopySlice{Src: src, Dst: dst, N: src.Shape().NumElements()}
}

// Check checks the operands.
func (o *CopySlice) Check() error {
	src, dst := o.Src, o.Dst
	if src.DType() != dst.DType() {
		return fmt.Errorf("backend: CopySlice from %v to %v: the element types must be equal", src, dst)
	}
	if o.From < 0 || o.To < 0 || o.N < 0 || o.N > src.Shape().NumElements()-o.From || o.N > dst.Shape().NumElements()-o.To {
		return fmt.Errorf("backend: CopySlice of %d elements from %v at %d to %v at %d: out of range", o.N, src, o.From, dst, o.To)
	}
	for _, elements := range [3]int{o.From, o.To, o.N} {
		if _, err := src.DType().Bytes(elements); err != nil {
			return fmt.Errorf("backend: CopySlice from %v to %v: %w", src, dst, err)
		}
	}
	return needWritable("CopySlice", dst)
}

// Bytes returns From, To and N in bytes.
func (o *CopySlice) Bytes() (from, to, n int) {
	bytes := func(elements int) int {
		n, _ := o.Src.DType().Bytes(elements) // Check has found them to be whole blocks
		return n
	}
	return bytes(o.From), bytes(o.To), bytes(o.N)
}

// Cast converts Src to Dst's type, element by element, quantising if that is a quantised type.
type Cast struct{ Src, Dst *tensor.Tensor }

// Check checks that Dst has Src's number of elements, in rows of the same length, and that both types have formats.
func (o *Cast) Check() error {
	if o.Src.Shape().NumElements() != o.Dst.Shape().NumElements() || o.Src.Shape().Dim(-1) != o.Dst.Shape().Dim(-1) {
		return fmt.Errorf("backend: Cast of %v to %v: the rows must be as many and as long", o.Src, o.Dst)
	}
	if f, g := o.Src.DType().Format(), o.Dst.DType().Format(); !f.Valid() || !g.Valid() {
		return fmt.Errorf("backend: Cast of %v to %v: no such conversion", o.Src, o.Dst)
	}
	return needWritable("Cast", o.Dst)
}

// CheckReadBuffer checks the operands of Backend.ReadBuffer: dst must have t's size.
func CheckReadBuffer(t *tensor.Tensor, dst []byte) error {
	if len(dst) != t.Size() {
		return fmt.Errorf("backend: ReadBuffer of %v (%d bytes) to %d bytes", t, t.Size(), len(dst))
	}
	return nil
}
