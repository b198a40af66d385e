//go:build !purego

package asm

import (
	"slices"
	"unsafe"
)

// blockReader is the assembly for a format in blocks of 32: the products with panels of weights are those with keys too, and
// values are widened some slots at a time.
type blockReader struct {
	layout    *panelLayout
	transpose func(w, scales, k *byte, stride, n, blocks int)
	tiles     []blockTile // of eight keys, the last for one query
	widen     func(dst *float32, src *byte, n int)
}

// reads is cacheReader.reads: heads are whole blocks.
func (c *blockReader) reads(t *AttentionTile) bool {
	return t.Format == c.layout.format && t.HeadDim%t.Format.BlockLen == 0
}

// score is cacheReader.score: PanelRows keys at a time.
func (c *blockReader) score(t *AttentionTile, visible []int, longest int) {
	size := t.Format.Bytes(t.HeadDim)
	k, room := t.K[:(longest-1)*t.Stride+size], t.Panel[:PanelKeys*t.HeadDim]
	planes := c.layout.cut(unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), PanelRows*size), t.HeadDim)
	for j := 0; j < longest; j += PanelRows {
		c.transpose(&planes[0][0], &planes[1][0], &k[j*t.Stride], t.Stride, min(PanelRows, longest-j), t.HeadDim/t.Format.BlockLen)
		for at := j; at < min(j+PanelRows, longest); at += 8 {
			c.scoreRows(t, c.layout.rowsOf(planes, at-j), visible, at)
		}
	}
}

// scoreRows computes the scores of eight keys from slot j on.
func (c *blockReader) scoreRows(t *AttentionTile, keys [3]*byte, visible []int, j int) {
	d, q, tiles := t.HeadDim, t.Queries, c.tiles
	blocks := d / t.Format.BlockLen
	for r := 0; r < len(visible); {
		for tiles[0].tokens > len(visible)-r {
			tiles = tiles[1:]
		}
		n := tiles[0].tokens
		if slices.Max(visible[r:r+n]) > j {
			x, scales, sums := q.Q[r*d:(r+n)*d], q.D[r*blocks:(r+n)*blocks], q.Sums[r*blocks:(r+n)*blocks]
			scores := t.Scores[r*TileKeys+j:][:(n-1)*TileKeys+8]
			tiles[0].run(keys[0], keys[1], keys[2], blocks, &x[0], &scales[0], &sums[0], d, &scores[0], TileKeys)
		}
		r += n
	}
}

// sum is cacheReader.sum: PanelKeys slots at a time.
func (c *blockReader) sum(t *AttentionTile, visible []int, longest int) {
	d := t.HeadDim
	v, widened := t.V[:(longest-1)*t.Stride+t.Format.Bytes(d)], t.Panel[:PanelKeys*d]
	kernels := valueKernels{valuesF32NEONx4, valuesF32NEONx1}
	for first := 0; first < longest; first += PanelKeys {
		n := min(PanelKeys, longest-first)
		for j := range n {
			c.widen(&widened[j*d], &v[(first+j)*t.Stride], d)
		}
		kernels.add(t, visible, first, unsafe.Slice((*byte)(unsafe.Pointer(&widened[0])), 4*len(widened)), 4*d, n)
	}
}

// transposeQ8_0NEON brings n of PanelRows keys of Q8_0, n > 0, into a panel of layoutQ8_0: w and scales are its planes. Up to
// the next multiple of four, keys that are missing are the last one.
//
//go:noescape
func transposeQ8_0NEON(w, scales, k *byte, stride, n, blocks int)

// transposeQ4_0NEON does so for Q4_0.
//
//go:noescape
func transposeQ4_0NEON(w, scales, k *byte, stride, n, blocks int)
