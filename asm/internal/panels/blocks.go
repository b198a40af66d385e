package panels

// BlockKernel is the form of the kernels for panels in blocks, which multiply rows of a panel with rows of activations:
//
//   - w, scales and inner point to the weights in the panel's planes, and blocks is how many blocks a row has;
//   - q, d and sums are the activations' rows, of k elements each;
//   - out are the results, in rows that are stride elements apart, one for each row of activations.
type BlockKernel func(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// BlockTile is a kernel for panels in blocks, and how many rows of activations ("tokens") it takes.
type BlockTile struct {
	Tokens int
	Run    BlockKernel
}

// BlockTiles multiplies panels of a block format by tiles.
type BlockTiles struct {
	Layout *Layout
	Rows   int         // a tile's height in rows of weights: 16 covers a panel, 8 half of one
	Tiles  []BlockTile // those for most tokens first; the last is for one
}

// Panels returns panels which the tiles multiply.
func (b BlockTiles) Panels() *Panels {
	return New(b.Layout, func(p *Product) { b.Multiply(p, 0, p.Count, 0) })
}

// Multiply multiplies the panels from first up to last with the rows of activations from token on.
func (b *BlockTiles) Multiply(p *Product, first, last, token int) {
	for i := first; i < last; i++ {
		planes := p.Planes(b.Layout, i)
		for row := 0; row < Rows; row += b.Rows {
			b.multiplyRows(p, b.Layout.RowsOf(planes, row), i*Rows+row, token)
		}
	}
}

// multiplyRows multiplies a tile's rows, beginning with the product's row at, with the rows of activations from token on.
func (b *BlockTiles) multiplyRows(p *Product, planes [3]*byte, at, token int) {
	a, tiles := p.Acts, b.Tiles
	blocks, groups := a.K/a.Form.BlockLen(), a.K/a.Form.GroupLen()
	for t := token; t < a.Rows; {
		for tiles[0].Tokens > a.Rows-t {
			tiles = tiles[1:]
		}
		n := tiles[0].Tokens
		out := p.Out[t*p.Stride+at:][:(n-1)*p.Stride+b.Rows]
		q, d, sums := a.Q[t*a.K:(t+n)*a.K], a.D[t*blocks:(t+n)*blocks], a.Sums[t*groups:(t+n)*groups]
		tiles[0].Run(planes[0], planes[1], planes[2], blocks, &q[0], &d[0], &sums[0], a.K, &out[0], p.Stride)
		t += n
	}
}
