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
	return b.moveSlots("ReadSlots", s, head, first, n, keys, values, b.readSlots, func() error {
		return b.Base.ReadSlots(s, head, first, keys, values)
	})
}

// WriteSlots copies slots of a head into its pages.
func (b *Backend) WriteSlots(s *backend.Slots, head, first int, keys, values *tensor.Tensor) error {
	n, err := backend.CheckSlots(s, head, first, keys, values, true)
	if err != nil || n == 0 {
		return err
	}
	return b.moveSlots("WriteSlots", s, head, first, n, keys, values, b.writeSlots, func() error {
		return b.Base.WriteSlots(s, head, first, keys, values)
	})
}

// slotRange is slots of a head that lie one after the other in a page: keys or values.
type slotRange struct {
	what  string
	cache *backend.Slots
	place operand
	rows  int
}

// moveSlots calls move for the keys and the values of n slots, piece by piece, with the rows of the tensor that they go to or come
// from. Slabs or tensors that the device does not have now go the host's way.
func (b *Backend) moveSlots(what string, s *backend.Slots, head, first, n int, keys, values *tensor.Tensor,
	move func(slotRange, *tensor.Tensor, int) error, onHost func() error) error {
	if err := b.lockOpen(what); err != nil {
		return err
	}
	pages := s.Heads[head].Pages[first/backend.PageSlots : (first+n-1)/backend.PageSlots+1]
	usable := true
	for _, page := range pages {
		usable = usable && b.operand(page.Slab).ok
	}
	for _, t := range [...]*tensor.Tensor{keys, values} {
		usable = usable && (t == nil || b.operand(t).ok || t.Data() != nil)
	}
	if !usable {
		b.mu.Unlock()
		return b.onHost(onHost)
	}
	defer b.mu.Unlock()
	half := s.SlotBytes() * backend.PageSlots // bytes of a page's keys
	for which, t := range [...]*tensor.Tensor{keys, values} {
		for done := 0; t != nil && done < n; {
			slot := first + done
			page := s.Heads[head].Pages[slot/backend.PageSlots]
			r := slotRange{what, s, b.operand(page.Slab), min(backend.PageSlots-slot%backend.PageSlots, n-done)}
			r.place.at += (2*page.Index+which)*half + slot%backend.PageSlots*s.SlotBytes()
			if err := move(r, t, done); err != nil {
				return err
			}
			done += r.rows
		}
	}
	return nil
}

// readSlots copies a range to rows of t, from row on.
func (b *Backend) readSlots(r slotRange, t *tensor.Tensor, row int) error {
	size, at := r.rows*t.RowBytes(), row*t.RowBytes()
	to := b.operand(t)
	if to.ok {
		to.at += at
	} else if t.DType() == r.cache.DType {
		return b.failed(r.what, t, b.staging.read(b.context, r.place.mem, r.place.at, t.Data()[at:at+size]))
	} else {
		scratch, err := b.scratchOf(moveScratch, size)
		if err != nil {
			return err
		}
		to = operand{mem: scratch}
	}
	if t.DType() == r.cache.DType {
		return b.enqueued(r.what, b.context.Copy(r.place.mem, to.mem, r.place.at, to.at, size))
	}
	format := plainFormat("", 0)
	format.widen = wideners[r.cache.DType]
	w := weights{format: format, rowBytes: r.cache.SlotBytes(), parts: []part{{quants: r.place.mem, at: r.place.at, rows: r.rows}}}
	if err := b.widenRows(r.what, &w, &w.parts[0], choice{count: r.rows}, to, r.cache.HeadDim); err != nil {
		return err
	}
	if b.operand(t).ok {
		return nil
	}
	return b.failed(r.what, t, b.staging.read(b.context, to.mem, 0, t.Data()[at:at+size]))
}

// writeSlots copies rows of t, from row on, to a range.
func (b *Backend) writeSlots(r slotRange, t *tensor.Tensor, row int) error {
	size, at := r.rows*t.RowBytes(), row*t.RowBytes()
	from := b.operand(t)
	if from.ok {
		from.at += at
	} else if t.DType() == r.cache.DType {
		return b.failed(r.what, t, b.staging.write(b.context, r.place.mem, r.place.at, t.Data()[at:at+size]))
	} else {
		scratch, err := b.scratchOf(moveScratch, size)
		if err != nil {
			return err
		}
		from = operand{mem: scratch}
		if err := b.failed(r.what, t, b.staging.write(b.context, scratch, 0, t.Data()[at:at+size])); err != nil {
			return err
		}
	}
	if t.DType() == r.cache.DType {
		return b.enqueued(r.what, b.context.Copy(from.mem, r.place.mem, from.at, r.place.at, size))
	}
	return b.narrowTo(r.what, from, r.place, r.cache.DType, r.rows*r.cache.HeadDim)
}

// failed says which tensor could not be moved; the tensor is reachable until then.
func (b *Backend) failed(what string, t *tensor.Tensor, err error) error {
	runtime.KeepAlive(t)
	if err == nil {
		return nil
	}
	return b.fail(fmt.Sprintf("%s of %v", what, t), err)
}
