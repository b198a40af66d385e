package host

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/timing"
)

// compactions moves kept slots within their heads.
type compactions struct {
	*machine
	tasks pool[compaction, *compaction]
}

// compact moves kept slots to the front.
func (b *compactions) compact(o *backend.Compact) error {
	s, keep := o.Slots, o.Keep
	var m mapped
	defer m.unmap()
	for head, list := range keep {
		if n := len(list); n > 0 {
			if err := m.addPages("Compact", s, head, 0, int(list[n-1])+1); err != nil {
				return err
			}
		}
	}
	task := b.tasks.get()
	defer b.tasks.put(task)
	task.slots, task.keep, task.layout = s, keep, b.pages
	task.moved.reserve(b.runner.Size())
	return b.runner.Run(task, len(keep))
}

// compaction is a Compact as a task. A piece is a head.
type compaction struct {
	slots  *backend.Slots
	keep   [][]int32
	layout asm.Pages

	moved workerMemory[byte] // slots on their way
}

// reset forgets the operation.
func (c *compaction) reset() { c.slots, c.keep = nil, nil }

// Phase says what the operation is.
func (c *compaction) Phase() timing.Phase {
	return timing.Phase{Operation: "Compact", Rows: len(c.slots.Heads), Cols: c.slots.HeadDim, DType: c.slots.DType}
}

// Do moves one head's slots: neighbours that stay neighbours, of one page both before and after, at once.
func (c *compaction) Do(worker, head int) {
	keep, pages, bytes := c.keep[head], c.slots.Heads[head].Pages, c.slots.SlotBytes()
	rows := c.moved.of(worker, backend.PageSlots*bytes)
	format, dim := c.slots.DType.Format(), c.slots.HeadDim
	for i, n := 0, 1; i < len(keep); i += n {
		slot := int(keep[i])
		n = 1
		for i+n < len(keep) && int(keep[i+n]) == slot+n && (i+n)%backend.PageSlots != 0 && (slot+n)%backend.PageSlots != 0 {
			n++
		}
		if slot == i {
			continue
		}
		from, to := pageData(&pages[slot/backend.PageSlots], bytes), pageData(&pages[i/backend.PageSlots], bytes)
		for side := range from[:c.slots.Halves()] {
			c.layout.Load(asm.PageSide(side), format, dim, rows[:n*bytes], from[side], slot%backend.PageSlots)
			c.layout.Store(asm.PageSide(side), format, dim, to[side], i%backend.PageSlots, rows[:n*bytes])
		}
	}
}
