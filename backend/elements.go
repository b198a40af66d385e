package backend

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/tensor"
)

// The operations on elements and rows. Most change their first operand in place. If an operation takes two tensors of one shape, the second
// of some may be one row, or nil, as its comment says.

// AddAssign computes A += B, element by element; B has A's shape, or is one row that is added to each row of A.
type AddAssign struct{ A, B *tensor.Tensor }

// Check checks the operands.
func (o *AddAssign) Check() error { return checkRows("AddAssign", o.A, o.B) }

// MulAssign computes A *= B, element by element; B has A's shape, or is one row by which each row of A is multiplied.
type MulAssign struct{ A, B *tensor.Tensor }

// Check checks the operands.
func (o *MulAssign) Check() error { return checkRows("MulAssign", o.A, o.B) }

// Scale computes X *= By.
type Scale struct {
	X  *tensor.Tensor
	By float32
}

// Check checks the operand.
func (o *Scale) Check() error { return checkSame("Scale", o.X) }

// SiLUMul computes A = silu(A)·B, silu(x) = x/(1+e⁻ˣ). A B that is nil counts as ones.
type SiLUMul struct{ A, B *tensor.Tensor }

// Check checks the operands.
func (o *SiLUMul) Check() error { return checkGated("SiLUMul", o.A, o.B) }

// SigmoidMul computes A = σ(A)·B, σ(x) = 1/(1+e⁻ˣ). A B that is nil counts as ones.
type SigmoidMul struct{ A, B *tensor.Tensor }

// Check checks the operands.
func (o *SigmoidMul) Check() error { return checkGated("SigmoidMul", o.A, o.B) }

// GELUMul computes A = gelu(A)·B, in the form with a hyperbolic tangent: gelu(x) = x/(1+e^(−2u)), u = √(2/π)·(x+0.044715x³). A B that is nil counts
// as ones.
type GELUMul struct{ A, B *tensor.Tensor }

// Check checks the operands.
func (o *GELUMul) Check() error { return checkGated("GELUMul", o.A, o.B) }

// GELUErf computes A = gelu(A)·B, in the form with the error function: gelu(x) = x/2·(1+erf(x/√2)). A B that is nil counts as ones.
type GELUErf struct{ A, B *tensor.Tensor }

// Check checks the operands.
func (o *GELUErf) Check() error { return checkGated("GELUErf", o.A, o.B) }

// ReLUSquared computes A = max(A, 0)²; NaN stays NaN.
type ReLUSquared struct{ A *tensor.Tensor }

// Check checks the operand.
func (o *ReLUSquared) Check() error { return checkSame("ReLUSquared", o.A) }

// XIELU replaces each x of A by Positive·x² + Linear·x if x is above 0, and else by Negative·(e^min(x, Floor) − 1 − x) + Linear·x, as Apertus has it.
type XIELU struct {
	A                                 *tensor.Tensor
	Positive, Negative, Linear, Floor float32
}

// Check checks the operand.
func (o *XIELU) Check() error { return checkSame("XIELU", o.A) }

// AddScaled computes X += (Plus + w)·Y for each row, w being the row's number At of Weights [rows, n], in float32, each step rounded once.
type AddScaled struct {
	X, Y, Weights *tensor.Tensor
	At            int
	Plus          float32
}

// Check checks the operands.
func (o *AddScaled) Check() error {
	const op = "AddScaled"
	if err := needF32(op, o.X, o.Y, o.Weights); err != nil {
		return err
	}
	if o.X.Shape() != o.Y.Shape() || o.Weights.Shape().Rows() != o.X.Shape().Rows() || o.At < 0 || o.At >= o.Weights.Shape().Dim(-1) {
		return fmt.Errorf("backend: %s of %v and %v by number %d of %v: each row needs its number", op, o.X, o.Y, o.At, o.Weights)
	}
	return needWritable(op, o.X)
}

// MatchMagnitude multiplies each row of X by √(m/max(n, Least)), m being the mean of the squares of that row of Like, and n that of X. Sums are in float64, in
// order.
type MatchMagnitude struct {
	X, Like *tensor.Tensor
	Least   float32
}

