//go:build !purego

package arm64

import (
	"github.com/antigravity-go/antigravity/asm/internal/panels"
)

// unpackedRows multiplies unpacked panels with eight rows of activations at a time, which are arranged as for other panels. Unpacked
// weights serve a few eights of rows, and arranged activations serve all panels. Fewer rows than eight are multiplied as unpackedPanels are.
//
// The calls for two panels of Q3_K, rows of 512 elements, and 13 rows of activations:
//
//	interleave256    rows 0 to 7 of the activations, two by two
//	interleave256    rows 8 to 12, and row 12 three times more
//	unpackQ3_K       the first panel
//	weighPairs       its quants times their scales
//	weighedI8MMx8       rows 0 to 3 of the panel with the first eight rows of activations; then rows 4 to 7, 8 to 11, 12 to 15
//	weighedI8MMx8       the same with the others, to a tile from which five rows are copied
//	these four       again for the second panel
type unpackedRows struct {
	unpackedPanels
	arranged arrangedPanels
}

// togetherEights is how many eights of rows of activations unpacked weights are multiplied with: those fill arrangedChunk.
const togetherEights = arrangedChunk / (unpackedElements / 32 * arrangedBytes32)

// multiply is Panels.Multiply.
func (m *unpackedRows) multiply(p *panels.Product) {
	if p.Acts.Rows < arrangedRows {
		m.unpackedPanels.multiply(p)
		return
	}
	for t := range p.Acts.Rows {
		clear(p.Out[t*p.Stride:][:p.Count*panels.Rows])
	}
	var acts [arrangedChunk]byte
	var u unpacked
	block := m.layout.Format.BlockLen()
	blocks, step := p.Acts.K/block, unpackedElements/block
	for t := 0; t < p.Acts.Rows; t += togetherEights * arrangedRows {
		rows := min(togetherEights*arrangedRows, p.Acts.Rows-t)
		for from := 0; from < blocks; from += step {
			n := min(step, blocks-from)
			size := n * m.arranged.actBytes()
			for r := 0; r < rows; r += arrangedRows {
				m.arranged.arrange(acts[r/arrangedRows*size:], p.Acts, t+r, from, n)
			}
			for i := range p.Count {
				planes := p.Planes(m.layout, i)
				for j, bytes := range m.layout.PlaneBytes {
					planes[j] = planes[j][from*bytes:]
				}
				m.unpack(&u, planes, n)
				m.pair(&u, n)
				for r := 0; r < rows; r += arrangedRows {
					m.multiplyEight(p, &u, planes, n, acts[r/arrangedRows*size:], t+r, i*panels.Rows)
				}
			}
		}
	}
}

// pair lays n blocks out as the kernel wants them.
func (m *unpackedRows) pair(u *unpacked, n int) {
	switch m.arranged.kernel {
	case i8mmWeighedMinimums, i8mmWeighed:
		weighPairs(&u.quants[0], &u.scales[0], 16*n)
	case i8mmRuns:
		pairLines(&u.quants[0], 16*n)
	}
}

// multiplyEight adds the products of a panel's n blocks with eight rows of activations from t on to those of the panel's outputs, from at on.
// If there are fewer rows, a tile has the other outputs.
func (m *unpackedRows) multiplyEight(p *panels.Product, u *unpacked, planes [3][]byte, n int, acts []byte, t, at int) {
	rows := p.Acts.Rows - t
	if rows >= arrangedRows {
		m.multiplyTile(u, planes, n, acts, p.Out[t*p.Stride+at:], p.Stride)
		return
	}
	var tile [arrangedRows * panels.Rows]float32
	for r := range rows {
		copy(tile[r*panels.Rows:][:panels.Rows], p.Out[(t+r)*p.Stride+at:])
	}
	m.multiplyTile(u, planes, n, acts, tile[:], panels.Rows)
	for r := range rows {
		copy(p.Out[(t+r)*p.Stride+at:], tile[r*panels.Rows:][:panels.Rows])
	}
}

// multiplyTile adds the products of a panel's n blocks with eight rows of activations to out.
func (m *unpackedRows) multiplyTile(u *unpacked, planes [3][]byte, n int, acts []byte, out []float32, stride int) {
	out = out[:(arrangedRows-1)*stride+panels.Rows]
	unit := 4 // bytes of a row that are next to each other
	if m.arranged.kernel >= i8mmWeighedMinimums {
		unit = 8
	}
	for row := 0; row < panels.Rows; row += m.arranged.rows {
		at := m.layout.RowsOf(planes, row)
		inner := at[2]
		if m.arranged.kernel == i8mmRuns {
			inner = &u.scales[row]
		}
		m.arranged.run(&u.quants[unit*row], at[1], inner, n, &acts[0], &out[row], stride)
	}
}
