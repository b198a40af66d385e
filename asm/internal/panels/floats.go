package panels

// FloatKernel is the form of the kernels for panels of floats, which multiply one panel, or several that follow each other
// every panelBytes, with rows of x, of k elements each. The rows of out are stride elements apart.
type FloatKernel func(w *byte, panelBytes, k int, x, out *float32, stride int)

// FloatTile is a kernel for one panel of floats, and how many rows of activations ("tokens") it takes.
type FloatTile struct {
	Tokens int
	Run    FloatKernel
}

// Together is how many panels a kernel for a single row of activations takes at once. Such a product waits for memory, and a
// core reads faster in several places at once than in one.
const Together = 4

// FloatTiles multiplies panels of a float format by tiles.
type FloatTiles struct {
	Layout *Layout
	Tiles  []FloatTile // those for most tokens first; the last is for one
	Single FloatKernel // for one token and Together panels
}

// Panels returns panels which the tiles multiply.
func (f FloatTiles) Panels() *Panels {
	return New(f.Layout, func(p *Product) {
		for first := 0; first < p.Count; first += Together {
			f.multiply(p, first, min(Together, p.Count-first))
		}
	})
}

// multiply multiplies n panels from the first on with all rows of activations.
func (f *FloatTiles) multiply(p *Product, first, n int) {
	k, tiles := p.Acts.K, f.Tiles
	size := f.Layout.Bytes(k)
	panels := p.Panels[first*size : (first+n)*size]
	for t := 0; t < p.Acts.Rows; {
		for tiles[0].Tokens > p.Acts.Rows-t {
			tiles = tiles[1:]
		}
		tokens := tiles[0].Tokens
		x := p.Acts.X[t*k : (t+tokens)*k]
		out := p.Out[t*p.Stride+first*Rows:][:(tokens-1)*p.Stride+n*Rows]
		if tokens == 1 && n == Together {
			f.Single(&panels[0], size, k, &x[0], &out[0], p.Stride)
		} else {
			for i := range n {
				tiles[0].Run(&panels[i*size], size, k, &x[0], &out[i*Rows], p.Stride)
			}
		}
		t += tokens
	}
}
