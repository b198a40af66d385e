package host

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Compact moves kept slots to the front.
func (b *Base) Compact(t *tensor.Tensor, keep []int32) error {
	if kept, err := backend.CheckCompact(t, keep); err != nil || kept == 0 {
		return err
	}
	var m mapped
	if err := m.add("Compact", t); err != nil {
		return err
	}
	defer m.unmap()
	task := b.compactions.get()
	defer b.compactions.put(task)
	heads := t.Shape().Dim(1)
	*task = compaction{data: t.Data(), keep: keep, rowBytes: t.RowBytes(), heads: heads}
	return b.runner.Run(task, heads)
}

// compaction is a Compact as a task. A piece is a head.
type compaction struct {
	data            []byte // [slots, heads, rowBytes]
	keep            []int32
	rowBytes, heads int
}

// reset forgets the operation.
func (c *compaction) reset() { *c = compaction{} }

// Do moves one head's rows.
func (c *compaction) Do(_, head int) {
	kept, stride := len(c.keep)/c.heads, c.heads*c.rowBytes
	for i, slot := range c.keep[head*kept:][:kept] {
		if int(slot) != i {
			copy(c.data[i*stride+head*c.rowBytes:][:c.rowBytes], c.data[int(slot)*stride+head*c.rowBytes:][:c.rowBytes])
		}
	}
}
