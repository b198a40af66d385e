//go:build opencl && (amd64 || arm64)

package opencl

import "github.com/antigravity-go/antigravity/backend/opencl/internal/cl"

// The device's temporary memory. As the queue runs in order, what one kernel writes there another may overwrite later
// without anyone waiting.
const (
	indexScratch  = iota // numbers of rows or slots
	panelScratch         // widened weights
	roundScratch         // rounded activations
	partScratch          // parts of attentions, or weights of keys
	statScratch          // largest scores and sums of the tiles of keys' weights
	moveScratch          // what moves within a buffer
	selectScratch        // keys of a selection
	maskScratch          // bits of a mask
	scratches
)

// scratchOf returns scratch memory of at least size bytes.
func (b *Backend) scratchOf(which, size int) (*cl.Mem, error) {
	old := b.scratch[which]
	if old != nil && old.Size() >= size {
		return old, nil
	}
	m, err := b.memory.alloc(size+size/4, false) // contexts grow a token at a time
	if err != nil {
		return nil, err
	}
	if old != nil {
		old.Release() // commands that use it still end
	}
	b.scratch[which] = m
	return m, nil
}
