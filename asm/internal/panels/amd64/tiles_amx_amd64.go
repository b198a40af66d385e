//go:build !purego

package amd64

import "github.com/antigravity-go/antigravity/asm/internal/panels"

// amxFormat is the kernel of AMX for two panels of a format.
type amxFormat struct {
	layout *panels.Layout
	tokens int // rows of activations of a tile
	blocks int // how many blocks a call multiplies at most: it unpacks them to its stack
	tiles  int // how many tiles a call computes at most: a few tens of microseconds
	run    amxKernel
	few    amxFewKernel // for fewest to most rows of activations; nil: no such kernel
}

// amxFewKernel multiplies some blocks of two panels, which are panelBytes apart, with up to 16 rows of activations. It adds to out,
// or, where first is 1, begins with zero. Otherwise it is as panels.BlockKernel.
type amxFewKernel func(w, scales *byte, panelBytes, blocks int, q *int8, d *float32, sums *int32, tokens, k int, out *float32, stride, first int)

// amxKernel multiplies some blocks of two panels, which are panelBytes apart, with the rows of activations of several tiles. It
// adds to out, or, where first is 1, begins with zero. Otherwise it is as panels.BlockKernel.
type amxKernel func(w, scales, inner *byte, panelBytes, blocks int, q *int8, d *float32, sums *int32, tiles, k int, out *float32, stride, first int)

// AMX returns panels that AMX multiplies; AVX-512 VNNI multiplies what does not fill AMX's tiles: the last rows of activations
// and a last panel without a neighbour.
func AMX() (list []*panels.Panels) {
	single := Near()
	for _, f := range tilesAMX {
		for _, rest := range unitAVX512VNNI.blocks {
			if rest.layout == f.layout {
				list = append(list, f.panels(panels.Find(single, f.layout.Format), rest.blockTiles()))
			}
		}
	}
	return list
}

// panels returns panels that the kernels multiply. Products that have too few rows for tiles and for the kernel for few are left to below,
// and the edges of others to the tiles called rest. A product of some rows more than the kernel for few takes is computed by it in passes: the
// kernel for tiles unpacks first, which pays for many rows only. For example, with 16 rows in a tile:
//
//	8 rows     below
//	24 rows    few with 12 rows, twice
//	70 rows    4 tiles, and rest with 6 rows
//	75 rows    4 tiles, and few with 11 rows
//
// Weights of Q8_0, Q4_0 and Q4_1 that come from memory, one thread of a Xeon, rows of 2048, times as fast as tiles and rest: 24 rows 1.7, 1.4
// and 1.5, 32 rows 1.5, 1.2 and 1.2, 48 rows 1.5, 1.0 and 1.1, 60 rows 1.3, 1.1 and 1.0; in passes 64 rows 1.2, 0.96 and 1.05.
func (f amxFormat) panels(below *panels.Panels, rest panels.BlockTiles) *panels.Panels {
	return panels.New(f.layout, func(p *panels.Product) {
		rows, least := p.Acts.Rows, leastTiles*f.tokens
		tiles := rows / f.tokens
		if f.few != nil {
			least = fewest
			if rows <= mostInPasses {
				tiles = 0
			}
		}
		if p.Count < 2 || rows < least {
			below.Multiply(p)
			return
		}
		done := tiles * f.tokens
		few := f.few != nil && rows-done >= fewest
		for i := 0; i+2 <= p.Count; i += 2 {
			f.multiplyPair(p, i, tiles)
			if few {
				f.multiplyFew(p, i, done)
			}
		}
		if !few {
			rest.Multiply(p, 0, p.Count&^1, done)
		}
		rest.Multiply(p, p.Count&^1, p.Count, 0)
	})
}

// multiplyPair multiplies panels i and i+1 with the rows of activations of the first tiles.
func (f *amxFormat) multiplyPair(p *panels.Product, i, tiles int) {
	a := p.Acts
	blocks, groups := a.K/f.layout.Format.BlockLen(), a.K/a.Form.GroupLen()
	for b := 0; b < blocks; b += f.blocks {
		w, first := f.from(p, i, b)
		for t := 0; t < tiles; t += f.tiles {
			m := min(f.tiles, tiles-t)
			row := t * f.tokens
			out := p.Out[row*p.Stride+i*panels.Rows:][:(m*f.tokens-1)*p.Stride+2*panels.Rows]
			f.run(w[0], w[1], w[2], p.PanelBytes(f.layout), min(f.blocks, blocks-b), &a.Q[row*a.K+b*f.layout.Format.BlockLen()],
				&a.D[row*blocks+b], &a.Sums[row*groups+b*groups/blocks], m, a.K, &out[0], p.Stride, first)
		}
	}
}

// from returns where block b of panel i begins in each plane, and 1 for the first block, else 0.
func (f *amxFormat) from(p *panels.Product, i, b int) (w [3]*byte, first int) {
	l, planes := f.layout, p.Planes(f.layout, i)
	for plane, bytes := range l.PlaneBytes {
		planes[plane] = planes[plane][b*bytes:]
	}
	if b == 0 {
		first = 1
	}
	return l.RowsOf(planes, 0), first
}

// leastTiles is how many tiles' rows of activations a product of a format without a kernel for few has at least: with fewer AVX-512 VNNI is
// faster. Times as fast as AMX with 16 and 24 rows: Q6_K 1.0 and 1.4, Q5_0 1.1 and 1.5, IQ4_NL 1.4 and 1.2, MXFP4 1.1 and 1.3, Q3_K 0.8 and 1.2, Q2_K 1.0 and 1.2.
const leastTiles = 2

// The limits of an amxFewKernel.
const (
	fewest, most = 9, 16 // rows of activations of a call: for fewer AVX-512 VNNI is as fast, or faster
	mostInPasses = 48    // rows of activations that no tiles are for
	blocksOfFew  = 1024  // some tens of microseconds
)

// multiplyFew multiplies panels i and i+1 with the rows of activations from one on, fewest or more, in passes of equally many rows. Passes may overlap: 17
// rows are the rows 0 to 8 and 8 to 16, and row 8 is computed twice. The first pass brings the weights near.
func (f *amxFormat) multiplyFew(p *panels.Product, i, from int) {
	rows := p.Acts.Rows - from
	passes := (rows + most - 1) / most
	n := max((rows+passes-1)/passes, fewest)
	for pass := range passes {
		f.multiplyRows(p, i, from+pass*(rows-n)/max(passes-1, 1), n)
	}
}

// multiplyRows multiplies panels i and i+1 with n rows of activations, the first of them row.
func (f *amxFormat) multiplyRows(p *panels.Product, i, row, n int) {
	a := p.Acts
	blocks, groups := a.K/f.layout.Format.BlockLen(), a.K/a.Form.GroupLen()
	out := p.Out[row*p.Stride+i*panels.Rows:][:(n-1)*p.Stride+2*panels.Rows]
	for b := 0; b < blocks; b += blocksOfFew {
		w, first := f.from(p, i, b)
		f.few(w[0], w[1], p.PanelBytes(f.layout), min(blocksOfFew, blocks-b), &a.Q[row*a.K+b*f.layout.Format.BlockLen()], &a.D[row*blocks+b],
			&a.Sums[row*groups+b*groups/blocks], n, a.K, &out[0], p.Stride, first)
	}
}
