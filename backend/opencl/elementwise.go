//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/tensor"
)

// onHost computes an operation whose operands no kernel takes with the portable reference. One at a time: it maps buffers,
// and another must not unmap them. The caller does not hold the lock.
func (b *Backend) onHost(operation func() error) (err error) {
	b.portable.Lock()
	defer b.portable.Unlock()
	if err := b.lockOpen("an operation on the host"); err != nil {
		return err
	}
	b.mu.Unlock()
	defer mmap.Catch(&err)() // operands may be a mapped file that was cut short
	return operation()
}

// groups returns how many groups of a size n work-items are.
func groups(n, size int) int { return (n + size - 1) / size }

// runFlat enqueues a kernel on n work-items.
func (b *Backend) runFlat(what string, k *cl.Kernel, n int) error {
	return b.enqueued(what, k.Run([3]int{groups(n, groupSize), 1, 1}, [3]int{groupSize, 1, 1}))
}

// AddAssign computes x += y.
func (b *Backend) AddAssign(x, y *tensor.Tensor) error {
	if err := backend.CheckAddAssign(x, y); err != nil {
		return err
	}
	b.mu.Lock()
	to, from := b.operand(x), b.operand(y)
	if !to.ok || !from.ok {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.AddAssign(x, y) })
	}
	defer b.mu.Unlock()
	k, err := b.kernel(elementwise, "add")
	if err != nil {
		return err
	}
	n := x.Shape().NumElements()
	k.Mem(to.mem).Int(to.elements(4)).Mem(from.mem).Int(from.elements(4)).Int(n).Int(y.Shape().NumElements())
	return b.runFlat("AddAssign", k, n)
}

// Scale computes x *= v.
func (b *Backend) Scale(x *tensor.Tensor, v float32) error {
	if err := backend.CheckSame("Scale", x); err != nil {
		return err
	}
	b.mu.Lock()
	to := b.operand(x)
	if !to.ok {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.Scale(x, v) })
	}
	defer b.mu.Unlock()
	k, err := b.kernel(elementwise, "scale")
	if err != nil {
		return err
	}
	n := x.Shape().NumElements()
	return b.runFlat("Scale", k.Mem(to.mem).Int(to.elements(4)).Int(n).Float(v), n)
}

// SiLUMul computes x = silu(x)·y.
func (b *Backend) SiLUMul(x, y *tensor.Tensor) error {
	if err := backend.CheckSame("SiLUMul", x, y); err != nil {
		return err
	}
	b.mu.Lock()
	to, from := b.operand(x), b.operand(y)
	if !to.ok || !from.ok {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.SiLUMul(x, y) })
	}
	defer b.mu.Unlock()
	return b.siluMul(to, from, x.Shape().NumElements())
}

// siluMul computes x = silu(x)·y of n elements.
func (b *Backend) siluMul(x, y operand, n int) error {
	return b.gateMul("SiLUMul", "silu_mul", x, y, n)
}

// GELUMul computes x = gelu(x)·y.
func (b *Backend) GELUMul(x, y *tensor.Tensor) error {
	if err := backend.CheckSame("GELUMul", x, y); err != nil {
		return err
	}
	b.mu.Lock()
	to, from := b.operand(x), b.operand(y)
	if !to.ok || !from.ok {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.GELUMul(x, y) })
	}
	defer b.mu.Unlock()
	return b.gateMul("GELUMul", "gelu_mul", to, from, x.Shape().NumElements())
}

// gateMul computes x = act(x)·y of n elements, by a kernel of a name.
func (b *Backend) gateMul(op, name string, x, y operand, n int) error {
	k, err := b.kernel(elementwise, name)
	if err != nil {
		return err
	}
	k.Mem(x.mem).Int(x.elements(4)).Mem(y.mem).Int(y.elements(4)).Int(n)
	return b.runFlat(op, k, n)
}

// RoPE rotates the heads of x.
func (b *Backend) RoPE(x, table *tensor.Tensor) error {
	tokens, heads, headDim, err := backend.CheckRoPE(x, table)
	if err != nil {
		return err
	}
	b.mu.Lock()
	to, from := b.operand(x), b.operand(table)
	if !to.ok || !from.ok {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.RoPE(x, table) })
	}
	defer b.mu.Unlock()
	k, err := b.kernel(elementwise, "rope")
	if err != nil {
		return err
	}
	pairs := tokens * heads * headDim / 2
	k.Mem(to.mem).Int(to.elements(4)).Mem(from.mem).Int(from.elements(4)).Int(heads).Int(headDim / 2).Int(pairs)
	return b.runFlat("RoPE", k, pairs)
}

// MatMul computes out = x·y for two activations. Models do without it, so it is simple.
func (b *Backend) MatMul(x, y, out *tensor.Tensor) error {
	m, n, depth, err := backend.CheckMatMul(x, y, out)
	if err != nil {
		return err
	}
	b.mu.Lock()
	left, right, to := b.operand(x), b.operand(y), b.operand(out)
	if !left.ok || !right.ok || !to.ok {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.MatMul(x, y, out) })
	}
	defer b.mu.Unlock()
	k, err := b.kernel(elementwise, "matmul")
	if err != nil {
		return err
	}
	k.Mem(left.mem).Int(left.elements(4)).Mem(right.mem).Int(right.elements(4)).Mem(to.mem).Int(to.elements(4)).Int(n).Int(depth)
	return b.enqueued("MatMul", k.Run([3]int{groups(n, groupSize), m, 1}, [3]int{groupSize, 1, 1}))
}
