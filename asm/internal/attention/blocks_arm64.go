//go:build !purego

package attention

import (
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/asm/internal/panels"
)

// blockReader is the assembly for a format in blocks of 32: the products with panels of weights are those with keys too, and
// values are widened some slots at a time.
type blockReader struct {
	products  panels.BlockTiles // of eight keys
	transpose func(w, scales, k *byte, stride, n, blocks int)
}

// reads is cacheReader.reads: heads are whole blocks.
func (c *blockReader) reads(t *Tile) bool {
	return t.Format == c.products.Layout.Format && t.HeadDim%t.Format.BlockLen() == 0
}

// score is cacheReader.score: panels.Rows keys at a time.
func (c *blockReader) score(t *Tile, visible []int, longest int) {
	size := t.Format.Bytes(t.HeadDim)
	k, room := t.K[:(longest-1)*t.Stride+size], t.Panel[:PanelKeys*t.HeadDim]
	planes := c.products.Layout.Cut(unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), panels.Rows*size), t.HeadDim)
	for j := 0; j < longest; j += panels.Rows {
		c.transpose(&planes[0][0], &planes[1][0], &k[j*t.Stride], t.Stride, min(panels.Rows, longest-j), t.HeadDim/t.Format.BlockLen())
		for at := j; at < min(j+panels.Rows, longest); at += 8 {
			c.scoreRows(t, c.products.Layout.RowsOf(planes, at-j), visible, at)
		}
	}
}

// scoreRows computes the scores of eight keys from slot j on.
func (c *blockReader) scoreRows(t *Tile, keys [3]*byte, visible []int, j int) {
	d, q, tiles := t.HeadDim, t.Queries, c.products.Tiles
	blocks := d / t.Format.BlockLen()
	for r := 0; r < len(visible); {
		for tiles[0].Tokens > len(visible)-r {
			tiles = tiles[1:]
		}
		n := tiles[0].Tokens
		if slices.Max(visible[r:r+n]) > j {
			x, scales, sums := q.Q[r*d:(r+n)*d], q.D[r*blocks:(r+n)*blocks], q.Sums[r*blocks:(r+n)*blocks]
			scores := t.Scores[r*TileKeys+j:][:(n-1)*TileKeys+8]
			tiles[0].Run(keys[0], keys[1], keys[2], blocks, &x[0], &scales[0], &sums[0], d, &scores[0], TileKeys)
		}
		r += n
	}
}

// sum is cacheReader.sum: PanelKeys slots at a time.
func (c *blockReader) sum(t *Tile, visible []int, longest int) {
	d := t.HeadDim
	v, widened := t.V[:(longest-1)*t.Stride+t.Format.Bytes(d)], t.Panel[:PanelKeys*d]
	kernels, read := valueKernels{valuesF32NEONx4, valuesF32NEONx1}, convert.NEON.Reader(t.Format)
	for first := 0; first < longest; first += PanelKeys {
		n := min(PanelKeys, longest-first)
		for j := range n {
			read(&widened[j*d], &v[(first+j)*t.Stride], d)
		}
		kernels.add(t, visible, first, unsafe.Slice((*byte)(unsafe.Pointer(&widened[0])), 4*len(widened)), 4*d, n)
	}
}

// transposeQ8_0NEON brings n of panels.Rows keys of Q8_0, n > 0, into a panel of panels.LayoutQ8_0: w and scales are its planes. Up to
// the next multiple of four, keys that are missing are the last one.
//
//go:noescape
func transposeQ8_0NEON(w, scales, k *byte, stride, n, blocks int)

// transposeQ4_0NEON brings keys of Q4_0 into a panel of panels.LayoutQ4_0 in the same way.
//
//go:noescape
func transposeQ4_0NEON(w, scales, k *byte, stride, n, blocks int)
