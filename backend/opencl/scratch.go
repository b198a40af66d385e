//go:build opencl && (amd64 || arm64)

package opencl

import "github.com/antigravity-go/antigravity/backend/opencl/internal/cl"

// The device's temporary memory. As the queue runs in order, what one kernel writes there another may overwrite later
// without anyone waiting.
const (
	indexScratch   = iota // numbers of rows or slots
	panelScratch          // widened weights
	roundScratch          // rounded activations
	partScratch           // parts of attentions, or weights of keys
	statScratch           // largest scores and sums of the tiles of keys' weights
	moveScratch           // what moves within a buffer
	selectScratch         // keys of a selection
	maskScratch           // bits of a mask
	countScratch          // how many groups have ended, of kernels with a last group that goes on; all 0 between kernels
	pairScratch           // pairs by their experts, and the tiles of products
	addressScratch        // an address
	scratches
)

// scratch is this memory. Parts that have not been needed yet are nil.
type scratch [scratches]*cl.Mem

// release gives it up.
func (s *scratch) release() {
	for i, m := range s {
		if m != nil {
			m.Release()
			s[i] = nil
		}
	}
}
