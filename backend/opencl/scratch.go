//go:build opencl && (amd64 || arm64)

package opencl

import (
	"strings"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
)

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
	countScratch         // how many groups have ended, of kernels whose last group goes on; all 0 between kernels
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

// counts returns n counts, which are 0, for kernels that leave them so.
func (b *Backend) counts(n int) (*cl.Mem, error) {
	old := b.scratch[countScratch]
	m, err := b.scratchOf(countScratch, 4*n)
	if err != nil || m == old {
		return m, err
	}
	return m, b.enqueued("clear counts", b.context.Fill(m, 0, m.Size()))
}

// lastGroupOption returns the option for devices on which the last group of a kernel may go on with what the others have left, and ""
// for all but NVIDIA's: see last.cl.
func lastGroupOption(d *cl.Device) string {
	if strings.Contains(d.Extensions, "cl_nv_") {
		return " -DLAST_GROUP"
	}
	return ""
}
