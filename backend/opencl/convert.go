//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

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

// conversions converts rows between element types, and looks rows up.
type conversions struct {
	*queue
	copies *copies
}

// gather looks rows up.
func (c *conversions) gather(op *backend.Gather) (err error) {
	table, indices, dim := op.Table, op.Indices, op.Table.Shape().Dim(-1)
	if len(indices) == 0 {
		return nil
	}
	c.mu.Lock()
	to := c.operand(op.Out)
	w, ok := weightsOf(c.queue, table)
	if !ok || !to.ok || (w.split() && !to.float4s()) {
		c.mu.Unlock()
		return c.opOnHost(op)
	}
	defer c.mu.Unlock()
	chosen := choice{first: w.first + int(indices[0]), count: len(indices)}
	if len(indices) > 1 {
		if chosen, err = c.listed(w.first, indices); err != nil {
			return err
		}
	}
	for i := range w.parts {
		if err := c.widenRows("Gather", &w, &w.parts[i], chosen, to, dim); err != nil {
			return err
		}
	}
	return nil
}

// listed puts the numbers of rows into device memory.
func (c *conversions) listed(first int, indices []int32) (choice, error) {
	if first != 0 {
		moved := make([]int32, len(indices))
		for i, index := range indices {
			moved[i] = index + int32(first)
		}
		indices = moved
	}
	list, err := c.upload(indices)
	return choice{indexed: true, list: list, count: len(indices)}, err
}

// widenRows stores those of the chosen rows that a part has as floats, [count, dim] from out on.
func (c *conversions) widenRows(what string, w *weights, p *part, rows choice, out operand, dim int) error {
	name, items := w.format.widen, dim
	if w.split() {
		items = groups(dim, 4)
	}
	k, err := c.kernel(widen, name)
	if err != nil {
		return err
	}
	if w.split() {
		k.Mem(p.mem).Int(p.scalesAt).Int(w.stride)
	} else {
		k.Mem(p.mem).Long(p.at).Int(w.rowBytes)
	}
	list, indexed := out.mem, 0 // some buffer, which is not read
	if rows.indexed {
		list, indexed = rows.list, 1
	}
	k.Mem(list).Int(indexed).Int(rows.first).Int(p.row).Int(p.row + p.rows)
	return c.run(what, floats(k, out).Int(dim), groupSize, groups(items, groupSize), rows.count, 1)
}

// cast converts between element types.
func (c *conversions) cast(op *backend.Cast) error {
	src, dst := op.Src, op.Dst
	if src.DType() == dst.DType() {
		return c.copies.copyBytes("Cast", src, dst, 0, 0, src.Size())
	}
	c.mu.Lock()
	from, to := c.operand(src), c.operand(dst)
	switch _, narrowed := narrowers[dst.DType()]; {
	case !from.ok || !to.ok:
	case src.DType() == tensor.F32 && narrowed:
		defer c.mu.Unlock()
		return c.narrowTo("Cast", from, to, dst.DType(), src.Shape().NumElements())
	case dst.DType() == tensor.F32 && wideners[src.DType()] != "":
		defer c.mu.Unlock()
		w := plainWeights(src, from)
		return c.widenRows("Cast", &w, &w.parts[0], choice{count: w.parts[0].rows}, to, src.Shape().Dim(-1))
	}
	c.mu.Unlock()
	return c.opOnHost(op)
}

// narrowTo stores n floats in a type that narrowers has.
func (c *conversions) narrowTo(what string, from, to operand, d tensor.DType, n int) error {
	narrower := narrowers[d]
	k, err := c.kernel(narrow, narrower.kernel)
	if err != nil {
		return err
	}
	items := n / narrower.elements
	return c.runFlat(what, floats(k, from).Mem(to.mem).Long(to.at).Int(items), items)
}
