//go:build !purego

package asm

// amxKernel is a kernel of AMX for a format with blocks of 32: it multiplies some blocks, amxBlocks at most, of two panels,
// which are panelBytes apart, with tiles·amxTokens rows of activations. It adds to out, or, with first, begins with zero.
// Otherwise it is as in blockTile.
type amxKernel func(w, scales *byte, panelBytes, blocks int, q *int8, d *float32, sums *int32, tiles, k int, out *float32, stride, first int)

const (
	amxTokens = 12 // rows of activations of a tile
	amxBlocks = 32 // how many blocks a call multiplies at most: it unpacks them to its stack
	amxTiles  = 24 // how many tiles a call computes at most: a few tens of microseconds
)

// amxPanelsOf returns panels for a format with blocks of 32, in the layout of those of the tier below. That one multiplies
// what does not fill AMX's tiles: few rows of activations and a last panel.
func amxPanelsOf(below *Panels, rest blockTiles, kernel amxKernel) *Panels {
	return rest.layout.panels(func(p *PanelProduct) {
		tiles := p.Acts.Rows / amxTokens
		if tiles == 0 || p.Count < 2 {
			below.Multiply(p)
			return
		}
		for i := 0; i+2 <= p.Count; i += 2 {
			kernel.multiplyPair(rest.layout, p, i, tiles)
		}
		rest.multiply(p, 0, p.Count&^1, tiles*amxTokens)
		rest.multiply(p, p.Count&^1, p.Count, 0)
	})
}

// multiplyPair multiplies panels i and i+1 with the activations of so many tiles.
func (kernel amxKernel) multiplyPair(l *panelLayout, p *PanelProduct, i, tiles int) {
	a, size := p.Acts, l.bytes(p.Acts.K)
	blocks := a.K / l.format.BlockLen
	planes := l.cut(p.Panels[i*size:(i+1)*size], a.K)
	for b := 0; b < blocks; b += amxBlocks {
		n := min(amxBlocks, blocks-b)
		first := 0
		if b == 0 {
			first = 1
		}
		for t := 0; t < tiles; t += amxTiles {
			m := min(amxTiles, tiles-t)
			row := t * amxTokens
			out := p.Out[row*p.Stride+i*PanelRows:][:(m*amxTokens-1)*p.Stride+2*PanelRows]
			kernel(&planes[0][b*l.planes[0]], &planes[1][b*l.planes[1]], size, n, &a.Q[row*a.K+b*l.format.BlockLen], &a.D[row*blocks+b],
				&a.Sums[row*blocks+b], m, a.K, &out[0], p.Stride, first)
		}
	}
}
