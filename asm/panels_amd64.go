//go:build !purego

package asm

// panelsAVX2 sets the products with panels of weights.
func panelsAVX2(k *Kernels) {}

// panelsAVX512 sets the products with panels of weights.
func panelsAVX512(k *Kernels) {
	k.replacePanels(
		panelsOf(layoutQ4_0, []blockTile{{12, q4_0AVX512x12}, {8, q4_0AVX512x8}, {4, q4_0AVX512x4}, {2, q4_0AVX512x2}, {1, q4_0AVX512x1}}),
	)
}

// panelsVNNI sets the products with panels of weights.
func panelsVNNI(k *Kernels) {}

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
//	func(w, scales *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
//
// with the planes of the panel, how many blocks a row has, the activations' rows of k elements, and the output's rows,
// stride elements apart.
type blockTile struct {
	tokens int
	run    func(w, scales *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
}

// panelsOf returns panels for a block format: tiles are the kernels, those for most tokens first, the last for one.
func panelsOf(l *panelLayout, tiles []blockTile) *Panels {
	return &Panels{Format: l.format, Pack: l.pack, Unpack: l.unpack, Multiply: func(p *PanelProduct) {
		for i := range p.Count {
			planes := l.cut(p.Panels[i*l.bytes(p.Acts.K):], p.Acts.K)
			multiplyBlocks(tiles, p, planes, i*PanelRows)
		}
	}}
}

// multiplyBlocks multiplies one panel, whose first row is the product's row at, with all rows of activations.
func multiplyBlocks(tiles []blockTile, p *PanelProduct, planes [2][]byte, at int) {
	a := p.Acts
	blocks, groups := a.K/a.Partner.BlockLen(), a.K/a.Partner.GroupLen()
	for t := 0; t < a.Rows; {
		for tiles[0].tokens > a.Rows-t {
			tiles = tiles[1:]
		}
		n := tiles[0].tokens
		out := p.Out[t*p.Stride+at:][:(n-1)*p.Stride+PanelRows]
		q, d, sums := a.Q[t*a.K:(t+n)*a.K], a.D[t*blocks:(t+n)*blocks], a.Sums[t*groups:(t+n)*groups]
		tiles[0].run(&planes[0][0], &planes[1][0], blocks, &q[0], &d[0], &sums[0], a.K, &out[0], p.Stride)
		t += n
	}
}
