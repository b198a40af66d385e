package rare

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

// A matrix of BitNet's, [rows, cols], is rewritten as a whole: its rows are spread over all bytes, or its scale is a mean of all elements. It becomes
// blocks of −1, 0 and 1 with a scale of 1, since half precision does not have every scale; products are multiplied by the matrix's own.

// ternary is a matrix that is rewritten so.
type ternary struct {
	rows  int
	of    quant.Format // of floats; 0: digits
	scale float32      // of floats, once they are rewritten
}

// Digits returns the type of a matrix of rows by cols that a folder has in bytes [rows/4, cols], two bits for each element: see storage.Layout. nil: its rows
// are no whole blocks of the target.
func Digits(rows, cols int) *Type {
	return newTernary(&ternary{rows: rows}, "ternary digits", cols, 4, 1, rows%4 == 0)
}

// Ternary returns the type of a matrix of floats that are rounded to −1, 0 and 1 times the mean of their magnitudes: Scale returns that mean once Rewrite has
// been called. nil: its rows are no whole blocks of the target, or d has no floats.
func Ternary(d tensor.DType, rows, cols int) *Type {
	f := d.Format()
	return newTernary(&ternary{rows: rows, of: f}, "ternary "+f.String(), cols, 1, f.BlockBytes(), f.Valid() && !d.Quantized())
}

func newTernary(t *ternary, name string, cols, blockLen, blockBytes int, valid bool) *Type {
	target, pack := tensor.Q2_K, packQ2K
	if cols%target.BlockLen() != 0 {
		target, pack = tensor.Q4_0, packQ4_0
	}
	if !valid || t.rows == 0 || cols == 0 || cols%target.BlockLen() != 0 {
		return nil
	}
	return &Type{name: name, target: target, pack: pack, blockLen: blockLen, blockBytes: blockBytes, rows: t.rows, chunk: blockBytes, ternary: t}
}

// Scale returns what the numbers of a matrix of floats that Rewrite has rewritten are to be multiplied by; 0: nothing, or Rewrite was not called.
func (t *Type) Scale() float32 {
	if t.ternary == nil {
		return 0
	}
	return t.ternary.scale
}

// Whole reports whether a matrix of the type keeps its target whatever type is asked for, since that has its numbers exactly.
func (t *Type) Whole() bool { return t.ternary != nil }

// rewrite is Rewrite for a matrix.
func (m *ternary) rewrite(t *Type, dst, src []byte, cols int) error {
	values := make([]float32, cols)
	inverse, quarter := float32(0), m.rows/4
	if m.of != 0 {
		sum := 0.0
		for row := range m.rows {
			if err := m.of.Dequantize(values, src[m.of.Bytes(row*cols):m.of.Bytes((row+1)*cols)]); err != nil {
				return err
			}
			for _, v := range values {
				sum += math.Abs(float64(v))
			}
		}
		mean := sum / float64(m.rows) / float64(cols)
		if math.IsNaN(mean) || math.IsInf(mean, 0) {
			return fmt.Errorf("the mean of its magnitudes is %g", mean)
		}
		inverse = 1 / max(float32(mean), 1e-5)
		m.scale = 1 / inverse
	}
	n := t.target.BlockLen()
	to := t.target.BlockBytes()
	u := block{d: 1}
	for row := range m.rows {
		if m.of != 0 {
			if err := m.of.Dequantize(values, src[m.of.Bytes(row*cols):m.of.Bytes((row+1)*cols)]); err != nil {
				return err
			}
		}
		for at := 0; at < cols; at += n {
			for i := range n {
				if m.of == 0 {
					u.q[i] = int8(src[row%quarter*cols+at+i]>>(row/quarter*2)&3) - 1
					continue
				}
				u.q[i] = int8(max(min(math.RoundToEven(float64(float32(values[at+i]*inverse))), 1), -1))
			}
			if err := t.pack(dst[:to], &u); err != nil {
				return err
			}
			dst = dst[to:]
		}
	}
	return nil
}
