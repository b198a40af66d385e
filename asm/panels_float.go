//go:build (amd64 || arm64) && !purego

package asm

// floatTile is a kernel for panels of floats: the product of one panel, or of several that follow each other every
// panelBytes, with some rows of x, of k elements each. The output's rows are stride elements apart.
type floatTile struct {
	tokens int
	run    floatKernel
}

// floatKernel is the form of the kernels for panels of floats.
type floatKernel func(w *byte, panelBytes, k int, x, out *float32, stride int)

// panelsOfSingle is how many panels a kernel for single rows of activations takes at once.
const panelsOfSingle = 4

// floatPanelsOf returns panels for a float format. The tiles have one panel, those for most tokens first, the last for one;
// single is for one token and panelsOfSingle panels.
func floatPanelsOf(l *panelLayout, tiles []floatTile, single floatKernel) *Panels {
	return l.panels(func(p *PanelProduct) {
		for first := 0; first < p.Count; first += panelsOfSingle {
			multiplyFloats(l, tiles, single, p, first, min(panelsOfSingle, p.Count-first))
		}
	})
}

// multiplyFloats multiplies n panels with all rows of activations.
func multiplyFloats(l *panelLayout, tiles []floatTile, single floatKernel, p *PanelProduct, first, n int) {
	k := p.Acts.K
	size := l.bytes(k)
	panels := p.Panels[first*size : (first+n)*size]
	for t := 0; t < p.Acts.Rows; {
		for tiles[0].tokens > p.Acts.Rows-t {
			tiles = tiles[1:]
		}
		tokens := tiles[0].tokens
		x := p.Acts.X[t*k : (t+tokens)*k]
		out := p.Out[t*p.Stride+first*PanelRows:][:(tokens-1)*p.Stride+n*PanelRows]
		if tokens == 1 && n == panelsOfSingle {
			single(&panels[0], size, k, &x[0], &out[0], p.Stride)
		} else {
			for i := range n {
				tiles[0].run(&panels[i*size], size, k, &x[0], &out[i*PanelRows], p.Stride)
			}
		}
		t += tokens
	}
}
