//go:build !purego

package asm

import "github.com/antigravity-go/antigravity/quant"

// matrixTokens is how many rows of activations a product by SMMLA takes together: so many fill the registers.
const matrixTokens = 8

// matrixChunk is the memory for interleaved activations of matrixTokens rows, which stay in the first-level cache while
// panels pass by: 2048 elements of a row.
const matrixChunk = 64 * matrixBytes32

// matrixPanels is how a format's panels are multiplied by SMMLA. It wants eight elements of a row together, of two rows;
// kernels make these of the panels' fours when they load them, which costs little where eight rows of activations share it.
// So the panels are those of the tier below, which serves fewer rows.
type matrixPanels struct {
	layout *panelLayout
	rows   int // of weights in a kernel's tile
	below  *Panels
}

// panelsI8MM sets the products with panels of weights.
func panelsI8MM(k *Kernels) {
	for _, l := range []*panelLayout{layoutQ4_0, layoutQ4_1, layoutQ8_0, layoutQ4_K, layoutQ5_K, layoutQ6_K} {
		m := &matrixPanels{l, 8, k.PanelsFor(l.format)}
		if l.format.Partner == quant.Int8x256 {
			m.rows = 4
		}
		k.replacePanels(&Panels{Format: l.format, Pack: l.pack, Unpack: l.unpack, Multiply: m.multiply})
	}
}

// multiply is Panels.Multiply.
func (m *matrixPanels) multiply(p *PanelProduct) {
	rows := p.Acts.Rows
	if rows < matrixTokens {
		m.below.Multiply(p)
		return
	}
	var acts [matrixChunk]byte
	for t := 0; t < rows; t += matrixTokens {
		m.multiplyTokens(p, &acts, min(t, rows-matrixTokens)) // the last ones may overlap those before
	}
}

// multiplyTokens multiplies with the rows of activations from t on.
func (m *matrixPanels) multiplyTokens(p *PanelProduct, acts *[matrixChunk]byte, t int) {
	out := p.Out[t*p.Stride:][:(matrixTokens-1)*p.Stride+p.Count*PanelRows]
	for i := range matrixTokens {
		clear(out[i*p.Stride:][:p.Count*PanelRows])
	}
	blocks, step := p.Acts.K/m.layout.format.BlockLen, matrixChunk/m.actBytes()
	for from := 0; from < blocks; from += step {
		n := min(step, blocks-from)
		m.interleave(acts, p.Acts, t, from, n)
		for i := range p.Count {
			m.multiplyPanel(p, i, from, n, acts, out[i*PanelRows:])
		}
	}
}

// multiplyPanel adds the products with n blocks of panel i to out.
func (m *matrixPanels) multiplyPanel(p *PanelProduct, i, from, n int, acts *[matrixChunk]byte, out []float32) {
	size := m.layout.bytes(p.Acts.K)
	planes := m.layout.cut(p.Panels[i*size:(i+1)*size], p.Acts.K)
	for j, bytes := range m.layout.planes {
		planes[j] = planes[j][from*bytes:]
	}
	for row := 0; row < PanelRows; row += m.rows {
		at := m.layout.rowsOf(planes, row)
		m.run(at[0], at[1], at[2], n, &acts[0], &out[row], p.Stride)
	}
}

// run multiplies rows of weights, whose planes begin at w, scales and inner, with interleaved activations, and adds the result
// to the rows of out, which are stride elements apart. A sum goes on in the order of blocks, so that it does not matter where
// rows are cut into several calls.
//
// Kernels called by their names, instead of through a table, leave the activations on the stack.
func (m *matrixPanels) run(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int) {
	switch m.layout {
	case layoutQ4_0:
		q4_0I8MMx8(w, scales, blocks, acts, out, stride)
	case layoutQ4_1:
		q4_1I8MMx8(w, scales, blocks, acts, out, stride)
	case layoutQ8_0:
		q8_0I8MMx8(w, scales, blocks, acts, out, stride)
	case layoutQ4_K:
		q4_KI8MMx8(w, scales, inner, blocks, acts, out, stride)
	case layoutQ5_K:
		q5_KI8MMx8(w, scales, inner, blocks, acts, out, stride)
	case layoutQ6_K:
		q6_KI8MMx8(w, scales, inner, blocks, acts, out, stride)
	}
}

