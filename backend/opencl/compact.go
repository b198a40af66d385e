//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
)

// Compact moves kept slots to the front of their heads, on the device.
func (b *Backend) Compact(s *backend.Slots, keep [][]int32) error {
	if err := backend.CheckCompact(s, keep); err != nil {
		return err
	}
	begin, end := moved(keep)
	if begin == end {
		return nil
	}
	b.mu.Lock()
	l, ok, err := b.launchOf(s, 0)
	if err != nil || !ok || s.SlotBytes()%2 != 0 {
		b.mu.Unlock()
		if err != nil {
			return err
		}
		return b.onHost(func() error { return b.Base.Compact(s, keep) })
	}
	defer b.mu.Unlock()
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
	list, err := b.upload(lists)
	if err != nil {
		return b.fail("Compact", err)
	}
	// Slots go forward in batches by way of scratch memory: those that a batch overwrites, the later ones do not come from.
	bytes := 2 * s.SlotBytes() * len(keep) // of a slot of all heads
	batch := min(end-begin, max(1, maxMove/bytes))
	scratch, err := b.scratchOf(moveScratch, batch*bytes)
	if err != nil {
		return err
	}
	programs := b.pageProgramsFor(pageShape{s.DType, s.HeadDim})
	for ; begin < end; begin += batch {
		slots := min(batch, end-begin)
		for _, name := range [...]string{"compact_take", "compact_bring"} {
			k, err := b.kernel(programs.compact.of(l), name)
			if err != nil {
				return err
			}
			k.Mem(list).Int(begin).Mem(scratch)
			if err := b.enqueued("Compact", b.pass(k, l).Run([3]int{groups(s.SlotBytes(), storeGroup), len(keep), slots}, [3]int{storeGroup, 1, 1})); err != nil {
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
