//go:build !purego

package asm

// singleKernel is a kernel for panels in blocks: the product of panelsOfSingle panels, which follow each other every
// panelBytes, with a single row of activations. Otherwise it is as in blockTile. A row's result in panel i goes to
// out[i·PanelRows + row].
type singleKernel func(w, scales, inner *byte, panelBytes, blocks int, q *int8, d *float32, sums *int32, out *float32)

// singlePanelsOf is panelsOf with a kernel for a single row of activations. Such a product waits for memory, and a core
// reads faster in several places at once than in one.
func singlePanelsOf(l *panelLayout, rows int, tiles []blockTile, single singleKernel) *Panels {
	panels := panelsOf(l, rows, tiles)
	multiply := panels.Multiply
	panels.Multiply = func(p *PanelProduct) {
		if p.Acts.Rows == 1 && p.Count >= panelsOfSingle {
			multiplySingle(l, rows, tiles[len(tiles)-1:], single, p)
			return
		}
		multiply(p)
	}
	return panels
}

// multiplySingle multiplies panels with the only row of activations.
func multiplySingle(l *panelLayout, rows int, tiles []blockTile, single singleKernel, p *PanelProduct) {
	a, size := p.Acts, l.bytes(p.Acts.K)
	for i := 0; i < p.Count; {
		together := 1
		if p.Count-i >= panelsOfSingle {
			together = panelsOfSingle
		}
		planes := l.cut(p.Panels[i*size:(i+1)*size], a.K)
		for row := 0; row < PanelRows; row += rows {
			at := l.rowsOf(planes, row)
			if together == 1 {
				multiplyBlocks(tiles, p, at, i*PanelRows+row, rows)
				continue
			}
			out := p.Out[i*PanelRows+row:][:(together-1)*PanelRows+rows]
			single(at[0], at[1], at[2], size, a.K/l.format.BlockLen, &a.Q[0], &a.D[0], &a.Sums[0], &out[0])
		}
		i += together
	}
}
