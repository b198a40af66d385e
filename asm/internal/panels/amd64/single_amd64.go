//go:build !purego

package amd64

import (
	"unsafe"

	"github.com/antigravity-go/antigravity/asm/internal/panels"
)

// singleKernel is a kernel for panels in blocks: the product of panels.Together panels, which follow each other every
// panelBytes, with a single row of activations. Otherwise it is as panels.BlockKernel. A row's result in panel i goes to
// out[i·panels.Rows + row]. next is how many bytes behind these panels' beginning the panels begin that are multiplied next: while the
// kernel multiplies the last blocks, it asks the cache for their first lines, which need not exist.
type singleKernel func(w, scales, inner *byte, panelBytes, next, blocks int, q *int8, d *float32, sums *int32, out *float32)

// blockPanels returns panels that the kernel for a single row of activations multiplies, or those for several rows, or, without such
// kernels, tiles.
func blockPanels(tiles panels.BlockTiles, single singleKernel, several *chunks) *panels.Panels {
	rest := panels.BlockTiles{Layout: tiles.Layout, Rows: tiles.Rows, Tiles: tiles.Tiles[len(tiles.Tiles)-1:]}
	return panels.New(tiles.Layout, func(p *panels.Product) {
		switch {
		case p.Acts.Rows == 1:
			done := multiplySingle(tiles.Layout, single, p)
			rest.Multiply(p, done, p.Count, 0)
		case several.takes(p.Acts):
			several.multiply(tiles.Layout, p)
		default:
			tiles.Multiply(p, 0, p.Count, 0)
		}
	})
}

// longestSingle is how many bytes of weights one call reads at most: what a core reads in some 50 microseconds.
const longestSingle = 640 << 10

// multiplySingle multiplies panels with the only row of activations, panels.Together at a time, and returns how many: 0 if they are too
// long for one call. The next call should begin before the reads of the last one are done, so little may happen in between: to cut each
// panel's planes anew made products of rows of 1024 elements 7 % slower on a Zen 5.
func multiplySingle(l *panels.Layout, single singleKernel, p *panels.Product) (done int) {
	a, size := p.Acts, p.PanelBytes(l)
	if p.Count < panels.Together || panels.Together*size > longestSingle {
		return 0
	}
	first, blocks := l.RowsOf(p.Planes(l, 0), 0), a.K/l.Format.BlockLen()
	steps := [len(first)]int{size, size, size} // from a panel's plane to the next panel's
	if p.Unscaled {
		steps[1] = 0 // all panels have one plane of scales
	}
	if first[2] == nil {
		steps[2] = 0
	}
	at := func(plane int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(first[plane]), done*steps[plane])) }
	for ; done+panels.Together <= p.Count; done += panels.Together {
		out := p.Out[done*panels.Rows : (done+panels.Together)*panels.Rows]
		single(at(0), at(1), at(2), size, panels.Together*size, blocks, &a.Q[0], &a.D[0], &a.Sums[0], &out[0])
	}
	return done
}

// inParts returns a kernel for panels.Together panels of floats that multiplies long rows in parts, by one that adds to out.
func inParts(l *panels.Layout, add panels.FloatKernel) panels.FloatKernel {
	bytes := l.Bytes(1)
	part := longestSingle / (panels.Together * bytes)
	return func(w *byte, panelBytes, k int, x, out *float32, stride int) {
		clear(unsafe.Slice(out, panels.Together*panels.Rows))
		for at := 0; at < k; at += part {
			w, x := (*byte)(unsafe.Add(unsafe.Pointer(w), at*bytes)), (*float32)(unsafe.Add(unsafe.Pointer(x), at*4))
			add(w, panelBytes, min(part, k-at), x, out, stride)
		}
	}
}
