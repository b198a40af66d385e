package backend

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/tensor"
)

// CheckConvolve checks x and out [rows, channels], w [width, channels], b [channels] or nil, and stretches of all rows with states
// [width−1, channels].
func CheckConvolve(x, w, b, out *tensor.Tensor, of []Stretch) (rows, channels, width int, err error) {
	const op = "Convolve"
	if err := CheckSame(op, out, x); err != nil {
		return 0, 0, 0, err
	}
	if err := needF32(op, w); err != nil {
		return 0, 0, 0, err
	}
	rows, channels, width = x.Shape().Rows(), x.Shape().Dim(-1), w.Shape().Dim(0)
	if w.Shape().NDim() != 2 || w.Shape().Dim(1) != channels || width < 2 {
		return 0, 0, 0, fmt.Errorf("backend: %s of %v with weights %v: the weights must be [width channels], width 2 or more", op, x, w)
	}
	if b != nil {
		if err := needF32(op, b); err != nil {
			return 0, 0, 0, err
		}
		if b.Shape().NumElements() != channels {
			return 0, 0, 0, fmt.Errorf("backend: %s of %v with biases %v: there must be one for each channel", op, x, b)
		}
	}
	return rows, channels, width, checkStretches(op, rows, of, width-1, channels)
}

// RecurDims are the dimensions of Recur's operands.
type RecurDims struct{ Rows, KeyHeads, Heads, KeyDim, ValueDim int }

// Blocks returns how many blocks of columns a head's state has.
func (d RecurDims) Blocks() int { return (d.ValueDim + StateColumns - 1) / StateColumns }

// CheckRecur checks q and k [rows, keyHeads, dk], v and out [rows, heads, dv], g and beta [rows, heads], and stretches of all rows with
// states of StateShape.
func CheckRecur(q, k, v, g, beta, out *tensor.Tensor, of []Stretch) (d RecurDims, err error) {
	const op = "Recur"
	if err := CheckSame(op, out, v); err != nil {
		return d, err
	}
	if err := needF32(op, q, k, g, beta); err != nil {
		return d, err
	}
	ks, vs, gs := k.Shape(), v.Shape(), g.Shape()
	if ks.NDim() != 3 || vs.NDim() != 3 || q.Shape() != ks || ks.Dim(0) != vs.Dim(0) || ks.Dim(1) < 1 || ks.Dim(2) < 1 || vs.Dim(1)%ks.Dim(1) != 0 {
		return d, fmt.Errorf("backend: %s of q %v, k %v, v %v: shapes must be [rows keyHeads dk] and [rows heads dv], heads a multiple of keyHeads", op, q, k, v)
	}
	d = RecurDims{Rows: vs.Dim(0), KeyHeads: ks.Dim(1), Heads: vs.Dim(1), KeyDim: ks.Dim(2), ValueDim: vs.Dim(2)}
	if beta.Shape() != gs || gs.Rows() != d.Rows || gs.Dim(-1) != d.Heads {
		return d, fmt.Errorf("backend: %s of v %v with g %v, beta %v: both must be [rows heads]", op, v, g, beta)
	}
	if d.Heads < 1 || d.ValueDim < 1 {
		return d, fmt.Errorf("backend: %s of v %v: there must be heads, and they must have elements", op, v)
	}
	return d, checkStretches(op, d.Rows, of, d.Heads, d.Blocks(), d.KeyDim, StateColumns)
}

// checkStretches checks that stretches have all rows, one or more each, and states [dims] of type F32 that can be written.
func checkStretches(op string, rows int, of []Stretch, dims ...int) error {
	left := rows
	for i := range of {
		s := &of[i]
		switch {
		case s.Rows < 1 || s.Rows > left:
			return fmt.Errorf("backend: %s of stretch %d of %d rows, with %d rows left: a stretch has rows, and the stretches as many as there are", op, i, s.Rows, left)
		case s.State == nil:
			return fmt.Errorf("backend: %s of stretch %d without a state", op, i)
		case s.State.DType() != tensor.F32 || !hasDims(s.State.Shape(), dims):
			return fmt.Errorf("backend: %s of stretch %d with state %v: it must be f32 %v", op, i, s.State, slices.Clone(dims))
		}
		if err := needWritable(op, s.State); err != nil {
			return err
		}
		left -= s.Rows
	}
	if left != 0 {
		return fmt.Errorf("backend: %s of %d rows: %d of them are no stretch's", op, rows, left)
	}
	return nil
}

// hasDims reports whether a shape has these dimensions.
func hasDims(s tensor.Shape, dims []int) bool {
	if s.NDim() != len(dims) {
		return false
	}
	for i, n := range dims {
		if s.Dim(i) != n {
			return false
		}
	}
	return true
}
