//go:build !purego

package attention

import (
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/quant"
)

// floatReader is the assembly for a float format.
type floatReader struct {
	format     quant.Format
	transposed int // keys that transpose works on
	transpose  func(panel *float32, k *byte, stride, n, headDim int)
	scores     []panels.FloatTile // products of the panel with four queries, and with one
	values     valueKernels
}

// reads is cacheReader.reads: heads are whole sixteens.
func (c *floatReader) reads(t *Tile) bool { return t.Format == c.format && t.HeadDim%16 == 0 }

// score is cacheReader.score: panels.Rows keys at a time.
func (c *floatReader) score(t *Tile, visible []int, longest int) {
	d := t.HeadDim
	k := t.K[:(longest-1)*t.Stride+t.Format.Bytes(d)]
	x, scores, panel := t.Queries.X[:len(visible)*d], t.Scores[:len(visible)*TileKeys], t.Panel[:panels.Rows*d]
	w := unsafe.Slice((*byte)(unsafe.Pointer(&panel[0])), 4*len(panel))
	for j := 0; j < longest; j += panels.Rows {
		for at := j; at < min(j+panels.Rows, longest); at += c.transposed {
			first := (*float32)(unsafe.Pointer(&w[c.format.Bytes(at-j)]))
			c.transpose(first, &k[at*t.Stride], t.Stride, min(c.transposed, longest-at), d)
		}
		r := 0
		for ; r+4 <= len(visible); r += 4 {
			if slices.Max(visible[r:r+4]) > j {
				c.scores[0].Run(&w[0], 0, d, &x[r*d], &scores[r*TileKeys+j], TileKeys)
			}
		}
		for ; r < len(visible); r++ {
			if visible[r] > j {
				c.scores[1].Run(&w[0], 0, d, &x[r*d], &scores[r*TileKeys+j], TileKeys)
			}
		}
	}
}

// sum is cacheReader.sum.
func (c *floatReader) sum(t *Tile, visible []int, longest int) {
	c.values.add(t, visible, 0, t.V[:(longest-1)*t.Stride+t.Format.Bytes(t.HeadDim)], t.Stride, longest)
}

// valueKernels add weighted values to the results of query rows: of four, and of one.
type valueKernels struct {
	four func(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)
	one  func(out, p *float32, v *byte, stride, n, headDim int)
}

// add adds the weighted values of n slots from the first on, which lie at v every stride bytes, to the results of all rows:
// of four rows first the slots that all of them see, then what a row sees beyond.
func (k *valueKernels) add(t *Tile, visible []int, first int, v []byte, stride, n int) {
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

// valuesF32NEONx1 computes it for one row.
//
//go:noescape
func valuesF32NEONx1(out, p *float32, v *byte, stride, n, headDim int)

// valuesF16NEONx4 computes outᵣ[i] = fma(p[r·TileKeys+j], v[j][i], outᵣ[i]) for i < headDim, in order of j < n; headDim is a
// multiple of 16, and values are stride bytes apart.
//
//go:noescape
func valuesF16NEONx4(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)

// valuesF16NEONx1 computes it for one row.
//
//go:noescape
func valuesF16NEONx1(out, p *float32, v *byte, stride, n, headDim int)

// valuesBF16NEONx4 computes outᵣ[i] = fma(p[r·TileKeys+j], v[j][i], outᵣ[i]) for i < headDim, in order of j < n; headDim is a
// multiple of 16, and values are stride bytes apart.
//
//go:noescape
func valuesBF16NEONx4(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)

// valuesBF16NEONx1 computes it for one row.
//
//go:noescape
func valuesBF16NEONx1(out, p *float32, v *byte, stride, n, headDim int)
