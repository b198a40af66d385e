//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Compact moves kept slots to the front, on the device.
func (b *Backend) Compact(t *tensor.Tensor, keep []int32) error {
	kept, err := backend.CheckCompact(t, keep)
	if err != nil || kept == 0 {
		return err
	}
	b.mu.Lock()
	o := b.operand(t)
	if !o.ok {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.Compact(t, keep) })
	}
	defer b.mu.Unlock()
	list, err := b.upload(keep)
	if err != nil {
		return b.fail("Compact", err)
	}
	heads, halves := t.Shape().Dim(1), t.RowBytes()/2
	slotBytes := heads * halves * 2
	// Slots go forward in batches by way of scratch memory: those that a batch overwrites, the later ones do not come from.
	batch := min(kept, max(1, maxMove/slotBytes))
	scratch, err := b.scratchOf(moveScratch, batch*slotBytes)
	if err != nil {
		return err
	}
	for begin := 0; begin < kept; begin += batch {
		slots := min(batch, kept-begin)
		k, err := b.kernel(compact, "compact")
		if err != nil {
			return err
		}
		k.Mem(o.mem).Long(o.at).Mem(list).Int(kept).Int(begin).Mem(scratch).Int(halves)
		const size = 64
		if err := b.enqueued("Compact", k.Run([3]int{groups(halves, size), heads, slots}, [3]int{size, 1, 1})); err != nil {
			return err
		}
		if err := b.enqueued("Compact", b.context.Copy(scratch, o.mem, 0, o.at+begin*slotBytes, slots*slotBytes)); err != nil {
			return err
		}
	}
	return nil
}
