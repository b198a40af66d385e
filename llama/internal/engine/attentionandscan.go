package engine

import "github.com/antigravity-go/antigravity/internal/model"

// attentionAndScan is attention and a selective scan side by side, as Falcon-H1 has them (arXiv 2507.22448): both read one norm of the stream, and both
// results are added to it. Such a layer has a cache and a state.
type attentionAndScan struct {
	attention
	*selectiveScan
}

// newAttentionAndScan makes the mixer of a layer without its tensors.
func newAttentionAndScan(w *Weights, layer int, is *model.Layer, rotary int) *attentionAndScan {
	m := &attentionAndScan{selectiveScan: newSelectiveScan(w, layer)}
	m.attention.build(w, layer, is, rotary)
	return m
}

// write lets the rows attend, and passes them through the jobs' states.
func (m *attentionAndScan) write(p *program, around *residual) {
	m.attention.write(p, around)
	again := *around
	again.norm.again = true
	m.selectiveScan.write(p, &again)
}
