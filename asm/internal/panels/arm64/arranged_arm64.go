//go:build !purego

package arm64

import (
	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/quant"
)

// arrangedRows is how many rows of activations the kernels here take together: their sums fill the registers.
const arrangedRows = 8

// arrangedChunk is the memory for arranged activations, which stay in the first-level cache while panels pass by: 2048
// elements of each row.
const arrangedChunk = 64 * arrangedBytes32

// arrangedPanels multiplies a format's panels with eight rows of activations at a time. The activations are brought into the order
// in which the kernel reads them, once for all panels of a product. SMMLA multiplies eight neighbouring elements of a row of
// weights, and panels have four together: its kernels join two fours when they load them, which costs little where eight rows of
// activations share it. So the layout is that of the panels called below, which multiply what has fewer rows of activations.
type arrangedPanels struct {
	layout *panels.Layout
	kernel arrangedKernel
	rows   int // of weights in a kernel's tile
	below  *panels.Panels
}

// arrangedKernel is one of the kernels.
type arrangedKernel int

const (
	sdotQ4_0 arrangedKernel = iota
	sdotQ4_1
	sdotQ8_0
	sdotMinimums
	sdotPowers
	i8mmQ4_0
	i8mmQ4_1
	i8mmQ8_0
	i8mmMinimums
	i8mmPowers
	i8mmQ4_K
	i8mmQ5_K
	i8mmQ6_K
	i8mmWeighedMinimums
	i8mmWeighed
	i8mmRuns
)

// arrangedPanelsOf returns panels that multiply by a kernel.
func arrangedPanelsOf(l *panels.Layout, kernel arrangedKernel, rows int, below *panels.Panels) *panels.Panels {
	m := &arrangedPanels{l, kernel, rows, below}
	return panels.New(l, m.multiply)
}

// multiply is Panels.Multiply.
func (m *arrangedPanels) multiply(p *panels.Product) {
	rows := p.Acts.Rows
	if rows < arrangedRows {
		m.below.Multiply(p)
		return
	}
	var acts [arrangedChunk]byte
	for t := 0; t < rows; t += arrangedRows {
		m.multiplyTokens(p, &acts, min(t, rows-arrangedRows)) // the last ones may overlap those before
	}
}

// multiplyTokens multiplies with the rows of activations from t on.
func (m *arrangedPanels) multiplyTokens(p *panels.Product, acts *[arrangedChunk]byte, t int) {
	out := p.Out[t*p.Stride:][:(arrangedRows-1)*p.Stride+p.Count*panels.Rows]
	for i := range arrangedRows {
		clear(out[i*p.Stride:][:p.Count*panels.Rows])
	}
	blocks, step := p.Acts.K/m.layout.Format.BlockLen(), arrangedChunk/m.actBytes()
	for from := 0; from < blocks; from += step {
		n := min(step, blocks-from)
		m.arrange(acts[:], p.Acts, t, from, n)
		for i := range p.Count {
			m.multiplyPanel(p, i, from, n, acts, out[i*panels.Rows:])
		}
	}
}

// multiplyPanel adds the products with n blocks of panel i to out.
func (m *arrangedPanels) multiplyPanel(p *panels.Product, i, from, n int, acts *[arrangedChunk]byte, out []float32) {
	planes := p.Planes(m.layout, i)
	for j, bytes := range m.layout.PlaneBytes {
		planes[j] = planes[j][from*bytes:]
	}
	for row := 0; row < panels.Rows; row += m.rows {
		at := m.layout.RowsOf(planes, row)
		m.run(at[0], at[1], at[2], n, &acts[0], &out[row], p.Stride)
	}
}

// run multiplies rows of weights, with planes that begin at w, scales and inner, with arranged activations, and adds the result to the rows
// of out, which are stride elements apart. A sum goes on in the order of blocks, so that it does not matter where rows are cut into several
// calls.
//
// Kernels called by their names, instead of through a table, leave the activations on the stack.
func (m *arrangedPanels) run(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int) {
	switch m.kernel {
	case sdotQ4_0:
		q4_0SDOTx8(w, scales, blocks, acts, out, stride)
	case sdotQ4_1:
		q4_1SDOTx8(w, scales, blocks, acts, out, stride)
	case sdotQ8_0:
		q8_0SDOTx8(w, scales, blocks, acts, out, stride)
	case sdotMinimums:
		bytes32MinimumsSDOTx8(w, scales, blocks, acts, out, stride)
	case sdotPowers:
		bytes32PowersSDOTx8(w, scales, blocks, acts, out, stride)
	case i8mmQ4_0:
		q4_0I8MMx8(w, scales, blocks, acts, out, stride)
	case i8mmQ4_1:
		q4_1I8MMx8(w, scales, blocks, acts, out, stride)
	case i8mmQ8_0:
		q8_0I8MMx8(w, scales, blocks, acts, out, stride)
	case i8mmMinimums:
		bytes32MinimumsI8MMx8(w, scales, blocks, acts, out, stride)
	case i8mmPowers:
		bytes32PowersI8MMx8(w, scales, blocks, acts, out, stride)
	case i8mmQ4_K:
		q4_KI8MMx8(w, scales, inner, blocks, acts, out, stride)
	case i8mmQ5_K:
		q5_KI8MMx8(w, scales, inner, blocks, acts, out, stride)
	case i8mmQ6_K:
		q6_KI8MMx8(w, scales, inner, blocks, acts, out, stride)
	case i8mmWeighedMinimums:
		weighedMinimumsI8MMx8(w, scales, inner, blocks, acts, out, stride)
	case i8mmWeighed:
		weighedI8MMx8(w, scales, inner, blocks, acts, out, stride)
	case i8mmRuns:
		runsI8MMx8(w, scales, inner, blocks, acts, out, stride)
	}
}

