//go:build !purego

package asm

import (
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/quant"
)

// cacheReader reads keys and values of one format.
type cacheReader interface {
	// reads tells whether it can read a tile.
	reads(t *AttentionTile) bool
	// score computes the scores of all rows; longest > 0 slots are seen by the row that sees most. Scores that a row does not
	// see are computed too, and not used.
	score(t *AttentionTile, visible []int, longest int)
	// sum adds the weighted values to the results of all rows.
	sum(t *AttentionTile, visible []int, longest int)
}

// attendNEON sets attention.
func attendNEON(k *Kernels) {
	k.Attend = attendWith(append(floatReaders(),
		&blockReader{layoutQ8_0, transposeQ8_0NEON, []blockTile{{2, q8_0NEONx2}, {1, q8_0NEONx1}}, widenQ8_0NEON},
		&blockReader{layoutQ4_0, transposeQ4_0NEON, []blockTile{{2, q4_0NEONx2}, {1, q4_0NEONx1}}, widenQ4_0NEON},
	))
}

// attendSDOT sets attention, with scores of keys in blocks by SDOT.
func attendSDOT(k *Kernels) {
	k.Attend = attendWith(append(floatReaders(),
		&blockReader{layoutQ8_0, transposeQ8_0NEON, []blockTile{{4, q8_0SDOTx4}, {1, q8_0SDOTx1}}, widenQ8_0NEON},
		&blockReader{layoutQ4_0, transposeQ4_0NEON, []blockTile{{4, q4_0SDOTx4}, {1, q4_0SDOTx1}}, widenQ4_0NEON},
	))
}

// attendWith returns attention to what some readers read; the portable form attends to the rest. Keys are brought into the
// layout of a panel of weights, so that scores are a product with a key in each lane, and sums of values have an element of
// the head in each lane: every sum keeps the order of the portable form.
func attendWith(readers []cacheReader) func(t *AttentionTile) {
	return func(t *AttentionTile) {
		i := slices.IndexFunc(readers, func(c cacheReader) bool { return c.reads(t) })
		if i < 0 || t.HeadDim == 0 {
			attend(t)
			return
		}
		visible := t.Visible[:t.Queries.Rows]
		longest := 0
		for _, n := range visible {
			longest = max(longest, n)
		}
		if longest > 0 {
			readers[i].score(t, visible, longest)
		}
		for r, n := range visible {
			t.weigh(r, n)
		}
		if longest > 0 && t.V != nil {
			readers[i].sum(t, visible, longest)
		}
	}
}

// weigh makes weights of the scores of a row that sees n slots, and begins its result.
func (t *AttentionTile) weigh(r, n int) {
	p := &t.Results[r]
	clear(p.Out)
	p.Max, p.Sum = 0, 0
	if n > 0 {
		row := &t.Scores[r*TileKeys]
		p.Max = maximumNEON(row, n)
		p.Sum = exponentialsNEON(row, n, p.Max)
	}
}

// floatReader is the assembly for a float format.
type floatReader struct {
	format     *quant.Format
	transposed int // keys that transpose works on
	transpose  func(panel *float32, k *byte, stride, n, headDim int)
	scores4    floatKernel // products of the panel with four queries and with one
	scores1    floatKernel
	values     valueKernels
}

// floatReaders are those of the float formats.
func floatReaders() []cacheReader {
	return []cacheReader{
		&floatReader{quant.F16, 8, transpose16NEON, f16NEONx4, f16NEONx1, valueKernels{valuesF16NEONx4, valuesF16NEONx1}},
		&floatReader{quant.F32, 4, transpose32NEON, f32NEONx4, f32NEONx1, valueKernels{valuesF32NEONx4, valuesF32NEONx1}},
		&floatReader{quant.BF16, 8, transpose16NEON, bf16NEONx4, bf16NEONx1, valueKernels{valuesBF16NEONx4, valuesBF16NEONx1}},
	}
}

// reads is cacheReader.reads: heads are whole sixteens.
func (c *floatReader) reads(t *AttentionTile) bool { return t.Format == c.format && t.HeadDim%16 == 0 }

// score is cacheReader.score: PanelRows keys at a time.
func (c *floatReader) score(t *AttentionTile, visible []int, longest int) {
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

// sum is cacheReader.sum.
func (c *floatReader) sum(t *AttentionTile, visible []int, longest int) {
	c.values.add(t, visible, 0, t.V[:(longest-1)*t.Stride+t.Format.Bytes(t.HeadDim)], t.Stride, longest)
}

// valueKernels add weighted values to the results of four rows and of one.
type valueKernels struct {
	four func(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)
	one  func(out, p *float32, v *byte, stride, n, headDim int)
}

// add adds the weighted values of n slots from the first on, which lie at v every stride bytes, to the results of all rows:
// of four rows first the slots that all of them see, then what a row sees beyond.
func (k *valueKernels) add(t *AttentionTile, visible []int, first int, v []byte, stride, n int) {
	out := func(r int) *float32 { return &t.Results[r].Out[:t.HeadDim][0] }
	for r := 0; r < len(visible); {
		rows, common := 1, 0
		if len(visible)-r >= 4 {
			rows, common = 4, min(slices.Min(visible[r:r+4])-first, n)
		}
		common = max(common, 0)
		if common > 0 {
			k.four(out(r), out(r+1), out(r+2), out(r+3), &t.Scores[r*TileKeys+first:][:3*TileKeys+common][0], &v[0], stride, common, t.HeadDim)
		}
		for ; rows > 0; rows-- {
			if more := min(visible[r]-first, n) - common; more > 0 {
				k.one(out(r), &t.Scores[r*TileKeys+first+common:][:more][0], &v[common*stride], stride, more, t.HeadDim)
			}
			r++
		}
	}
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
