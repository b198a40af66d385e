//go:build (amd64 || arm64) && !purego

package asm

// replacePanels sets the panels of some formats. The list that the tier below has stays as it is.
func (k *Kernels) replacePanels(replacements ...*Panels) {
	list := replacements
	for _, p := range k.Panels {
		if (&Kernels{Panels: replacements}).PanelsFor(p.Format) == nil {
			list = append(list, p)
		}
	}
	k.Panels = list
}

// blockTile is a kernel for panels in blocks: the product of one panel with some rows of activations. All kernels have the
// form
//
//	func(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
//
// with the planes of the panel, how many blocks a row has, the activations' rows of k elements, and the output's rows,
// stride elements apart.
type blockTile struct {
	tokens int
	run    func(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
}

// blockTiles multiplies panels of a block format. Its tiles have so many rows: a panel is one tile high, or two. Those for
// most tokens come first, the last is for one.
type blockTiles struct {
	layout *panelLayout
	rows   int
	tiles  []blockTile
}

// panelsOf returns panels for a block format, see blockTiles.
func panelsOf(l *panelLayout, rows int, tiles []blockTile) *Panels {
	b := blockTiles{l, rows, tiles}
	return l.panels(func(p *PanelProduct) { b.multiply(p, 0, p.Count, 0) })
}

// multiply multiplies the panels from first up to last with the rows of activations from token on.
func (b *blockTiles) multiply(p *PanelProduct, first, last, token int) {
	size := b.layout.bytes(p.Acts.K)
	for i := first; i < last; i++ {
		planes := b.layout.cut(p.Panels[i*size:(i+1)*size], p.Acts.K)
		for row := 0; row < PanelRows; row += b.rows {
			b.multiplyRows(p, b.layout.rowsOf(planes, row), i*PanelRows+row, token)
		}
	}
}

// multiplyRows multiplies a tile's rows, the first of which is the product's row at, with the rows of activations from token
// on.
func (b *blockTiles) multiplyRows(p *PanelProduct, planes [3]*byte, at, token int) {
	a, tiles := p.Acts, b.tiles
	blocks, groups := a.K/a.Partner.BlockLen(), a.K/a.Partner.GroupLen()
	for t := token; t < a.Rows; {
		for tiles[0].tokens > a.Rows-t {
			tiles = tiles[1:]
		}
		n := tiles[0].tokens
		out := p.Out[t*p.Stride+at:][:(n-1)*p.Stride+b.rows]
		q, d, sums := a.Q[t*a.K:(t+n)*a.K], a.D[t*blocks:(t+n)*blocks], a.Sums[t*groups:(t+n)*groups]
		tiles[0].run(planes[0], planes[1], planes[2], blocks, &q[0], &d[0], &sums[0], a.K, &out[0], p.Stride)
		t += n
	}
}
