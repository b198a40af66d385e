//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// wideners names the kernels that read rows in the layout of files and caches.
var wideners = map[tensor.DType]string{
	tensor.F32: "widen_f32", tensor.F16: "widen_f16", tensor.BF16: "widen_bf16", tensor.Q8_0: "widen_q8_0", tensor.Q4_0: "widen_q4_0",
}

// narrower is a kernel that stores floats in a type; a work-item stores a number of elements.
type narrower struct {
	kernel   string
	elements int
}

var narrowers = map[tensor.DType]narrower{
	tensor.F16: {"narrow_f16", 1}, tensor.Q8_0: {"narrow_q8_0", 32}, tensor.Q4_0: {"narrow_q4_0", 32},
}

// choice says which rows of a table are wanted: those of a list in device memory, or all from first on.
type choice struct {
	indexed bool
	list    *cl.Mem
	first   int
	count   int
}

// Gather looks rows up.
func (b *Backend) Gather(table *tensor.Tensor, indices []int32, out *tensor.Tensor) error {
	dim, err := backend.CheckGather(table, indices, out)
	if err != nil || len(indices) == 0 {
		return err
	}
	b.mu.Lock()
	to := b.operand(out)
	w, ok := b.weightsOf(table)
	if !ok || !to.ok || (w.split() && !to.float4s()) {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.Gather(table, indices, out) })
	}
	defer b.mu.Unlock()
	chosen := choice{first: w.first + int(indices[0]), count: len(indices)}
	if len(indices) > 1 {
		if chosen, err = b.listed(w.first, indices); err != nil {
			return err
		}
	}
	for i := range w.parts {
		if err := b.widenRows("Gather", &w, &w.parts[i], chosen, to, dim); err != nil {
			return err
		}
	}
	return nil
}

// listed puts the numbers of rows into device memory.
func (b *Backend) listed(first int, indices []int32) (choice, error) {
	if first != 0 {
		moved := make([]int32, len(indices))
		for i, index := range indices {
			moved[i] = index + int32(first)
		}
		indices = moved
	}
	list, err := b.upload(indices)
	return choice{indexed: true, list: list, count: len(indices)}, err
}

// upload enqueues a copy of a list to scratch memory.
func (b *Backend) upload(list []int32) (*cl.Mem, error) {
	if b.closed {
		return nil, ErrClosed
	}
	mem, err := b.scratchOf(indexScratch, 4*len(list))
	if err != nil {
		return mem, err
	}
	return mem, b.enqueued("send a list", b.staging.write(b.context, mem, 0, intBytes(list)))
}

// widenRows stores those of the chosen rows that a part has as floats, [count, dim] from out on.
func (b *Backend) widenRows(what string, w *weights, p *part, c choice, out operand, dim int) error {
	name, items := w.format.widen, dim
	if w.split() {
		items = groups(dim, 4)
	}
	k, err := b.kernel(widen, name)
	if err != nil {
		return err
	}
	if w.split() {
		k.Mem(p.mem).Int(p.scalesAt).Int(w.stride)
	} else {
		k.Mem(p.mem).Long(p.at).Int(w.rowBytes)
	}
	list, indexed := out.mem, 0 // some buffer, which is not read
	if c.indexed {
		list, indexed = c.list, 1
	}
	k.Mem(list).Int(indexed).Int(c.first).Int(p.row).Int(p.row + p.rows).Mem(out.mem).Int(out.elements(4)).Int(dim)
	return b.enqueued(what, k.Run([3]int{groups(items, groupSize), c.count, 1}, [3]int{groupSize, 1, 1}))
}

// Cast converts between element types.
func (b *Backend) Cast(src, dst *tensor.Tensor) error {
	if err := backend.CheckCast(src, dst); err != nil {
		return err
	}
	if src.DType() == dst.DType() {
		return b.copyBytes("Cast", src, dst, 0, 0, src.Size())
	}
	b.mu.Lock()
	from, to := b.operand(src), b.operand(dst)
	switch _, narrowed := narrowers[dst.DType()]; {
	case !from.ok || !to.ok:
	case src.DType() == tensor.F32 && narrowed:
		defer b.mu.Unlock()
		return b.narrowTo("Cast", from, to, dst.DType(), src.Shape().NumElements())
	case dst.DType() == tensor.F32 && wideners[src.DType()] != "":
		defer b.mu.Unlock()
		w := plainWeights(src, from)
		return b.widenRows("Cast", &w, &w.parts[0], choice{count: w.parts[0].rows}, to, src.Shape().Dim(-1))
	}
	b.mu.Unlock()
	return b.onHost(func() error { return b.Base.Cast(src, dst) })
}

// narrowTo stores n floats in a type that narrowers has.
func (b *Backend) narrowTo(what string, from, to operand, d tensor.DType, n int) error {
	narrower := narrowers[d]
	k, err := b.kernel(narrow, narrower.kernel)
	if err != nil {
		return err
	}
	items := n / narrower.elements
	k.Mem(from.mem).Int(from.elements(4)).Mem(to.mem).Long(to.at).Int(items)
	return b.runFlat(what, k, items)
}
