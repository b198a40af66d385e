package backend

import (
	"fmt"

	"github.com/antigravity-go/antigravity/tensor"
)

// MatMul computes Out = A·B for A [M, K], B [K, N] of type F32 and Out [M, N].
type MatMul struct{ A, B, Out *tensor.Tensor }

// Check checks the operands.
func (o *MatMul) Check() error {
	if err := needF32("MatMul", o.A, o.B, o.Out); err != nil {
		return err
	}
	m, n, k := o.Dims()
	if o.B.Shape().NDim() != 2 || o.B.Shape().Dim(0) != k || o.Out.Shape().Rows() != m || o.Out.Shape().Dim(-1) != n {
		return fmt.Errorf("backend: MatMul of a %v, b %v to %v: shapes must be [M K], [K N] and [M N]", o.A, o.B, o.Out)
	}
	return needWritable("MatMul", o.Out)
}

// Dims returns the dimensions.
func (o *MatMul) Dims() (m, n, k int) {
	return o.A.Shape().Rows(), o.B.Shape().Dim(-1), o.A.Shape().Dim(-1)
}

// MatMulTransposed computes Out = X·Wᵀ for X [M, K], weights W [N, K] of any type, prepared or not, and Out [M, N].
type MatMulTransposed struct{ X, W, Out *tensor.Tensor }

// Check checks the operands.
func (o *MatMulTransposed) Check() error { return checkProduct(o.X, o.W, o.Out) }

// Dims returns the dimensions.
func (o *MatMulTransposed) Dims() (m, n, k int) {
	return o.X.Shape().Rows(), o.W.Shape().Dim(0), o.X.Shape().Dim(-1)
}

// MatMulRounded computes Outs[i] = r·Ws[i]ᵀ for X [M, K], weights Ws[i] [N, K] of any types, prepared or not, and Outs[i] [M, N]. r is X with each row
// rounded to integers of eight bits by one scale: see quant.Activation.PrepareWhole. MatMulTransposed rounds by blocks, and as the type of the
// weights wants it. So BitNet's products are.
type MatMulRounded struct {
	X        *tensor.Tensor
	Ws, Outs []*tensor.Tensor
}

// Check checks the operands.
func (o *MatMulRounded) Check() error {
	if len(o.Ws) != len(o.Outs) {
		return fmt.Errorf("backend: MatMulRounded of %d weights to %d outputs", len(o.Ws), len(o.Outs))
	}
	for i, w := range o.Ws {
		if err := checkProduct(o.X, w, o.Outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkProduct checks out [M, N] = x [M, K] · (w [N, K])ᵀ, with x and out F32 and K whole blocks of w.
func checkProduct(x, w, out *tensor.Tensor) error {
	if err := needF32("MatMulTransposed", x, out); err != nil {
		return err
	}
	m, n, k := x.Shape().Rows(), w.Shape().Dim(0), w.Shape().Dim(-1)
	switch {
	case w.Shape().NDim() != 2 || x.Shape().Dim(-1) != k || out.Shape().Rows() != m || out.Shape().Dim(-1) != n:
		return fmt.Errorf("backend: MatMulTransposed of a %v, w %v to %v: shapes must be [M K], [N K] and [M N]", x, w, out)
	case !w.DType().Format().Valid() || k%w.DType().BlockLen() != 0:
		return fmt.Errorf("backend: MatMulTransposed of a %v, w %v: %d columns of type %v cannot be multiplied", x, w, k, w.DType())
	}
	return needWritable("MatMulTransposed", out)
}
