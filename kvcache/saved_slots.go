package kvcache

import (
	"io"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// batchRows is how many slots are copied between device and host at once.
const batchRows = backend.PageSlots

// slotBatch is memory for the keys, or the values, of some slots of all heads, on their way between a cache and a file.
type slotBatch struct {
	device *tensor.Tensor // [kvHeads·batchRows, headDim] of the cache's type
	host   *tensor.Tensor // the same on the host
	order  []byte         // slot by slot, and within a slot head by head
}

func newSlotBatch(p *pages) (b *slotBatch, err error) {
	shape := tensor.ShapeOf(p.KVHeads()*batchRows, p.HeadDim())
	b = &slotBatch{}
	if b.device, err = tensor.New(p.Backend(), p.DType(), shape); err != nil {
		return nil, err
	}
	if b.host, err = tensor.New(nil, p.DType(), shape); err != nil {
		b.device.Free()
		return nil, err
	}
	return b, nil
}

func (b *slotBatch) free() {
	b.device.Free()
	b.host.Free()
}

// slots calls f with the place of each slot's row in host, in the order of the file, for slots [lo, lo+batchRows) of heads that have lens
// slots.
func (b *slotBatch) slots(lens []int, lo int, f func(row []byte) error) error {
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

// rows returns the rows of device for a head's slots from lo on, if the head has n slots: as keys if side is 0, as values if side is 1. Both
// are nil if there are no such slots.
func (b *slotBatch) rows(head, lo, n, side int) (sides [2]*tensor.Tensor, err error) {
	if lo < n {
		sides[side], err = b.device.Slice(head*batchRows, head*batchRows+min(batchRows, n-lo))
	}
	return sides, err
}

// writeTo writes the keys and then the values of the slots in use.
func (p *pages) writeTo(w io.Writer) error {
	b, err := newSlotBatch(p)
	if err != nil {
		return err
	}
	defer b.free()
	lens := make([]int, p.KVHeads())
	for head := range lens {
		lens[head] = p.HeadLen(head)
	}
	for side := range 2 {
		for lo := 0; lo < p.Len(); lo += batchRows {
			for head, n := range lens {
				rows, err := b.rows(head, lo, n, side)
				if err != nil {
					return err
				}
				if err := p.Backend().Run(&backend.ReadSlots{Slots: &p.slots, Head: head, First: lo, Keys: rows[0], Values: rows[1]}); err != nil {
					return err
				}
			}
			if err := p.Backend().ReadBuffer(b.device, b.host.Data()); err != nil {
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

// readFrom fills the empty lists with keys and values of heads that have lens slots. Memory is taken as they come.
func (p *pages) readFrom(reader io.Reader, lens []int) error {
	b, err := newSlotBatch(p)
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
			if err := p.Backend().Run(backend.Copy(b.host, b.device)); err != nil {
				return err
			}
			for head, n := range lens {
				if err := p.extend(head, min(n, lo+batchRows)); err != nil {
					return err
				}
				rows, err := b.rows(head, lo, n, side)
				if err != nil {
					return err
				}
				if err := p.Backend().Run(&backend.WriteSlots{Slots: &p.slots, Head: head, First: lo, Keys: rows[0], Values: rows[1]}); err != nil {
					return err
				}
			}
			if err := p.Backend().Synchronize(); err != nil { // the batch is used again
				return err
			}
		}
	}
	for head, n := range lens {
		p.slots.Heads[head].Len = n
	}
	return nil
}
