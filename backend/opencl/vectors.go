//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/tensor"
)

// vectors computes the operations on elements and rows of activations.
//
// Each operation enqueues one kernel, or computes on the host if a kernel cannot use the operands now. Only the
// softmax of a long row takes several kernels. For logits [1, 128256], in slices of 2048:
//
//	softmax_largest        63 groups: the largest of each slice
//	softmax_exponentials   63 groups: the exponentials of each slice
//	softmax_sum            1 group: the sum of the row, in a fixed order
//	softmax_divide         63 groups: the quotients of each slice
type vectors struct{ *queue }

// element computes an operation with a work-item for each element; false: op is another one.
func (v *vectors) element(op backend.Op) (bool, error) {
	switch o := op.(type) {
	case *backend.AddAssign:
		return true, v.flat(op, "add", func(k *cl.Kernel) { k.Int(o.B.Shape().NumElements()) }, o.A, o.B)
	case *backend.MulAssign:
		return true, v.flat(op, "multiply", func(k *cl.Kernel) { k.Int(o.B.Shape().NumElements()) }, o.A, o.B)
	case *backend.Scale:
		return true, v.flat(op, "scale", func(k *cl.Kernel) { k.Float(o.By) }, o.X)
	case *backend.SiLUMul:
		return true, v.gated(op, "silu", o.A, o.B)
	case *backend.SigmoidMul:
		return true, v.gated(op, "sigmoid", o.A, o.B)
	case *backend.GELUMul:
		return true, v.gated(op, "gelu", o.A, o.B)
	case *backend.GELUErf:
		return true, v.gated(op, "gelu_erf", o.A, o.B)
	case *backend.ReLUSquared:
		return true, v.flat(op, "relu_squared", nil, o.A)
	case *backend.XIELU:
		return true, v.flat(op, "xielu", func(k *cl.Kernel) { k.Float(o.Positive).Float(o.Negative).Float(o.Linear).Float(o.Floor) }, o.A)
	case *backend.SwiGLUClamped:
		return true, v.flat(op, "swiglu_clamped", func(k *cl.Kernel) { k.Float(o.Limit) }, o.A, o.B)
	case *backend.Softplus:
		bias, row := o.Bias, o.A.Shape().Dim(-1)
		if bias == nil {
			bias, row = o.A, 0
		}
		return true, v.flat(op, "softplus", func(k *cl.Kernel) { k.Int(row) }, o.A, bias)
	case *backend.Softcap:
		return true, v.flat(op, "softcap", func(k *cl.Kernel) { k.Float(exact.SoftcapFactor(o.Limit)).Float(o.Limit) }, o.X)
	}
	return false, nil
}

// flat enqueues a kernel on the elements of the first tensor. It takes the tensors, how many elements there are, and the numbers that a function
// passes.
func (v *vectors) flat(op backend.Op, name string, numbers func(k *cl.Kernel), ts ...*tensor.Tensor) error {
	return v.compute(op, ts, func(o operandSet) error {
		k, err := v.kernel(elementwise, name)
		if err != nil {
			return err
		}
		n := ts[0].Shape().NumElements()
		floats(k, o[:len(ts)]...).Int(n)
		if numbers != nil {
			numbers(k)
		}
		return v.runFlat(backend.NameOf(op), k, n)
	})
}

// gated computes x = act(x)·y, by a kernel of the activation's name for a y that is nil.
func (v *vectors) gated(op backend.Op, act string, x, y *tensor.Tensor) error {
	if y == nil {
		return v.flat(op, act, nil, x)
	}
	return v.flat(op, act+"_mul", nil, x, y)
}

// siluMul computes x = silu(x)·y of n elements.
func (v *vectors) siluMul(x, y operand, n int) error {
	k, err := v.kernel(elementwise, "silu_mul")
	if err != nil {
		return err
	}
	return v.runFlat("SiLUMul", floats(k, x, y).Int(n), n)
}

// rope rotates the heads of x.
func (v *vectors) rope(op *backend.RoPE) error {
	return v.compute(op, []*tensor.Tensor{op.X, op.Table}, func(o operandSet) error {
		k, err := v.kernel(elementwise, "rope")
		if err != nil {
			return err
		}
		heads, pairs := op.X.Shape().Dim(1), op.X.Shape().NumElements()/2
		return v.runFlat("RoPE", floats(k, o[0], o[1]).Int(heads).Int(op.X.Shape().Dim(2)/2).Int(pairs), pairs)
	})
}

// matMul multiplies two activations. Models do without it, so it is simple.
func (v *vectors) matMul(op *backend.MatMul) error {
	m, n, depth := op.Dims()
	return v.compute(op, []*tensor.Tensor{op.A, op.B, op.Out}, func(o operandSet) error {
		k, err := v.kernel(elementwise, "matmul")
		if err != nil {
			return err
		}
		return v.run("MatMul", floats(k, o[0], o[1], o[2]).Int(n).Int(depth), groupSize, groups(n, groupSize), m, 1)
	})
}

// rmsNorm normalises the rows of x.
func (v *vectors) rmsNorm(op *backend.RMSNorm) error {
	return v.compute(op, []*tensor.Tensor{op.X, op.W, op.To()}, func(o operandSet) error {
		return v.norm(o[0], o[1], o[2], op.X.Shape().Rows(), op.X.Shape().Dim(-1), op.Eps)
	})
}

// norm writes the norm of rows of x to out.
func (v *vectors) norm(x, weight, out operand, count, dim int, eps float32) error {
	k, err := v.kernel(rows, "rms_norm")
	if err != nil {
		return err
	}
	return v.run("RMSNorm", floats(k, x, weight, out).Int(dim).Float(eps), groupSize, count, 1, 1)
}

// softmax replaces each row of x by its softmax.
func (v *vectors) softmax(op *backend.Softmax) error {
	count, dim := op.X.Shape().Rows(), op.X.Shape().Dim(-1)
	return v.compute(op, []*tensor.Tensor{op.X}, func(o operandSet) error {
		if dim > longRow {
			return v.longSoftmax(o[0], count, dim)
		}
		k, err := v.kernel(rows, "softmax")
		if err != nil {
			return err
		}
		return v.run("Softmax", floats(k, o[0]).Int(dim), groupSize, count, 1, 1)
	})
}

// longRow is the length from which on a row is shared out among groups, and slice what each of them has of it.
const (
	longRow = 16384
	slice   = 2048
)

// longSoftmax is Softmax of long rows, such as a vocabulary's logits.
func (v *vectors) longSoftmax(x operand, count, dim int) error {
	slices := groups(dim, slice)
	parts, err := v.scratchOf(partScratch, 4*count*(slices+1))
	if err != nil {
		return err
	}
	for _, step := range [...]struct {
		kernel           string
		groups, argument int // of a row: one for each slice, or one that is given their number
	}{
		{"softmax_largest", slices, slice}, {"softmax_exponentials", slices, slice}, {"softmax_sum", 1, slices}, {"softmax_divide", slices, slice},
	} {
		k, err := v.kernel(rows, step.kernel)
		if err != nil {
			return err
		}
		if err := v.run("Softmax", floats(k, x).Int(dim).Int(step.argument).Mem(parts), groupSize, step.groups, count, 1); err != nil {
			return err
		}
	}
	return nil
}
