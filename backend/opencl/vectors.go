//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/tensor"
)

// vectors computes the operations on elements and rows of activations.
//
// Each operation checks its operands and enqueues one kernel, or computes on the host if a kernel cannot use the operands now. Only the
// softmax of a long row takes several kernels. For logits [1, 128256], in slices of 2048:
//
//	softmax_largest        63 groups: the largest of each slice
//	softmax_exponentials   63 groups: the exponentials of each slice
//	softmax_sum            1 group: the sum of the row, in a fixed order
//	softmax_divide         63 groups: the quotients of each slice
type vectors struct{ *queue }

// AddAssign computes x += y.
func (v *vectors) AddAssign(x, y *tensor.Tensor) error {
	if err := backend.CheckAddAssign(x, y); err != nil {
		return err
	}
	return v.compute([]*tensor.Tensor{x, y}, func(o operandSet) error {
		k, err := v.kernel(elementwise, "add")
		if err != nil {
			return err
		}
		n := x.Shape().NumElements()
		return v.runFlat("AddAssign", floats(k, o[0], o[1]).Int(n).Int(y.Shape().NumElements()), n)
	}, func() error { return v.host.AddAssign(x, y) })
}

// Scale computes x *= f.
func (v *vectors) Scale(x *tensor.Tensor, f float32) error {
	if err := backend.CheckSame("Scale", x); err != nil {
		return err
	}
	return v.compute([]*tensor.Tensor{x}, func(o operandSet) error {
		k, err := v.kernel(elementwise, "scale")
		if err != nil {
			return err
		}
		n := x.Shape().NumElements()
		return v.runFlat("Scale", floats(k, o[0]).Int(n).Float(f), n)
	}, func() error { return v.host.Scale(x, f) })
}

// SiLUMul computes x = silu(x)·y.
func (v *vectors) SiLUMul(x, y *tensor.Tensor) error {
	if err := backend.CheckGated("SiLUMul", x, y); err != nil {
		return err
	}
	if y == nil {
		return v.alone("SiLUMul", "silu", x, func() error { return v.host.SiLUMul(x, nil) })
	}
	return v.compute([]*tensor.Tensor{x, y}, func(o operandSet) error { return v.siluMul(o[0], o[1], x.Shape().NumElements()) },
		func() error { return v.host.SiLUMul(x, y) })
}

// siluMul computes x = silu(x)·y of n elements.
func (v *vectors) siluMul(x, y operand, n int) error {
	return v.gateMul("SiLUMul", "silu_mul", x, y, n)
}

// GELUMul computes x = gelu(x)·y.
func (v *vectors) GELUMul(x, y *tensor.Tensor) error {
	if err := backend.CheckSame("GELUMul", x, y); err != nil {
		return err
	}
	return v.compute([]*tensor.Tensor{x, y}, func(o operandSet) error {
		return v.gateMul("GELUMul", "gelu_mul", o[0], o[1], x.Shape().NumElements())
	}, func() error { return v.host.GELUMul(x, y) })
}

// Softcap replaces each x by limit·tanh(x/limit).
func (v *vectors) Softcap(x *tensor.Tensor, limit float32) error {
	if err := backend.CheckSoftcap(x, limit); err != nil {
		return err
	}
	return v.compute([]*tensor.Tensor{x}, func(o operandSet) error {
		k, err := v.kernel(elementwise, "softcap")
		if err != nil {
			return err
		}
		n := x.Shape().NumElements()
		return v.runFlat("Softcap", floats(k, o[0]).Int(n).Float(exact.SoftcapFactor(limit)).Float(limit), n)
	}, func() error { return v.host.Softcap(x, limit) })
}

// gateMul computes x = act(x)·y of n elements, by a kernel of a name.
func (v *vectors) gateMul(op, name string, x, y operand, n int) error {
	k, err := v.kernel(elementwise, name)
	if err != nil {
		return err
	}
	return v.runFlat(op, floats(k, x, y).Int(n), n)
}

// alone computes x = act(x), by a kernel of a name.
func (v *vectors) alone(op, name string, x *tensor.Tensor, reference func() error) error {
	return v.compute([]*tensor.Tensor{x}, func(o operandSet) error {
		k, err := v.kernel(elementwise, name)
		if err != nil {
			return err
		}
		n := x.Shape().NumElements()
		return v.runFlat(op, floats(k, o[0]).Int(n), n)
	}, reference)
}

// RoPE rotates the heads of x.
func (v *vectors) RoPE(x, table *tensor.Tensor) error {
	tokens, heads, headDim, err := backend.CheckRoPE(x, table)
	if err != nil {
		return err
	}
	return v.compute([]*tensor.Tensor{x, table}, func(o operandSet) error {
		k, err := v.kernel(elementwise, "rope")
		if err != nil {
			return err
		}
		pairs := tokens * heads * headDim / 2
		return v.runFlat("RoPE", floats(k, o[0], o[1]).Int(heads).Int(headDim/2).Int(pairs), pairs)
	}, func() error { return v.host.RoPE(x, table) })
}

// MatMul computes out = x·y for two activations. Models do without it, so it is simple.
func (v *vectors) MatMul(x, y, out *tensor.Tensor) error {
	m, n, depth, err := backend.CheckMatMul(x, y, out)
	if err != nil {
		return err
	}
	return v.compute([]*tensor.Tensor{x, y, out}, func(o operandSet) error {
		k, err := v.kernel(elementwise, "matmul")
		if err != nil {
			return err
		}
		return v.run("MatMul", floats(k, o[0], o[1], o[2]).Int(n).Int(depth), groupSize, groups(n, groupSize), m, 1)
	}, func() error { return v.host.MatMul(x, y, out) })
}

// RMSNorm normalises the rows of x.
func (v *vectors) RMSNorm(x, w *tensor.Tensor, eps float32) error {
	count, dim, err := backend.CheckRMSNorm(x, w)
	if err != nil {
		return err
	}
	return v.compute([]*tensor.Tensor{x, w}, func(o operandSet) error { return v.norm(o[0], o[1], o[0], count, dim, eps) },
		func() error { return v.host.RMSNorm(x, w, eps) })
}

// norm writes the norm of rows of x to out.
func (v *vectors) norm(x, weight, out operand, count, dim int, eps float32) error {
	k, err := v.kernel(rows, "rms_norm")
	if err != nil {
		return err
	}
	return v.run("RMSNorm", floats(k, x, weight, out).Int(dim).Float(eps), groupSize, count, 1, 1)
}

// Softmax replaces each row of x by its softmax.
func (v *vectors) Softmax(x *tensor.Tensor) error {
	if err := backend.CheckSame("Softmax", x); err != nil {
		return err
	}
	count, dim := x.Shape().Rows(), x.Shape().Dim(-1)
	return v.compute([]*tensor.Tensor{x}, func(o operandSet) error {
		if dim > longRow {
			return v.longSoftmax(o[0], count, dim)
		}
		k, err := v.kernel(rows, "softmax")
		if err != nil {
			return err
		}
		return v.run("Softmax", floats(k, o[0]).Int(dim), groupSize, count, 1, 1)
	}, func() error { return v.host.Softmax(x) })
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