// arrange brings blocks [from, from+n) of the rows of activations from t on into the order that the kernel wants. The last row takes the
// place of rows that are missing.
func (m *arrangedPanels) arrange(acts []byte, a *quant.Activation, t, from, n int) {
	bias := 0
	if m.layout == panels.LayoutQ4_0 {
		bias = -8
	}
	switch {
	case m.kernel <= sdotPowers:
		for i := range arrangedRows {
			x := blocksOf(a, t+i, from, n)
			arrange32(&acts[0], i, &x.Q[0], &x.D[0], &x.Sums[0], n, bias)
		}
	case m.kernel <= i8mmPowers:
		for i := 0; i < arrangedRows; i += 2 {
			x, y := blocksOf(a, t+i, from, n), blocksOf(a, t+i+1, from, n)
			interleave32(&acts[8*i], &x.Q[0], &y.Q[0], &x.D[0], &y.D[0], &x.Sums[0], &y.Sums[0], n, bias)
		}
	default:
		for i := 0; i < arrangedRows; i += 2 {
			x, y := blocksOf(a, t+i, from, n), blocksOf(a, t+i+1, from, n)
			interleave256(&acts[8*i], &x.Q[0], &y.Q[0], &x.D[0], &y.D[0], &x.Sums[0], &y.Sums[0], n)
			if m.kernel == i8mmWeighedMinimums {
				interleaveSums256(&acts[8*i], &x.Sums[0], &y.Sums[0], n)
			}
		}
	}
}

// blocksOf returns blocks [from, from+n) of row t, or of the last one.
func blocksOf(a *quant.Activation, t, from, n int) quant.Activation {
	row := a.Row(min(t, a.Rows-1))
	block := a.Form.BlockLen()
	groups := block / a.Form.GroupLen()
	return quant.Activation{Q: row.Q[from*block : (from+n)*block], D: row.D[from : from+n], Sums: row.Sums[from*groups : (from+n)*groups]}
}

// The bytes of a block of arranged activations, of all rows. For SMMLA two rows have sixteen bytes of each of these: in Int8x32 of
// four groups of eight elements, of the scales, of what the sums of a block begin at, and of the activations' sums; in Int8x256 of
// 32 groups, of the scales, of two parts of the activations' sums, and of what the sums of sixteen groups begin at. For SDOT, which
// has arranged activations in Int8x32 alone, a block takes the same number of bytes.
const (
	arrangedBytes32  = (4 + 1 + 1 + 1) * 16 * arrangedRows / 2
	arrangedBytes256 = (32 + 1 + 2 + 16) * 16 * arrangedRows / 2
)

// actBytes returns the bytes of a block of activations.
func (m *arrangedPanels) actBytes() int {
	if m.layout.Format.ActivationForm() == quant.Int8x256 {
		return arrangedBytes256
	}
	return arrangedBytes32
}

// arrange32 writes blocks of row t of eight, one every arrangedBytes32: what an integer sum begins at, in four lanes, at 16·t,
// elements at 128+32·t, d at 384+4·t, and the activations' sum as binary32 at 416+4·t. A sum begins at bias times the sum of
// the activations, which takes off what the panel's weights are too large by, and the bits of 1.5·2²³: see blocks32_arm64.h.
//
//go:noescape
func arrange32(dst *byte, t int, q *int8, d *float32, sums *int32, blocks, bias int)

// interleave32 writes blocks of two rows, one every arrangedBytes32. At 64·g are the elements of group g, eight of q0 and eight
// of q1; at 256, 320 and 384 are scales, what integer sums begin at, and the activations' sums as binary32, of both rows,
// twice. What integer sums begin at is as for arrange32.
//
//go:noescape
func interleave32(dst *byte, q0, q1 *int8, d0, d1 *float32, sums0, sums1 *int32, blocks, bias int)

// interleave256 writes blocks of two rows, one every arrangedBytes256. At 64·g are the elements of group g, eight of q0 and
// eight of q1; then, every 64 bytes, scales, of both rows, twice; the lower part l of the activations' sums of 32, eight of
// each row, and the higher part h, the sums being 128·h + l; and for sixteen groups of sixteen -32 times their sums, of both
// rows, twice.
//
//go:noescape
func interleave256(dst *byte, q0, q1 *int8, d0, d1 *float32, sums0, sums1 *int32, blocks int)

// interleaveSums256 writes the sums of sixteen groups of blocks of two rows in place of the sums that interleave256 multiplies by -32: the lower
// parts, eight groups of each row, those of the other eight, and both higher parts.
//
//go:noescape
func interleaveSums256(dst *byte, sums0, sums1 *int32, blocks int)
