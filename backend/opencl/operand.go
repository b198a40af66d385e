//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// operand is a tensor as kernels take it.
type operand struct {
	mem *cl.Mem
	at  int // bytes from the buffer's beginning
	ok  bool
}

// operand finds a tensor's memory on this device; ok is false for tensors that kernels cannot use: the host's, mapped ones,
// freed ones, and weights in a layout of their own. The caller holds the lock, and what operand has found is true until it
// gives that up.
func (q *queue) operand(t *tensor.Tensor) operand {
	b, ok := t.Buffer().(*deviceBuffer)
	if !ok || b.queue != q {
		return operand{}
	}
	mem, ok := b.onDevice()
	return operand{mem, t.Offset(), ok}
}

// operandSet is the operands of an operation with up to four tensors.
type operandSet [4]operand

// compute calls enqueue with the operands of ts, under the lock, if kernels can use all of them now. Otherwise it computes the operation on
// the host.
func (q *queue) compute(op backend.Op, ts []*tensor.Tensor, enqueue func(o operandSet) error) error {
	q.mu.Lock()
	var o operandSet
	for i, t := range ts {
		if o[i] = q.operand(t); !o[i].ok {
			q.mu.Unlock()
			return q.opOnHost(op)
		}
	}
	defer q.mu.Unlock()
	return enqueue(o)
}

// float4s reports whether the operand begins at a multiple of four floats, as kernels that load four at once need.
func (o operand) float4s() bool { return o.at%16 == 0 }

// elements returns the operand's offset in elements of a size in bytes.
func (o operand) elements(size int) int { return o.at / size }

// floats passes operands to a kernel: of each the buffer, and the offset there in floats.
func floats(k *cl.Kernel, list ...operand) *cl.Kernel {
	for _, o := range list {
		k.Mem(o.mem).Int(o.elements(4))
	}
	return k
}

// quads passes operands to a kernel that loads four floats at once: of each the buffer, and the offset there in fours.
func quads(k *cl.Kernel, list ...operand) *cl.Kernel {
	for _, o := range list {
		k.Mem(o.mem).Int(o.elements(16))
	}
	return k
}

// flag is a bool as kernels take it.
func flag(v bool) int {
	if v {
		return 1
	}
	return 0
}
