//go:build !purego

package amd64

import (
	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/quant"
)

// chunkKernel multiplies some blocks of several panels, which are panelBytes apart, with several rows of activations ("tokens"). It
// adds to out, or, where first is 1, begins with zero. What it reads more than once, from all panels or for all tokens, it writes to
// its stack, in the form in which instructions read it. Meanwhile it asks the cache for what the next call reads, which begins next bytes
// behind w, and nextScales bytes behind scales. Otherwise it is as panels.BlockKernel.
type chunkKernel func(w, scales, inner *byte, panelBytes, panels, blocks int, q *int8, d *float32, sums *int32, tokens, k int, out *float32, stride, first, next, nextScales int)

// chunks are a format's kernels for several tokens.
type chunks struct {
	few    chunkKernel // for 2 to fewTokens tokens; it has room for fewTokenBlocks blocks of one token; nil: tiles are
	many   chunkKernel // for more tokens
	room   int         // how many blocks of all panels together the kernel for many tokens has room for
	blocks int         // of one that unpacks one or two panels after the others: how many blocks of a panel

	leastTokens, leastBlocks int // without few: how many tokens, and blocks of a row, many takes at least; fewer are faster in tiles
}

// The limits of calls. Both kinds take some tens of microseconds at most.
const (
	fewTokens      = 12
	fewTokenBlocks = 64
	fewBlocks      = 16 // more would leave no room for weights in the first-level cache
	fewPanels      = 64

	manyTokens = 64 // their rows of out stay in the second-level cache from one call to the next
	manyPanels = 8  // more would leave room for few blocks, and the sums are read and written once for all blocks
)

// takes reports whether there is a kernel for an activation.
func (c *chunks) takes(a *quant.Activation) bool {
	return c != nil && (c.few != nil || a.Rows >= c.leastTokens && a.K/a.Form.BlockLen() >= c.leastBlocks)
}

// multiply multiplies the panels of a product with several tokens.
func (c *chunks) multiply(l *panels.Layout, p *panels.Product) {
	a, size := p.Acts, p.PanelBytes(l)
	run, maxPanels, maxTokens := c.many, manyPanels, manyTokens
	if a.Rows <= fewTokens {
		run, maxPanels, maxTokens = c.few, fewPanels, fewTokens
	}
	if p.Unscaled {
		maxPanels = panels.Together // there are scales of 1 for this many
	}
	all, groups := a.K/l.Format.BlockLen(), a.K/a.Form.GroupLen()
	for i := 0; i < p.Count; i += maxPanels {
		n := min(maxPanels, p.Count-i)
		planes := p.Planes(l, i)
		step := max(c.room/n, c.blocks)
		if a.Rows <= fewTokens {
			step = min(fewBlocks, fewTokenBlocks/a.Rows)
		}
		calls := (all + step - 1) / step
		step = (all + calls - 1) / calls
		for t := 0; t < a.Rows; t += maxTokens {
			m := min(maxTokens, a.Rows-t)
			out := p.Out[t*p.Stride+i*panels.Rows:][:(m-1)*p.Stride+n*panels.Rows]
			for b := 0; b < all; b += step {
				first := 0
				if b == 0 {
					first = 1
				}
				next, nextScales := step*l.PlaneBytes[0], step*l.PlaneBytes[1]
				if b+step >= all {
					next, nextScales = -b*l.PlaneBytes[0], -b*l.PlaneBytes[1]
					if t+maxTokens >= a.Rows {
						next, nextScales = next+n*size, nextScales+n*size
					}
				}
				var inner *byte
				if len(planes[2]) > 0 {
					inner = &planes[2][b*l.PlaneBytes[2]]
				}
				run(&planes[0][b*l.PlaneBytes[0]], &planes[1][b*l.PlaneBytes[1]], inner, size, n, min(step, all-b),
					&a.Q[t*a.K+b*l.Format.BlockLen()], &a.D[t*all+b], &a.Sums[t*groups+b*(groups/all)], m, a.K, &out[0], p.Stride, first, next, nextScales)
			}
		}
	}
}
