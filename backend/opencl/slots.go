//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"runtime"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// CopyPage copies a page.
func (b *Backend) CopyPage(from, to backend.Page) error {
	if err := backend.CheckCopyPage(from, to); err != nil {
		return err
	}
	b.mu.Lock()
	source, target := b.operand(from.Slab), b.operand(to.Slab)
	if !source.ok || !target.ok || b.closed {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.CopyPage(from, to) })
	}
	defer b.mu.Unlock()
	bytes := from.Slab.Size() / from.Slab.Shape().Dim(0)
	source.at, target.at = source.at+from.Index*bytes, target.at+to.Index*bytes
	if source == target {
		return nil
	}
	return b.enqueued("CopyPage", b.context.Copy(source.mem, target.mem, source.at, target.at, bytes))
}

// ReadSlots copies slots of a head out of its pages.
func (b *Backend) ReadSlots(s *backend.Slots, head, first int, keys, values *tensor.Tensor) error {
	n, err := backend.CheckSlots(s, head, first, keys, values, false)
	if err != nil || n == 0 {
		return err
	}
	return b.moveSlots("ReadSlots", s, head, first, n, keys, values, false)
}

// WriteSlots copies slots of a head into its pages.
func (b *Backend) WriteSlots(s *backend.Slots, head, first int, keys, values *tensor.Tensor) error {
	n, err := backend.CheckSlots(s, head, first, keys, values, true)
	if err != nil || n == 0 {
		return err
	}
	return b.moveSlots("WriteSlots", s, head, first, n, keys, values, true)
}

// moveSlots reads or writes n slots of a head. Slabs or tensors that neither the device nor the host has now are for the
// reference, which maps them.
func (b *Backend) moveSlots(what string, s *backend.Slots, head, first, n int, keys, values *tensor.Tensor, write bool) error {
	if err := b.lockOpen(what); err != nil {
		return err
	}
	usable := true
	for _, page := range s.Heads[head].Pages[first/backend.PageSlots : (first+n-1)/backend.PageSlots+1] {
		usable = usable && b.operand(page.Slab).ok
	}
	for _, t := range [...]*tensor.Tensor{keys, values} {
		usable = usable && (t == nil || b.operand(t).ok || t.Data() != nil)
	}
	if !usable {
		b.mu.Unlock()
		return b.onHost(func() error {
			if write {
				return b.Base.WriteSlots(s, head, first, keys, values)
			}
			return b.Base.ReadSlots(s, head, first, keys, values)
		})
	}
	defer b.mu.Unlock()
	for half, t := range [...]*tensor.Tensor{keys, values} { // of a page
		if t == nil {
			continue
		}
		c := slotCopy{what, s, &s.Heads[head], half, t.DType(), write}
		if err := b.copySlots(c, t, first, n); err != nil {
			return b.fail(fmt.Sprintf("%s of %v", what, t), err)
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
func (b *Backend) copySlots(c slotCopy, t *tensor.Tensor, first, n int) error {
	if rows := b.operand(t); rows.ok {
		return b.copyRows(c, rows, first, n)
	}
	rowBytes := t.RowBytes()
	batch := min(n, max(1, maxMove/rowBytes))
	scratch, err := b.scratchOf(moveScratch, batch*rowBytes)
	if err != nil {
		return err
	}
	for done := 0; done < n; done += batch {
		rows := min(batch, n-done)
		data := t.Data()[done*rowBytes : (done+rows)*rowBytes]
		if c.write {
			if err := b.staging.write(b.context, scratch, 0, data); err != nil {
				return err
			}
		}
		if err := b.copyRows(c, operand{mem: scratch}, first+done, rows); err != nil {
			return err
		}
		if !c.write {
			b.pending = 0
			if err := b.staging.read(b.context, scratch, 0, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyRows enqueues the copy of n slots from or to rows that lie one after the other on the device, a page at a time.
func (b *Backend) copyRows(c slotCopy, rows operand, first, n int) error {
	slotBytes := c.slots.SlotBytes()
	for end := first + n; first < end; {
		page := c.head.Pages[first/backend.PageSlots]
		count := min(backend.PageSlots-first%backend.PageSlots, end-first)
		place := b.operand(page.Slab)
		place.at += ((2*page.Index+c.half)*backend.PageSlots + first%backend.PageSlots) * slotBytes
		var err error
		switch bytes := count * slotBytes; {
		case c.dtype == c.slots.DType && c.write:
			err = b.enqueued(c.what, b.context.Copy(rows.mem, place.mem, rows.at, place.at, bytes))
		case c.dtype == c.slots.DType:
			err = b.enqueued(c.what, b.context.Copy(place.mem, rows.mem, place.at, rows.at, bytes))
		case c.write:
			err = b.narrowTo(c.what, rows, place, c.slots.DType, count*c.slots.HeadDim)
		default:
			w := weights{format: format{widen: wideners[c.slots.DType]}, rowBytes: slotBytes, parts: []part{{mem: place.mem, at: place.at, rows: count}}}
			err = b.widenRows(c.what, &w, &w.parts[0], choice{count: count}, rows, c.slots.HeadDim)
		}
		if err != nil {
			return err
		}
		rows.at += count * c.dtype.Format().Bytes(c.slots.HeadDim)
		first += count
	}
	return nil
}
