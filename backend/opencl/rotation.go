//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// RoPECast rotates queries and keys, and converts keys and values: to F32 and F16 in one kernel.
func (b *Backend) RoPECast(q, k, v, table, keys, values *tensor.Tensor) error {
	d, err := backend.CheckRoPECast(q, k, v, table, keys, values)
	if err != nil {
		return err
	}
	var o [6]operand
	fused := keys.DType() == tensor.F32 || keys.DType() == tensor.F16
	b.mu.Lock()
	for i, t := range [...]*tensor.Tensor{q, k, v, table, keys, values} {
		o[i] = b.operand(t)
		fused = fused && o[i].ok
	}
	if !fused {
		b.mu.Unlock()
		return b.composed.RoPECast(q, k, v, table, keys, values)
	}
	defer b.mu.Unlock()
	kernel, err := b.kernel(elementwise, "rope_cast")
	if err != nil {
		return err
	}
	for _, floats := range o[:4] {
		kernel.Mem(floats.mem).Int(floats.elements(4))
	}
	for _, cache := range o[4:] {
		kernel.Mem(cache.mem).Long(cache.at)
	}
	halves := 0
	if keys.DType() == tensor.F16 {
		halves = 1
	}
	pairs := d.Tokens * (d.Heads + 2*d.KVHeads) * d.HeadDim / 2
	kernel.Int(halves).Int(d.Heads).Int(d.KVHeads).Int(d.HeadDim / 2).Int(pairs)
	return b.runFlat("RoPECast", kernel, pairs)
}