// The bytes of a block of activations, sixteen for two rows in each of these: in Int8x32 four groups of eight elements,
// scales, what the sums of a block begin at, and the activations' sums; in Int8x256 32 groups, scales, two parts of the
// activations' sums, and what the sums of sixteen groups begin at.
const (
	matrixBytes32  = (4 + 1 + 1 + 1) * 16 * matrixTokens / 2
	matrixBytes256 = (32 + 1 + 2 + 16) * 16 * matrixTokens / 2
)

// actBytes returns the bytes of a block of activations.
func (m *matrixPanels) actBytes() int {
	if m.layout.format.Partner == quant.Int8x256 {
		return matrixBytes256
	}
	return matrixBytes32
}

// interleave brings blocks [from, from+n) of the rows of activations from t on into the form that the kernels want.
func (m *matrixPanels) interleave(acts *[matrixChunk]byte, a *quant.Activation, t, from, n int) {
	for pair := range matrixTokens / 2 {
		dst, x, y := &acts[16*pair], blocksOf(a, t+2*pair, from, n), blocksOf(a, t+2*pair+1, from, n)
		switch m.layout {
		case layoutQ4_0:
			interleave32(dst, &x.Q[0], &y.Q[0], &x.D[0], &y.D[0], &x.Sums[0], &y.Sums[0], n, -8)
		case layoutQ4_1, layoutQ8_0:
			interleave32(dst, &x.Q[0], &y.Q[0], &x.D[0], &y.D[0], &x.Sums[0], &y.Sums[0], n, 0)
		default:
			interleave256(dst, &x.Q[0], &y.Q[0], &x.D[0], &y.D[0], &x.Sums[0], &y.Sums[0], n)
		}
	}
}

// blocksOf returns blocks [from, from+n) of row t.
func blocksOf(a *quant.Activation, t, from, n int) quant.Activation {
	row := a.Row(t)
	block := a.Partner.BlockLen()
	groups := block / a.Partner.GroupLen()
	return quant.Activation{Q: row.Q[from*block : (from+n)*block], D: row.D[from : from+n], Sums: row.Sums[from*groups : (from+n)*groups]}
}

// interleave32 writes blocks of two rows, one every matrixBytes32. At 64·g are the elements of group g, eight of q0 and eight
// of q1; at 256, 320 and 384 are scales, what integer sums begin at, and the activations' sums as binary32, of both rows,
// twice. A sum begins at bias times the sum of the activations, what unsigned weights are too large by, and the bits of
// 1.5·2²³.
//
//go:noescape
func interleave32(dst *byte, q0, q1 *int8, d0, d1 *float32, sums0, sums1 *int32, blocks, bias int)

// q4_0I8MMx8 multiplies 8 rows of weights with 8 of interleaved activations, see matrixPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q4_0I8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q4_1I8MMx8 does so for Q4_1, and adds (m[b][r]·d[t][b])·sums[t][b] after each block.
//
//go:noescape
func q4_1I8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q8_0I8MMx8 does so for Q8_0.
//
//go:noescape
func q8_0I8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// interleave256 writes blocks of two rows, one every matrixBytes256. At 64·g are the elements of group g, eight of q0 and
// eight of q1; then, every 64 bytes, scales, of both rows, twice; the lower part l of the activations' sums of 32, eight of
// each row, and the higher part h, the sums being 128·h + l; and for sixteen groups of sixteen -32 times their sums, of both
// rows, twice.
//
//go:noescape
func interleave256(dst *byte, q0, q1 *int8, d0, d1 *float32, sums0, sums1 *int32, blocks int)

// q4_KI8MMx8 multiplies 4 rows of weights with 8 of interleaved activations, see matrixPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                   then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q4_KI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)

// q5_KI8MMx8 does so for Q5_K.
//
//go:noescape
func q5_KI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)

// q6_KI8MMx8 does so for Q6_K, which has no minimums.
//
//go:noescape
func q6_KI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)
