//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// RMSNorm normalises the rows of x.
func (b *Backend) RMSNorm(x, w *tensor.Tensor, eps float32) error {
	count, dim, err := backend.CheckRMSNorm(x, w)
	if err != nil {
		return err
	}
	b.mu.Lock()
	to, weight := b.operand(x), b.operand(w)
	if !to.ok || !weight.ok {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.RMSNorm(x, w, eps) })
	}
	defer b.mu.Unlock()
	return b.norm(to, weight, to, count, dim, eps)
}

// norm writes the norm of rows of x to out.
func (b *Backend) norm(x, weight, out operand, count, dim int, eps float32) error {
	k, err := b.kernel(rows, "rms_norm")
	if err != nil {
		return err
	}
	k.Mem(x.mem).Int(x.elements(4)).Mem(weight.mem).Int(weight.elements(4)).Mem(out.mem).Int(out.elements(4)).Int(dim).Float(eps)
	return b.enqueued("RMSNorm", k.Run([3]int{count, 1, 1}, [3]int{groupSize, 1, 1}))
}

// Softmax replaces each row of x by its softmax.
func (b *Backend) Softmax(x *tensor.Tensor) error {
	if err := backend.CheckSame("Softmax", x); err != nil {
		return err
	}
	b.mu.Lock()
	to := b.operand(x)
	if !to.ok {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.Softmax(x) })
	}
	defer b.mu.Unlock()
	if x.Shape().Dim(-1) > longRow {
		return b.longSoftmax(to, x.Shape().Rows(), x.Shape().Dim(-1))
	}
	k, err := b.kernel(rows, "softmax")
	if err != nil {
		return err
	}
	k.Mem(to.mem).Int(to.elements(4)).Int(x.Shape().Dim(-1))
	return b.enqueued("Softmax", k.Run([3]int{x.Shape().Rows(), 1, 1}, [3]int{groupSize, 1, 1}))
}

// longRow is the length from which on a row is shared out among groups, and slice what each of them has of it.
const (
	longRow = 16384
	slice   = 2048
)

// longSoftmax is Softmax of long rows, such as a vocabulary's logits.
func (b *Backend) longSoftmax(x operand, count, dim int) error {
	slices := groups(dim, slice)
	parts, err := b.scratchOf(partScratch, 4*count*(slices+1))
	if err != nil {
		return err
	}
	for _, step := range [...]struct {
		kernel           string
		groups, argument int // of a row: one for each slice, or one that is told how many there are
	}{
		{"softmax_largest", slices, slice}, {"softmax_exponentials", slices, slice}, {"softmax_sum", 1, slices}, {"softmax_divide", slices, slice},
	} {
		k, err := b.kernel(rows, step.kernel)
		if err != nil {
			return err
		}
		k.Mem(x.mem).Int(x.elements(4)).Int(dim).Int(step.argument).Mem(parts)
		if err := b.enqueued("Softmax", k.Run([3]int{step.groups, count, 1}, [3]int{groupSize, 1, 1})); err != nil {
			return err
		}
	}
	return nil
}
