//go:build !purego

package attention

import (
	"slices"

	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
	"github.com/antigravity-go/antigravity/quant"
)

// NEON is the unit of Advanced SIMD, and SDOT that of its products of integers.
var (
	NEON = unitOf(integersNEON)
	SDOT = unitOf(integersSDOT)
)

// unitOf returns the unit with some kernels of integers.
func unitOf(integers integerKernels) Unit {
	return Unit{
		vectors: &vectors.NEON,
		convert: convert.NEON,
		width:   16,
		values: []floatValues{
			{quant.F16, valueKernels{valuesF16NEONx4, valuesF16NEONx1}},
			{quant.F32, valueKernels{valuesF32NEONx4, valuesF32NEONx1}},
			{quant.BF16, valueKernels{valuesBF16NEONx4, valuesBF16NEONx1}},
		},
		integerKernels: integers,
	}
}

// valueKernels add weighted values of one format to the results of query rows: of four, and of one.
type valueKernels struct {
	four func(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)
	one  func(out, p *float32, v *byte, stride, n, headDim int)
}

// add adds n weighted values, v, from slot first on, to the results of all rows: of four rows first the slots that all of them see, then
// what a row sees beyond.
func (k *valueKernels) add(t *Tile, first int, v []byte, n int) {
	stride, visible := len(v)/n, t.Visible[:t.Queries.Rows]
	out := func(r int) *float32 { return &t.Out[r*t.HeadDim:][:t.HeadDim][0] }
	for r := 0; r < len(visible); {
		rows, common := 1, 0
		if len(visible)-r >= 4 {
			rows, common = 4, max(min(slices.Min(visible[r:r+4])-first, n), 0)
		}
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
