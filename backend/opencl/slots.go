//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"runtime"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// copyPage copies a page.
func (c *caches) copyPage(op *backend.CopyPage) error {
	from, to := op.From, op.To
	return c.compute(op, []*tensor.Tensor{from.Slab, to.Slab}, func(o operandSet) error {
		if c.closed {
			return fmt.Errorf("opencl: CopyPage: %w", ErrClosed)
		}
		bytes := from.Slab.Size() / from.Slab.Shape().Dim(0)
		source, target := o[0].at+from.Index*bytes, o[1].at+to.Index*bytes
		if source == target && o[0].mem == o[1].mem {
			return nil
		}
		return c.enqueued("CopyPage", c.context.Copy(o[0].mem, o[1].mem, source, target, bytes))
	})
}

// moveSlots reads or writes slots of a head. Slabs or tensors that neither the device nor the host has now are for the
// reference, which maps them.
func (c *caches) moveSlots(what string, o *backend.ReadSlots, write bool) error {
	s, head, first, n, keys, values := o.Slots, o.Head, o.First, o.Rows(), o.Keys, o.Values
	if n == 0 {
		return nil
	}
	if err := c.lockOpen(what); err != nil {
		return err
	}
	usable := true
	for _, page := range s.Heads[head].Pages[first/backend.PageSlots : (first+n-1)/backend.PageSlots+1] {
		usable = usable && c.operand(page.Slab).ok
	}
	for _, t := range [...]*tensor.Tensor{keys, values} {
		usable = usable && (t == nil || c.operand(t).ok || t.Data() != nil)
	}
	if !usable {
		c.mu.Unlock()
		if write {
			return c.opOnHost((*backend.WriteSlots)(o))
		}
		return c.opOnHost(o)
	}
	defer c.mu.Unlock()
	for half, t := range [...]*tensor.Tensor{keys, values} { // of a page
		if t == nil {
			continue
		}
		move := slotCopy{what, s, &s.Heads[head], half, t.DType(), write}
		if err := c.copySlots(move, t, first, n); err != nil {
			return c.fail(fmt.Sprintf("%s of %v", what, t), err)
		}
		runtime.KeepAlive(t)
	}
	return nil
}

// slotCopy is a copy from or to the keys (half 0) or the values (half 1) of a head's slots.
type slotCopy struct {
	what  string
	slots *backend.Slots
	head  *backend.HeadSlots
	half  int
	dtype tensor.DType // of the rows outside the cache
	write bool
}

// copySlots copies n slots from or to the rows of t: those of the host by way of scratch memory.
func (c *caches) copySlots(move slotCopy, t *tensor.Tensor, first, n int) error {
	if rows := c.operand(t); rows.ok {
		return c.copyRows(move, rows, first, n)
	}
	rowBytes := t.RowBytes()
	batch := min(n, max(1, maxMove/rowBytes))
	scratch, err := c.scratchOf(moveScratch, batch*rowBytes)
	if err != nil {
		return err
	}
	for done := 0; done < n; done += batch {
		rows := min(batch, n-done)
		data := t.Data()[done*rowBytes : (done+rows)*rowBytes]
		if move.write {
			if err := c.staging.write(c.context, scratch, 0, data); err != nil {
				return err
			}
		}
		if err := c.copyRows(move, operand{mem: scratch}, first+done, rows); err != nil {
			return err
		}
		if !move.write {
			c.pending = 0
			if err := c.staging.read(c.context, scratch, 0, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyRows enqueues the copy of n slots from or to rows that lie one after the other on the device, a page at a time.
func (c *caches) copyRows(move slotCopy, rows operand, first, n int) error {
	slotBytes := move.slots.SlotBytes()
	for end := first + n; first < end; {
		page := move.head.Pages[first/backend.PageSlots]
		count := min(backend.PageSlots-first%backend.PageSlots, end-first)
		place := c.operand(page.Slab)
		place.at += ((2*page.Index+move.half)*backend.PageSlots + first%backend.PageSlots) * slotBytes
		var err error
		switch bytes := count * slotBytes; {
		case move.dtype == move.slots.DType && move.write:
			err = c.enqueued(move.what, c.context.Copy(rows.mem, place.mem, rows.at, place.at, bytes))
		case move.dtype == move.slots.DType:
			err = c.enqueued(move.what, c.context.Copy(place.mem, rows.mem, place.at, rows.at, bytes))
		case move.write:
			err = c.conversions.narrowTo(move.what, rows, place, move.slots.DType, count*move.slots.HeadDim)
		default:
			w := weights{format: format{widen: wideners[move.slots.DType]}, rowBytes: slotBytes, parts: []part{{mem: place.mem, at: place.at, rows: count}}}
			err = c.conversions.widenRows(move.what, &w, &w.parts[0], choice{count: count}, rows, move.slots.HeadDim)
		}
		if err != nil {
			return err
		}
		rows.at += count * move.dtype.Format().Bytes(move.slots.HeadDim)
		first += count
	}
	return nil
}
