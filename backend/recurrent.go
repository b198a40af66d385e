package backend

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/tensor"
)

// StateColumns is how many columns of a state lie together: see StateShape. Columns do not depend on each other, so that cutting a state
// into blocks of columns changes no bit.
const StateColumns = 16

// Stretch is some neighbouring rows of a step that belong to one conversation, oldest first, and what the layer remembers of that
// conversation before them. In the tensors of a step the rows of the stretches lie one after the other.
type Stretch struct {
	// State is what the operation reads before the first of the rows and has written after the last one, on the device: Convolve and
	// Recur say its shape. No two stretches of one call have the same state. Zeros are the state of an empty conversation.
	State *tensor.Tensor
	Rows  int // at least 1
}

// Convolve computes the causal convolution of each channel: out[t] = b + Σ w[j]·x[t−(width−1)+j] for j = 0 … width−1, for X and Out
// [rows, channels], W [width, channels] with width ≥ 2, and B [channels]. A B that is nil adds nothing. The sum begins with b and takes the
// oldest input first, each by FMA. Out may be X. How many rows an operation has, and which conversations besides, changes no bit of the results
// and the states.
//
// A stretch's State is [width−1, channels]: the inputs before the stretch's first row, the oldest first. Afterwards these are the
// inputs before the row that follows.
type Convolve struct {
	X, W, B, Out *tensor.Tensor
	Of           []Stretch
}

// Dims returns the dimensions.
func (o *Convolve) Dims() (rows, channels, width int) {
	return o.X.Shape().Rows(), o.X.Shape().Dim(-1), o.W.Shape().Dim(0)
}

// Check checks the operands, and that the stretches have all rows.
func (o *Convolve) Check() error {
	const op = "Convolve"
	if err := checkSame(op, o.Out, o.X); err != nil {
		return err
	}
	if err := needF32(op, o.W); err != nil {
		return err
	}
	rows, channels, width := o.Dims()
	if o.W.Shape().NDim() != 2 || o.W.Shape().Dim(1) != channels || width < 2 {
		return fmt.Errorf("backend: %s of %v with weights %v: the weights must be [width channels], width 2 or more", op, o.X, o.W)
	}
	if o.B != nil {
		if err := needF32(op, o.B); err != nil {
			return err
		}
		if o.B.Shape().NumElements() != channels {
			return fmt.Errorf("backend: %s of %v with biases %v: there must be one for each channel", op, o.X, o.B)
		}
	}
	return checkStretches(op, rows, o.Of, width-1, channels)
}

// Recur passes the rows of each stretch through a state of its own, a matrix S [dk, dv] for each head:
//
//	S ← e^g·S;  u = β·(v − Sᵀk), or β·v without Delta;  S ← S + k·uᵀ;  out = Sᵀq
//
// With Delta this is the gated delta rule (arXiv 2412.06464), without it the state space of Mamba 2 (arXiv 2405.21060), with k for its
// B, q for C, v for x, beta for dt, and g for −rate·dt. The tensors are Q and K [rows, keyHeads, dk], V and Out [rows, heads, dv], G
// and Beta [rows, heads]; heads is a multiple of keyHeads, and head h has the q and k of key head h/(heads/keyHeads). Out may be V. As for
// Convolve, other rows change no bit.
//
// Each column j of S is computed by itself, as follows; sums are four, of the terms with i mod 4 = 0, 1, 2 and 3, each in the order of i
// by FMA from 0, which are then added as (0+2) + (1+3):
//
//	m = Σᵢ S[i][j]·k[i];  u = β·fma(−eᵍ, m, v[j]), or β·v[j];  S[i][j] = fma(k[i], u, eᵍ·S[i][j]);  out[j] = Σᵢ S[i][j]·q[i]
//
// A stretch's State has the shape that StateShape returns: element S[i][j] of head h is [h, j/16, i, j%16]. Columns from dv on are
// undefined, and must be finite.
type Recur struct {
	Q, K, V, G, Beta, Out *tensor.Tensor
	Delta                 bool
	Of                    []Stretch
}

// RecurDims are the dimensions of Recur's operands.
type RecurDims struct{ Rows, KeyHeads, Heads, KeyDim, ValueDim int }

// Blocks returns how many blocks of columns a head's state has.
func (d RecurDims) Blocks() int { return (d.ValueDim + StateColumns - 1) / StateColumns }

// Dims returns the dimensions.
func (o *Recur) Dims() RecurDims {
	ks, vs := o.K.Shape(), o.V.Shape()
	return RecurDims{Rows: vs.Dim(0), KeyHeads: ks.Dim(1), Heads: vs.Dim(1), KeyDim: ks.Dim(2), ValueDim: vs.Dim(2)}
}

// Check checks the operands, and that the stretches have all rows.
func (o *Recur) Check() error {
	const op = "Recur"
	if err := checkSame(op, o.Out, o.V); err != nil {
		return err
	}
	if err := needF32(op, o.Q, o.K, o.G, o.Beta); err != nil {
		return err
	}
	ks, vs, gs := o.K.Shape(), o.V.Shape(), o.G.Shape()
	if ks.NDim() != 3 || vs.NDim() != 3 || o.Q.Shape() != ks || ks.Dim(0) != vs.Dim(0) || ks.Dim(1) < 1 || ks.Dim(2) < 1 || vs.Dim(1)%ks.Dim(1) != 0 {
		return fmt.Errorf("backend: %s of q %v, k %v, v %v: shapes must be [rows keyHeads dk] and [rows heads dv], heads a multiple of keyHeads", op, o.Q, o.K, o.V)
	}
	d := o.Dims()
	if o.Beta.Shape() != gs || gs.Rows() != d.Rows || gs.Dim(-1) != d.Heads {
		return fmt.Errorf("backend: %s of v %v with g %v, beta %v: both must be [rows heads]", op, o.V, o.G, o.Beta)
	}
	if d.Heads < 1 || d.ValueDim < 1 {
		return fmt.Errorf("backend: %s of v %v: there must be heads, and they must have elements", op, o.V)
	}
	return checkStretches(op, d.Rows, o.Of, d.Heads, d.Blocks(), d.KeyDim, StateColumns)
}

// StateShape returns the shape of Recur's State: [heads, ⌈dv/16⌉, dk, 16]. A head's columns lie in blocks of 16, so that one of them
// stays in a processor's nearest memory while the rows of a stretch pass through it.
func StateShape(heads, dk, dv int) tensor.Shape {
	return tensor.ShapeOf(heads, (dv+StateColumns-1)/StateColumns, dk, StateColumns)
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
