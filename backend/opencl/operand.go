//go:build opencl && (amd64 || arm64)

package opencl

import (
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
func (b *Backend) operand(t *tensor.Tensor) operand {
	buffer, ok := t.Buffer().(*Buffer)
	if !ok || buffer.backend != b {
		return operand{}
	}
	mem, ok := buffer.onDevice()
	return operand{mem, t.Offset(), ok}
}

// float4s tells whether the operand begins at a multiple of four floats, as kernels that load so many at once need.
func (o operand) float4s() bool { return o.at%16 == 0 }

// elements returns where the operand begins, in elements of a size in bytes.
func (o operand) elements(size int) int { return o.at / size }
