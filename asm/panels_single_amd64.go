//go:build !purego

package asm

import "unsafe"

// singleKernel is a kernel for panels in blocks: the product of panelsOfSingle panels, which follow each other every
// panelBytes, with a single row of activations. Otherwise it is as in blockTile. A row's result in panel i goes to
// out[i·PanelRows + row].
type singleKernel func(w, scales, inner *byte, panelBytes, blocks int, q *int8, d *float32, sums *int32, out *float32)

// singlePanelsOf is panelsOf with a kernel for a single row of activations. Such a product waits for memory, and a core
// reads faster in several places at once than in one.
func singlePanelsOf(l *panelLayout, rows int, tiles []blockTile, single singleKernel) *Panels {
	panels, rest := panelsOf(l, rows, tiles), blockTiles{l, rows, tiles[len(tiles)-1:]}
	several := panels.Multiply
	panels.Multiply = func(p *PanelProduct) {
		if p.Acts.Rows > 1 {
			several(p)
			return
		}
		done := multiplySingle(l, single, p)
		rest.multiply(p, done, p.Count, 0)
	}
	return panels
}

// longestSingle is how many bytes of weights one call reads at most: what a core reads in some 50 microseconds.
const longestSingle = 640 << 10

// multiplySingle multiplies panels with the only row of activations, panelsOfSingle at a time, and returns how many: none
// where they are too long for one call.
func multiplySingle(l *panelLayout, single singleKernel, p *PanelProduct) (done int) {
	a, size := p.Acts, l.bytes(p.Acts.K)
	if panelsOfSingle*size > longestSingle {
		return 0
	}
	for ; done+panelsOfSingle <= p.Count; done += panelsOfSingle {
		at := l.rowsOf(l.cut(p.Panels[done*size:(done+1)*size], a.K), 0)
		out := p.Out[done*PanelRows : (done+panelsOfSingle)*PanelRows]
		single(at[0], at[1], at[2], size, a.K/l.format.BlockLen, &a.Q[0], &a.D[0], &a.Sums[0], &out[0])
	}
	return done
}

// inParts returns a kernel for panelsOfSingle panels of floats that multiplies long rows in parts, by one that adds to out.
func inParts(l *panelLayout, add floatKernel) floatKernel {
	bytes := l.bytes(1)
	part := longestSingle / (panelsOfSingle * bytes)
	return func(w *byte, panelBytes, k int, x, out *float32, stride int) {
		clear(unsafe.Slice(out, panelsOfSingle*PanelRows))
		for at := 0; at < k; at += part {
			w, x := (*byte)(unsafe.Add(unsafe.Pointer(w), at*bytes)), (*float32)(unsafe.Add(unsafe.Pointer(x), at*4))
			add(w, panelBytes, min(part, k-at), x, out, stride)
		}
	}
}
