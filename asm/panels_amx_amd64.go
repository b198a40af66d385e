//go:build !purego

package asm

// amxKernel is a kernel of AMX for two panels.
type amxKernel struct {
	tokens int // rows of activations of a tile
	blocks int // how many blocks a call multiplies at most: it unpacks them to its stack
	tiles  int // how many tiles a call computes at most: a few tens of microseconds
	run    amxRun
}

// amxRun multiplies some blocks of two panels, which are panelBytes apart, with the rows of activations of some tiles. It adds
// to out, or, with first, begins with zero. Otherwise it is as in blockTile.
type amxRun func(w, scales, inner *byte, panelBytes, blocks int, q *int8, d *float32, sums *int32, tiles, k int, out *float32, stride, first int)

// amx32 returns a kernel for a format with blocks of 32.
func amx32(run amxRun) amxKernel { return amxKernel{tokens: 12, blocks: 32, tiles: 24, run: run} }

// amx256 returns a kernel for a format with blocks of 256.
func amx256(run amxRun) amxKernel { return amxKernel{tokens: 16, blocks: 2, tiles: 32, run: run} }

// amxPanelsOf returns panels for a block format, in the layout of those of the tier below. That one multiplies what does not
// fill AMX's tiles: few rows of activations and a last panel.
func amxPanelsOf(below *Panels, rest blockTiles, kernel amxKernel) *Panels {
	return rest.layout.panels(func(p *PanelProduct) {
		tiles := p.Acts.Rows / kernel.tokens
		if tiles == 0 || p.Count < 2 {
			below.Multiply(p)
			return
		}
		for i := 0; i+2 <= p.Count; i += 2 {
			kernel.multiplyPair(rest.layout, p, i, tiles)
		}
		rest.multiply(p, 0, p.Count&^1, tiles*kernel.tokens)
		rest.multiply(p, p.Count&^1, p.Count, 0)
	})
}

// multiplyPair multiplies panels i and i+1 with the activations of so many tiles.
func (kernel *amxKernel) multiplyPair(l *panelLayout, p *PanelProduct, i, tiles int) {
	a, size := p.Acts, l.bytes(p.Acts.K)
	blocks, groups := a.K/l.format.BlockLen, a.K/a.Partner.GroupLen()
	for b := 0; b < blocks; b += kernel.blocks {
		n := min(kernel.blocks, blocks-b)
		planes := l.cut(p.Panels[i*size:(i+1)*size], a.K)
		for plane, bytes := range l.planes {
			planes[plane] = planes[plane][b*bytes:]
		}
		w, first := l.rowsOf(planes, 0), 0
		if b == 0 {
			first = 1
		}
		for t := 0; t < tiles; t += kernel.tiles {
			m := min(kernel.tiles, tiles-t)
			row := t * kernel.tokens
			out := p.Out[row*p.Stride+i*PanelRows:][:(m*kernel.tokens-1)*p.Stride+2*PanelRows]
			kernel.run(w[0], w[1], w[2], size, n, &a.Q[row*a.K+b*l.format.BlockLen], &a.D[row*blocks+b],
				&a.Sums[row*groups+b*groups/blocks], m, a.K, &out[0], p.Stride, first)
		}
	}
}
