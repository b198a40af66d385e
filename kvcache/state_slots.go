package kvcache

import (
	"io"
	"slices"

	"github.com/antigravity-go/antigravity/tensor"
)

// stateBatch is memory for the keys, or the values, of some slots of all heads.
type stateBatch struct {
	device *tensor.Tensor // [kvHeads·batchRows, headDim] of the cache's type
	host   *tensor.Tensor // the same on the host
	order  []byte         // slot by slot, and within a slot head by head
}

func (c *Cache) newStateBatch() (b *stateBatch, err error) {
	shape := tensor.ShapeOf(c.KVHeads()*batchRows, c.HeadDim())
	b = &stateBatch{}
	if b.device, err = tensor.New(c.backend, c.DType(), shape); err != nil {
		return nil, err
	}
	if b.host, err = tensor.New(nil, c.DType(), shape); err != nil {
		b.device.Free()
		return nil, err
	}
	return b, nil
}

func (b *stateBatch) free() {
	b.device.Free()
	b.host.Free()
}

// slots calls f with the place of each slot's row in host, in the order of the state, for slots [lo, lo+batchRows) of heads that have lens
// slots.
func (b *stateBatch) slots(lens []int, lo int, f func(row []byte) error) error {
	data, bytes := b.host.Data(), b.host.RowBytes()
	for slot := lo; slot < lo+batchRows; slot++ {
		for head, n := range lens {
			if slot < n {
				if err := f(data[(head*batchRows+slot-lo)*bytes:][:bytes]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// rows returns the rows of a head's slots from lo on, of which the head has n, as keys where side is 0 and as values where it is 1: nil and nil
// if there are none.
func (b *stateBatch) rows(head, lo, n, side int) (sides [2]*tensor.Tensor, err error) {
	if lo < n {
		sides[side], err = b.device.Slice(head*batchRows, head*batchRows+min(batchRows, n-lo))
	}
	return sides, err
}

// writeSlots writes the keys and then the values of the slots in use.
func (c *Cache) writeSlots(w io.Writer) error {
	b, err := c.newStateBatch()
	if err != nil {
		return err
	}
	defer b.free()
	lens := make([]int, c.KVHeads())
	for head := range lens {
		lens[head] = c.HeadLen(head)
	}
	for side := range 2 {
		for lo := 0; lo < c.Len(); lo += batchRows {
			for head, n := range lens {
				rows, err := b.rows(head, lo, n, side)
				if err != nil {
					return err
				}
				if err := c.backend.ReadSlots(&c.slots, head, lo, rows[0], rows[1]); err != nil {
					return err
				}
			}
			if err := c.backend.ReadBuffer(b.device, b.host.Data()); err != nil {
				return err
			}
			b.order = b.order[:0]
			if err := b.slots(lens, lo, func(row []byte) error { b.order = append(b.order, row...); return nil }); err != nil {
				return err
			}
			if _, err := w.Write(b.order); err != nil {
				return err
			}
		}
	}
	return nil
}

// readSlots fills the empty cache with keys and values of heads that have lens slots. Memory is taken as they come.
func (c *Cache) readSlots(reader io.Reader, lens []int) error {
	b, err := c.newStateBatch()
	if err != nil {
		return err
	}
	defer b.free()
	longest := slices.Max(lens)
	for side := range 2 {
		for lo := 0; lo < longest; lo += batchRows {
			if err := b.slots(lens, lo, func(row []byte) error { _, err := io.ReadFull(reader, row); return err }); err != nil {
				return err
			}
			if err := c.backend.CopySlice(b.host, b.device, 0, 0, b.host.Shape().NumElements()); err != nil {
				return err
			}
			for head, n := range lens {
				if err := c.extend(head, min(n, lo+batchRows)); err != nil {
					return err
				}
				rows, err := b.rows(head, lo, n, side)
				if err != nil {
					return err
				}
				if err := c.backend.WriteSlots(&c.slots, head, lo, rows[0], rows[1]); err != nil {
					return err
				}
			}
			if err := c.backend.Synchronize(); err != nil { // the batch is used again
				return err
			}
		}
	}
	for head, n := range lens {
		c.slots.Heads[head].Len = n
	}
	return nil
}