// Check checks the operands.
func (o *MatchMagnitude) Check() error {
	if err := needLimit("MatchMagnitude", o.X, o.Least); err != nil {
		return err
	}
	return checkSame("MatchMagnitude", o.X, o.Like)
}

// CutOff replaces each x of A by max(x − (m + Deviations·s), 0), m being the mean of the row, and s the standard deviation, the root of the mean of squared
// differences. Sums are in float64, in order.
type CutOff struct {
	A          *tensor.Tensor
	Deviations float32
}

// Check checks the operand.
func (o *CutOff) Check() error { return checkSame("CutOff", o.A) }

// SwiGLUClamped computes A = (u+1)·g/(1+e^(−1.702·g)) with g = min(A, Limit) and u = min(max(B, −Limit), Limit), as gpt-oss has it; Limit is
// above 0.
type SwiGLUClamped struct {
	A, B  *tensor.Tensor
	Limit float32
}

// Check checks the operands.
func (o *SwiGLUClamped) Check() error {
	if err := needLimit("SwiGLUClamped", o.A, o.Limit); err != nil {
		return err
	}
	return checkSame("SwiGLUClamped", o.A, o.B)
}

// Softplus computes A = ln(1+e^(A+Bias)); Bias is one row that is added to each row of A, or nil, which adds nothing.
type Softplus struct{ A, Bias *tensor.Tensor }

// Check checks the operands.
func (o *Softplus) Check() error {
	const op = "Softplus"
	if o.Bias == nil {
		return checkSame(op, o.A)
	}
	if err := needF32(op, o.A, o.Bias); err != nil {
		return err
	}
	if o.Bias.Shape().NumElements() != o.A.Shape().Dim(-1) {
		return fmt.Errorf("backend: %s of %v with biases %v: the biases must be as long as a row", op, o.A, o.Bias)
	}
	return needWritable(op, o.A)
}

// Clamp computes Out = min(max(X, Min), Max), element by element. Out has X's shape and may be X; Min is not above Max.
type Clamp struct {
	X, Out   *tensor.Tensor
	Min, Max float32
}

// Check checks the operands.
func (o *Clamp) Check() error {
	if !(o.Min <= o.Max) {
		return fmt.Errorf("backend: Clamp of %v to between %g and %g", o.X, o.Min, o.Max)
	}
	return checkSame("Clamp", o.Out, o.X)
}

// Softcap replaces each x of X by Limit·tanh(x/Limit), which lies between −Limit and Limit; Limit is above 0.
type Softcap struct {
	X     *tensor.Tensor
	Limit float32
}

// Check checks the operand.
func (o *Softcap) Check() error {
	if err := needLimit("Softcap", o.X, o.Limit); err != nil {
		return err
	}
	return checkSame("Softcap", o.X)
}

// Softmax replaces each row of X by its softmax.
type Softmax struct{ X *tensor.Tensor }

// Check checks the operand.
func (o *Softmax) Check() error { return checkSame("Softmax", o.X) }

// RoPE rotates each head of X [tokens, heads, headDim] by the angles of its token. A row of Table [tokens, headDim] has their cosines, then
// their sines (arXiv 2104.09864; element i pairs with i+headDim/2).
type RoPE struct{ X, Table *tensor.Tensor }

// Check checks the operands.
func (o *RoPE) Check() error {
	if err := needF32("RoPE", o.X, o.Table); err != nil {
		return err
	}
	xs, ts := o.X.Shape(), o.Table.Shape()
	if xs.NDim() != 3 || xs.Dim(2)%2 != 0 || ts.NDim() != 2 || ts.Dim(0) != xs.Dim(0) || ts.Dim(1) != xs.Dim(2) {
		return fmt.Errorf("backend: RoPE of %v with table %v: shapes must be [tokens heads headDim] and [tokens headDim], headDim even", o.X, o.Table)
	}
	return needWritable("RoPE", o.X)
}

