package host

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/timing"
)

// Compact moves kept slots to the front.
func (b *Base) Compact(s *backend.Slots, keep [][]int32) error {
	if err := backend.CheckCompact(s, keep); err != nil {
		return err
	}
	var m mapped
	defer m.unmap()
	for head, list := range keep {
		if n := len(list); n > 0 {
			if err := m.addPages("Compact", s, head, 0, int(list[n-1])+1); err != nil {
				return err
			}
		}
	}
	task := b.compactions.get()
	defer b.compactions.put(task)
	*task = compaction{s, keep, s.SlotBytes()}
	return b.runner.Run(task, len(keep))
}

// compaction is a Compact as a task. A piece is a head.
type compaction struct {
	slots     *backend.Slots
	keep      [][]int32
	slotBytes int
}

// reset forgets the operation.
func (c *compaction) reset() { *c = compaction{} }

// Phase says what the operation is.
func (c *compaction) Phase() timing.Phase {
	return timing.Phase{Operation: "Compact", Rows: len(c.slots.Heads), Cols: c.slots.HeadDim, DType: c.slots.DType}
}

// Do moves one head's slots: neighbours that stay neighbours, of one page both before and after, at once.
func (c *compaction) Do(_, head int) {
	keep, pages := c.keep[head], c.slots.Heads[head].Pages
	for i, n := 0, 1; i < len(keep); i += n {
		slot := int(keep[i])
		n = 1
		for i+n < len(keep) && int(keep[i+n]) == slot+n && (i+n)%backend.PageSlots != 0 && (slot+n)%backend.PageSlots != 0 {
			n++
		}
		if slot == i {
			continue
		}
		fromKeys, fromValues := pageData(&pages[slot/backend.PageSlots], c.slotBytes)
		toKeys, toValues := pageData(&pages[i/backend.PageSlots], c.slotBytes)
		from, to, bytes := slot%backend.PageSlots*c.slotBytes, i%backend.PageSlots*c.slotBytes, n*c.slotBytes
		copy(toKeys[to:to+bytes], fromKeys[from:])
		copy(toValues[to:to+bytes], fromValues[from:])
	}
}
