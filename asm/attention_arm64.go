//go:build !purego

package asm

import (
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/quant"
)

// cacheReader is the assembly that reads keys and values of one format.
type cacheReader struct {
	format     *quant.Format
	transposed int // keys that transpose works on
	transpose  func(panel *float32, k *byte, stride, n, headDim int)
	scores4    floatKernel // products of the panel with four queries and with one
	scores1    floatKernel
	values4    func(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)
	values1    func(out, p *float32, v *byte, stride, n, headDim int)
}

// cacheReaders are those of the formats that have such.
func cacheReaders() []cacheReader {
	return []cacheReader{
		{quant.F16, 8, transpose16NEON, f16NEONx4, f16NEONx1, valuesF16NEONx4, valuesF16NEONx1},
		{quant.F32, 4, transpose32NEON, f32NEONx4, f32NEONx1, valuesF32NEONx4, valuesF32NEONx1},
		{quant.BF16, 8, transpose16NEON, bf16NEONx4, bf16NEONx1, valuesBF16NEONx4, valuesBF16NEONx1},
	}
}

// attendNEON sets attention. Keys are brought into the layout of a panel of weights, so that scores are a product with a key
// in each lane, and sums of values have an element of the head in each lane: every sum keeps the order of the portable form.
func attendNEON(k *Kernels) {
	readers := cacheReaders()
	k.Attend = func(t *AttentionTile) {
		i := slices.IndexFunc(readers, func(c cacheReader) bool { return c.format == t.Format })
		if i < 0 || t.HeadDim == 0 || t.HeadDim%16 != 0 {
			attend(t)
			return
		}
		readers[i].attend(t)
	}
}

// attend is the portable attend, for heads of whole sixteens.
func (c *cacheReader) attend(t *AttentionTile) {
	visible := t.Visible[:t.Queries.Rows]
	longest := 0
	for _, n := range visible {
		longest = max(longest, n)
	}
	if longest > 0 {
		c.scoreTile(t, visible, longest)
	}
	for r, n := range visible {
		p := &t.Results[r]
		clear(p.Out)
		p.Max, p.Sum = 0, 0
		if n > 0 {
			row := &t.Scores[r*TileKeys]
			p.Max = maximumNEON(row, n)
			p.Sum = exponentialsNEON(row, n, p.Max)
		}
	}
	for r := 0; r < len(visible) && t.V != nil; {
		r += c.sumRows(t, visible[r:], r)
	}
}

// scoreTile computes the scores of all rows, PanelRows keys at a time. Those that a row does not see are computed too, and
// not used.
func (c *cacheReader) scoreTile(t *AttentionTile, visible []int, longest int) {
	d := t.HeadDim
	k := t.K[:(longest-1)*t.Stride+t.Format.Bytes(d)]
	x, scores, panel := t.Queries.X[:len(visible)*d], t.Scores[:len(visible)*TileKeys], t.Panel[:PanelRows*d]
	w := unsafe.Slice((*byte)(unsafe.Pointer(&panel[0])), 4*len(panel))
	for j := 0; j < longest; j += PanelRows {
		for at := j; at < min(j+PanelRows, longest); at += c.transposed {
			first := (*float32)(unsafe.Pointer(&w[c.format.Bytes(at-j)]))
			c.transpose(first, &k[at*t.Stride], t.Stride, min(c.transposed, longest-at), d)
		}
		r := 0
		for ; r+4 <= len(visible); r += 4 {
			if slices.Max(visible[r:r+4]) > j {
				c.scores4(&w[0], 0, d, &x[r*d], &scores[r*TileKeys+j], TileKeys)
			}
		}
		for ; r < len(visible); r++ {
			if visible[r] > j {
				c.scores1(&w[0], 0, d, &x[r*d], &scores[r*TileKeys+j], TileKeys)
			}
		}
	}
}

// sumRows adds the weighted values to the results of four rows, the first of which is r, or of one, and returns how many:
// first the slots that all of them see, then what a row sees beyond.
func (c *cacheReader) sumRows(t *AttentionTile, visible []int, r int) int {
	rows, common := 1, 0
	if len(visible) >= 4 {
		rows, common = 4, slices.Min(visible[:4])
	}
	if common > 0 {
		c.values4(c.out(t, r), c.out(t, r+1), c.out(t, r+2), c.out(t, r+3), &t.Scores[r*TileKeys:][:3*TileKeys+common][0],
			c.value(t, 0, common), t.Stride, common, t.HeadDim)
	}
	for i, n := range visible[:rows] {
		if n > common {
			c.values1(c.out(t, r+i), &t.Scores[(r+i)*TileKeys:][common:n][0], c.value(t, common, n), t.Stride, n-common, t.HeadDim)
		}
	}
	return rows
}

// out returns where row r's values are summed.
func (c *cacheReader) out(t *AttentionTile, r int) *float32 { return &t.Results[r].Out[:t.HeadDim][0] }

// value returns where slot from's value is, of those up to slot to.
func (c *cacheReader) value(t *AttentionTile, from, to int) *byte {
	return &t.V[from*t.Stride : (to-1)*t.Stride+t.Format.Bytes(t.HeadDim)][0]
}

// transpose16NEON brings n of 8 keys of binary16 or bfloat16 into half of a panel: element i of key j goes to
// panel[16·i+j], as the 16 bits that it has. Keys that are missing are the last one; headDim is a multiple of 8.
//
//go:noescape
func transpose16NEON(panel *float32, k *byte, stride, n, headDim int)

// transpose32NEON brings n of 4 keys of binary32 into a quarter of a panel, as transpose16NEON does.
//
//go:noescape
func transpose32NEON(panel *float32, k *byte, stride, n, headDim int)

// valuesF32NEONx4 computes outᵣ[i] = fma(p[r·TileKeys+j], v[j][i], outᵣ[i]) for i < headDim, in order of j < n; headDim is a
// multiple of 16, and values are stride bytes apart.
//
//go:noescape
func valuesF32NEONx4(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)

// valuesF32NEONx1 does so for one row.
//
//go:noescape
func valuesF32NEONx1(out, p *float32, v *byte, stride, n, headDim int)

// valuesF16NEONx4 computes outᵣ[i] = fma(p[r·TileKeys+j], v[j][i], outᵣ[i]) for i < headDim, in order of j < n; headDim is a
// multiple of 16, and values are stride bytes apart.
//
//go:noescape
func valuesF16NEONx4(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)

// valuesF16NEONx1 does so for one row.
//
//go:noescape
func valuesF16NEONx1(out, p *float32, v *byte, stride, n, headDim int)

// valuesBF16NEONx4 computes outᵣ[i] = fma(p[r·TileKeys+j], v[j][i], outᵣ[i]) for i < headDim, in order of j < n; headDim is a
// multiple of 16, and values are stride bytes apart.
//
//go:noescape
func valuesBF16NEONx4(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)

// valuesBF16NEONx1 does so for one row.
//
//go:noescape
func valuesBF16NEONx1(out, p *float32, v *byte, stride, n, headDim int)