// RMSNorm computes Out = X/√(mean(X²)+Eps)·W of each row of X [.., dim], W [dim] (arXiv 1910.07467). Out has X's shape; an Out that is nil is
// X.
type RMSNorm struct {
	X, W *tensor.Tensor
	Eps  float32
	Out  *tensor.Tensor
}

// To returns the tensor that gets the result.
func (o *RMSNorm) To() *tensor.Tensor { return orInPlace(o.Out, o.X) }

// Check checks the operands.
func (o *RMSNorm) Check() error { return checkNorm("RMSNorm", o.X, o.W, nil, o.To()) }

// LayerNorm computes Out = (X−mean(X))/√(mean((X−mean(X))²)+Eps)·W + B of each row of X [.., dim], W and B [dim] (arXiv 1607.06450). A B that is
// nil adds nothing. Out has X's shape; an Out that is nil is X.
type LayerNorm struct {
	X, W, B *tensor.Tensor
	Eps     float32
	Out     *tensor.Tensor
}

// To returns the tensor that gets the result.
func (o *LayerNorm) To() *tensor.Tensor { return orInPlace(o.Out, o.X) }

// Check checks the operands.
func (o *LayerNorm) Check() error { return checkNorm("LayerNorm", o.X, o.W, o.B, o.To()) }

// orInPlace returns out, or x if there is no out.
func orInPlace(out, x *tensor.Tensor) *tensor.Tensor {
	if out == nil {
		return x
	}
	return out
}

// checkNorm checks a norm of the rows of x [.., dim] to out, with weights w [dim] and b [dim], which may be nil.
func checkNorm(op string, x, w, b, out *tensor.Tensor) error {
	if err := checkSame(op, out, x); err != nil {
		return err
	}
	if w == nil {
		return fmt.Errorf("backend: %s of %v without weights", op, x)
	}
	for _, t := range [2]*tensor.Tensor{w, b} {
		if t == nil {
			continue
		}
		if err := needF32(op, t); err != nil {
			return err
		}
		if t.Shape().NumElements() != x.Shape().Dim(-1) {
			return fmt.Errorf("backend: %s of %v with %v: weights and biases must be as long as a row", op, x, t)
		}
	}
	return nil
}

// needF32 returns an error unless all tensors are F32.
func needF32(op string, ts ...*tensor.Tensor) error {
	for _, t := range ts {
		if t.DType() != tensor.F32 {
			return fmt.Errorf("backend: %s of %v: the element type must be f32", op, t)
		}
	}
	return nil
}

// needWritable returns an error when an output is read-only.
func needWritable(op string, out *tensor.Tensor) error {
	if out.Buffer().ReadOnly() {
		return fmt.Errorf("backend: %s to %v: %w", op, out, tensor.ErrReadOnly)
	}
	return nil
}

// needLimit returns an error unless a limit is above 0 and finite.
func needLimit(op string, x *tensor.Tensor, limit float32) error {
	if !(limit > 0) || math.IsInf(float64(limit), 1) {
		return fmt.Errorf("backend: %s of %v to %v: the limit must be positive", op, x, limit)
	}
	return nil
}

// checkSame checks F32 tensors of one shape. The operation writes the first.
func checkSame(op string, ts ...*tensor.Tensor) error {
	if err := needF32(op, ts...); err != nil {
		return err
	}
	for _, t := range ts[1:] {
		if t.Shape() != ts[0].Shape() {
			return fmt.Errorf("backend: %s of %v and %v: the shapes must be equal", op, ts[0], t)
		}
	}
	return needWritable(op, ts[0])
}

// checkRows checks an operation that changes a by b, which has a's shape or is one row for each row of a.
func checkRows(op string, a, b *tensor.Tensor) error {
	if b.Shape().Rows() == 1 && b.Shape().Dim(-1) == a.Shape().Dim(-1) {
		if err := needF32(op, a, b); err != nil {
			return err
		}
		return needWritable(op, a)
	}
	return checkSame(op, a, b)
}

// checkGated checks a = act(a)·b for a b of a's shape or nil.
func checkGated(op string, a, b *tensor.Tensor) error {
	if b == nil {
		return checkSame(op, a)
	}
	return checkSame(op, a, b)
}
