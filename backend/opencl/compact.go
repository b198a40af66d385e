//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
)

// compact moves kept slots to the front of their heads, on the device.
func (c *caches) compact(op *backend.Compact) error {
	s, keep := op.Slots, op.Keep
	begin, end := moved(keep)
	if begin == end {
		return nil
	}
	c.mu.Lock()
	l, ok, err := c.pages.launchOf(s, 0)
	if err != nil || !ok || s.SlotBytes()%2 != 0 {
		c.mu.Unlock()
		if err != nil {
			return err
		}
		return c.opOnHost(op)
	}
	defer c.mu.Unlock()
	words := 2 * len(keep)
	for _, slots := range keep {
		words += len(slots)
	}
	lists, at := make([]int32, 0, words), 2*len(keep)
	for _, slots := range keep {
		lists = append(lists, int32(at), int32(len(slots)))
		at += len(slots)
	}
	for _, slots := range keep {
		lists = append(lists, slots...)
	}
	list, err := c.upload(lists)
	if err != nil {
		return c.fail("Compact", err)
	}
	// Slots go forward in batches by way of scratch memory: those that a batch overwrites, the later ones do not come from.
	bytes := 2 * s.SlotBytes() * len(keep) // of a slot of all heads
	batch := min(end-begin, max(1, maxMove/bytes))
	scratch, err := c.scratchOf(moveScratch, batch*bytes)
	if err != nil {
		return err
	}
	programs := c.programsFor(pageShape{s.DType, s.HeadDim})
	for ; begin < end; begin += batch {
		slots := min(batch, end-begin)
		for _, name := range [...]string{"compact_take", "compact_bring"} {
			k, err := c.pagedKernel(&programs.compact, l, name)
			if err != nil {
				return err
			}
			k = l.pass(k.Mem(list).Int(begin).Mem(scratch))
			if err := c.run("Compact", k, storeGroup, groups(s.SlotBytes(), storeGroup), len(keep), slots); err != nil {
				return err
			}
		}
	}
	return nil
}

// moved returns the range of the slots that change in some head.
func moved(keep [][]int32) (begin, end int) {
	first := true
	for _, slots := range keep {
		same := 0
		for same < len(slots) && int(slots[same]) == same {
			same++
		}
		if same == len(slots) {
			continue
		}
		if first {
			begin, first = same, false
		}
		begin, end = min(begin, same), max(end, len(slots))
	}
	return begin, end
}
