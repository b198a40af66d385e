//go:build !purego

package arm64

import (
	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/quant"
)

// unpackedPanels multiplies the panels of formats with quants that take several steps to read: some blocks of a panel are unpacked to
// bytes, which stay in the first-level cache while all rows of activations are multiplied with them. There is a function for each way of
// packing, and a kernel for bytes in blocks of 32 and one for bytes in blocks of 256, whatever their format.
//
// The calls for one panel of Q5_0, rows of 1024 elements, and 5 rows of activations, with SDOT:
//
//	unpackFives      blocks 0 to 15, of all 16 rows
//	bytes32SDOTx4    weights' rows 0 to 7, activations' rows 0 to 3
//	bytes32SDOTx1    weights' rows 0 to 7, activations' row 4
//	both             again for the weights' rows 8 to 15
//	all of these     again for blocks 16 to 31
type unpackedPanels struct {
	layout *panels.Layout
	sdot   bool // the processor has SDOT
}

// unpackedElements is how many elements of a row are unpacked together.
const unpackedElements = 512

// nonlinear4 are the values of the sixteen nibbles of quant.IQ4_NL, which a block with the scale 1 has as its elements.
var nonlinear4 = func() (values [16]int8) {
	block := []byte{0, 0x3c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	var elements [32]float32
	_ = quant.IQ4_NL.Dequantize(elements[:], block) // the lengths fit
	for i := range values {
		values[i] = int8(elements[i])
	}
	return values
}()

// fp4 are the values of the sixteen nibbles of quant.MXFP4, which a block with the scale 2^0 has as its elements.
var fp4 = func() (values [16]int8) {
	block := []byte{128, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	var elements [32]float32
	_ = quant.MXFP4.Dequantize(elements[:], block) // the lengths fit
	for i := range values {
		values[i] = int8(elements[i])
	}
	return values
}()

// unpacked are some blocks of a panel: lines of bytes, four elements of sixteen rows each, and, of blocks of 256, scales and minimums of
// groups of sixteen elements, sixteen rows each.
type unpacked struct {
	quants           [unpackedElements * panels.Rows]byte
	scales, minimums [unpackedElements]byte
	weighed          bool // quants have been multiplied by scales, and by -1
}

// unpackedKernel is a kernel that multiplies unpacked panels with eight rows of activations, and how many rows of weights it takes: 0 if
// unpackedPanels multiplies, however many rows of activations there are.
type unpackedKernel struct {
	kernel arrangedKernel
	rows   int
}

// unpackedLayouts are the layouts of the formats that are unpacked, with their kernels.
var unpackedLayouts = []struct {
	layout     *panels.Layout
	sdot, i8mm unpackedKernel
}{
	{panels.LayoutQ5_0, unpackedKernel{sdotQ8_0, 4}, unpackedKernel{i8mmQ8_0, 8}},
	{panels.LayoutQ5_1, unpackedKernel{sdotMinimums, 4}, unpackedKernel{i8mmMinimums, 8}},
	{panels.LayoutIQ4_NL, unpackedKernel{sdotQ8_0, 4}, unpackedKernel{i8mmQ8_0, 8}},
	{panels.LayoutMXFP4, unpackedKernel{sdotPowers, 4}, unpackedKernel{i8mmPowers, 8}},
	{panels.LayoutQ2_K, unpackedKernel{}, unpackedKernel{i8mmWeighedMinimums, 4}},
	{panels.LayoutQ3_K, unpackedKernel{}, unpackedKernel{i8mmWeighed, 4}},
	{panels.LayoutIQ4_XS, unpackedKernel{}, unpackedKernel{i8mmRuns, 4}},
}

// unpackedPanelsOf returns the panels of the formats that are unpacked.
func unpackedPanelsOf(t tier) (list []*panels.Panels) {
	for _, l := range unpackedLayouts {
		m := unpackedPanels{l.layout, t != neon}
		k := [...]unpackedKernel{sdot: l.sdot, i8mm: l.i8mm}[t]
		if k.rows == 0 {
			list = append(list, panels.New(l.layout, m.multiply))
			continue
		}
		rows := &unpackedRows{m, arrangedPanels{layout: l.layout, kernel: k.kernel, rows: k.rows}}
		list = append(list, panels.New(l.layout, rows.multiply))
	}
	return list
}

// tier is a tier of arm64's processors.
type tier int

const (
	neon tier = iota
	sdot
	i8mm
)

// multiply is Panels.Multiply.
func (m *unpackedPanels) multiply(p *panels.Product) {
	for t := range p.Acts.Rows {
		clear(p.Out[t*p.Stride:][:p.Count*panels.Rows])
	}
	var u unpacked
	blocks, step := p.Acts.K/m.layout.Format.BlockLen(), unpackedElements/m.layout.Format.BlockLen()
	for i := range p.Count {
		planes := p.Planes(m.layout, i)
		for from := 0; from < blocks; from += step {
			n := min(step, blocks-from)
			m.unpack(&u, planes, n)
			eights := 0 // rows of activations that weighed quants are multiplied with
			if m.weighs() {
				eights = p.Acts.Rows / 8 * 8
			}
			m.multiplyTokens(p, &u, planes[1], i, from, n, eights, p.Acts.Rows)
			if eights > 0 {
				weighLines(&u.quants[0], &u.scales[0], 16*n)
				u.weighed = true
				m.multiplyTokens(p, &u, planes[1], i, from, n, 0, eights)
			}
			for j, bytes := range m.layout.PlaneBytes {
				planes[j] = planes[j][n*bytes:]
			}
		}
	}
}

// weighs reports whether quants are multiplied by the scales of groups, with which they fit in bytes, for eight rows of activations.
func (m *unpackedPanels) weighs() bool {
	return m.sdot && (m.layout == panels.LayoutQ2_K || m.layout == panels.LayoutQ3_K)
}

// unpack unpacks n blocks, of all rows.
func (m *unpackedPanels) unpack(u *unpacked, planes [3][]byte, n int) {
	u.weighed = false
	switch m.layout.Format {
	case quant.Q5_0:
		unpackFives(&u.quants[0], &planes[0][0], n, 16)
	case quant.Q5_1:
		unpackFives(&u.quants[0], &planes[0][0], n, 0)
	case quant.IQ4_NL:
		unpackNonlinear(&u.quants[0], &planes[0][0], n, &nonlinear4)
	case quant.MXFP4:
		unpackNonlinear(&u.quants[0], &planes[0][0], n, &fp4)
	case quant.IQ4_XS: // eight blocks of IQ4_NL lie as one of IQ4_XS
		unpackNonlinear(&u.quants[0], &planes[0][0], 8*n, &nonlinear4)
		innerIQ4_XS(&u.scales[0], &planes[2][0], n)
	case quant.Q2_K:
		unpackQ2_K(&u.quants[0], &planes[0][0], n)
		innerQ2_K(&u.scales[0], &u.minimums[0], &planes[2][0], n)
	case quant.Q3_K:
		unpackQ3_K(&u.quants[0], &planes[0][0], n)
		innerQ3_K(&u.scales[0], &planes[2][0], n)
	}
}

// multiplyTokens multiplies panel i with rows of activations [first, end), from block from on.
func (m *unpackedPanels) multiplyTokens(p *panels.Product, u *unpacked, scales []byte, i, from, n, first, end int) {
	for row := 0; row < panels.Rows; row += 8 {
		m.multiplyRows(p, u, scales, i*panels.Rows+row, from, n, first, end)
	}
}

// multiplyRows multiplies eight rows, beginning with the product's row at, with rows of activations [first, end), from block from on.
func (m *unpackedPanels) multiplyRows(p *panels.Product, u *unpacked, scales []byte, at, from, n, first, end int) {
	a := p.Acts
	row := at % panels.Rows
	step := m.layout.PlaneBytes[1]
	w, s := &u.quants[4*row], &scales[min(2, step/panels.Rows)*row]
	if a.Form == quant.Int8x32 {
		for t := first; t < end; {
			i := t*a.K/32 + from // the block of the activations
			q, d, sums, out := &a.Q[32*i], &a.D[i], &a.Sums[i], &p.Out[t*p.Stride+at]
			switch {
			case m.sdot && end-t >= 4:
				bytes32SDOTx4(w, s, step, n, q, d, sums, a.K, out, p.Stride)
				t += 4
				continue
			case m.sdot:
				bytes32SDOTx1(w, s, step, n, q, d, sums, out)
			default:
				bytes32NEONx1(w, s, step, n, q, d, sums, out)
			}
			t++
		}
		return
	}
	inner, minimums := &u.scales[row], m.minimums(u, row)
	for t := first; t < end; {
		i := t*a.K/256 + from
		q, d, sums, out := &a.Q[256*i], &a.D[i], &a.Sums[16*i], &p.Out[t*p.Stride+at]
		switch {
		case m.sdot && end-t >= 8:
			for r := row; r < row+8; r += 4 {
				out := &p.Out[t*p.Stride+at-row+r]
				inner := &u.scales[r]
				if u.weighed {
					inner = nil
				}
				bytes256SDOTx8(&u.quants[4*r], &scales[2*r], step, inner, m.minimums(u, r), n, q, d, sums, a.K, out, p.Stride)
			}
			t += 8
			continue
		case m.sdot:
			bytes256SDOTx1(w, s, step, inner, minimums, n, q, d, sums, out)
		default:
			bytes256NEONx1(w, s, step, inner, minimums, n, q, d, sums, out)
		}
		t++
	}
}

// minimums returns those of a row and of the rows after it, nil if the format has no minimums.
func (m *unpackedPanels) minimums(u *unpacked, row int) *byte {
	if m.layout != panels.LayoutQ2_K {
		return nil
	}
	return &u.minimums[row]
}

// unpackFives unpacks blocks of Q5_0 or Q5_1, less a bias.
//
//go:noescape
func unpackFives(dst, quants *byte, blocks, bias int)

// unpackNonlinear unpacks blocks of IQ4_NL; values are those of the nibbles.
//
//go:noescape
func unpackNonlinear(dst, quants *byte, blocks int, values *[16]int8)

// unpackQ2_K unpacks blocks of Q2_K: 0 to 3.
//
//go:noescape
func unpackQ2_K(dst, quants *byte, blocks int)

// unpackQ3_K unpacks blocks of Q3_K: -4 to 3.
//
//go:noescape
func unpackQ3_K(dst, quants *byte, blocks int)

// innerQ2_K unpacks the scales and minimums of groups.
//
//go:noescape
func innerQ2_K(scales, minimums, inner *byte, blocks int)

// innerQ3_K unpacks the scales of groups: -32 to 31.
//
//go:noescape
func innerQ3_K(scales, inner *byte, blocks int)

// innerIQ4_XS unpacks the scales of runs, for each of their groups: -32 to 31.
//
//go:noescape
func innerIQ4_XS(scales, inner *byte, blocks int)

// bytes32NEONx1 multiplies 8 rows of bytes with 1 row of activations, and adds to out; there are minimums m if step, the bytes of a block's
// scales, is 64; if it is 16, scales are powers of two, by their exponents:
//
//	out[r] += Σ_b (scale[b][r]·d[b]) · Σ_i w[b][r][i]·q[b][i], then + (m[b][r]·d[b])·sums[b]
//
//go:noescape
func bytes32NEONx1(w, scales *byte, step, blocks int, q *int8, d *float32, sums *int32, out *float32)

// bytes32SDOTx1 is bytes32NEONx1 by SDOT.
//
//go:noescape
func bytes32SDOTx1(w, scales *byte, step, blocks int, q *int8, d *float32, sums *int32, out *float32)

// bytes32SDOTx4 is bytes32SDOTx1 for 4 rows of activations, of k elements each. Their results are stride elements apart.
//
//go:noescape
func bytes32SDOTx4(w, scales *byte, step, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// bytes256NEONx1 multiplies 8 rows of bytes with 1 row of activations, and adds to out; a nil minimums, with a step of 32, says that the
// format has no minimums, otherwise step is 64:
//
//	out[r] += Σ_b (scale[b][r]·d[b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[b][g][i],
//	          then − (min[b][r]·d[b])·Σ_g m[b][r][g]·sums[b][g]
//
//go:noescape
func bytes256NEONx1(w, scales *byte, step int, inner, minimums *byte, blocks int, q *int8, d *float32, sums *int32, out *float32)

// bytes256SDOTx1 is bytes256NEONx1 by SDOT.
//
//go:noescape
func bytes256SDOTx1(w, scales *byte, step int, inner, minimums *byte, blocks int, q *int8, d *float32, sums *int32, out *float32)

// bytes256SDOTx8 is bytes256SDOTx1 for 4 rows of bytes and 8 rows of activations, of k elements each. Their results are stride elements
// apart. If inner is nil, the bytes have been weighed, see weighLines.
//
//go:noescape
func bytes256SDOTx8(w, scales *byte, step int, inner, minimums *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// pairLines puts the eight elements of a row that two lines have next to each other, in their place.
//
//go:noescape
func pairLines(quants *byte, groups int)

// weighLines multiplies elements by the scales of their groups and by -1, which must fit in bytes: the elements of Q3_K do, since the
// greatest product without the -1 is 128.
//
//go:noescape
func weighLines(quants, scales *byte, groups int)

// weighPairs is weighLines and pairLines.
//
//go:noescape
func weighPairs(quants, scales *byte, groups int)
