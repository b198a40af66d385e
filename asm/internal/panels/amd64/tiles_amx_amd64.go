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
}

// amxKernel multiplies some blocks of two panels, which are panelBytes apart, with the rows of activations of several tiles. It
// adds to out, or, where first is 1, begins with zero. Otherwise it is as panels.BlockKernel.
type amxKernel func(w, scales, inner *byte, panelBytes, blocks int, q *int8, d *float32, sums *int32, tiles, k int, out *float32, stride, first int)

// AMX returns panels that AMX multiplies; AVX-512 VNNI multiplies what does not fill AMX's tiles: the last rows of activations
// and a last panel without a neighbour.
func AMX() (list []*panels.Panels) {
	single := AVX512VNNI()
	for _, f := range tilesAMX {
		for _, rest := range unitAVX512VNNI.blocks {
			if rest.layout == f.layout {
				list = append(list, f.panels(panels.Find(single, f.layout.Format), unitAVX512VNNI.tiles(rest)))
			}
		}
	}
	return list
}

// panels returns panels that the kernel multiplies. Products that fill no tile are left to below, and the edges of others to
// the tiles called rest.
func (f amxFormat) panels(below *panels.Panels, rest panels.BlockTiles) *panels.Panels {
	return panels.New(f.layout, func(p *panels.Product) {
		tiles := p.Acts.Rows / f.tokens
		if tiles == 0 || p.Count < 2 {
			below.Multiply(p)
			return
		}
		for i := 0; i+2 <= p.Count; i += 2 {
			f.multiplyPair(p, i, tiles)
		}
		rest.Multiply(p, 0, p.Count&^1, tiles*f.tokens)
		rest.Multiply(p, p.Count&^1, p.Count, 0)
	})
}

// multiplyPair multiplies panels i and i+1 with the rows of activations of the first tiles.
func (f *amxFormat) multiplyPair(p *panels.Product, i, tiles int) {
	a, l, size := p.Acts, f.layout, f.layout.Bytes(p.Acts.K)
	blocks, groups := a.K/l.Format.BlockLen(), a.K/a.Form.GroupLen()
	for b := 0; b < blocks; b += f.blocks {
		n := min(f.blocks, blocks-b)
		planes := l.Cut(p.Panels[i*size:(i+1)*size], a.K)
		for plane, bytes := range l.PlaneBytes {
			planes[plane] = planes[plane][b*bytes:]
		}
		w, first := l.RowsOf(planes, 0), 0
		if b == 0 {
			first = 1
		}
		for t := 0; t < tiles; t += f.tiles {
			m := min(f.tiles, tiles-t)
			row := t * f.tokens
			out := p.Out[row*p.Stride+i*panels.Rows:][:(m*f.tokens-1)*p.Stride+2*panels.Rows]
			f.run(w[0], w[1], w[2], size, n, &a.Q[row*a.K+b*l.Format.BlockLen()], &a.D[row*blocks+b],
				&a.Sums[row*groups+b*groups/blocks], m, a.K, &out[0], p.Stride, first)
		}
	}
}
