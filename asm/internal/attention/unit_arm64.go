//go:build !purego

package attention

import (
	"slices"

	"github.com/antigravity-go/antigravity/asm/internal/panels/arm64"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
	"github.com/antigravity-go/antigravity/quant"
)

// cacheReader reads keys and values of one format.
type cacheReader interface {
	// reads tells whether it can read a tile.
	reads(t *Tile) bool
	// score computes the scores of all rows; longest > 0 slots are seen by the row that sees most. Scores that a row does not
	// see are computed too, and not used.
	score(t *Tile, visible []int, longest int)
	// sum adds the weighted values to the results of all rows.
	sum(t *Tile, visible []int, longest int)
}

// AttendNEON returns attention by Advanced SIMD.
func AttendNEON() func(t *Tile) {
	return attendWith(&blockReader{arm64.BlocksQ8_0NEON, transposeQ8_0NEON}, &blockReader{arm64.BlocksQ4_0NEON, transposeQ4_0NEON})
}

// AttendSDOT returns attention by Advanced SIMD with scores of keys in blocks by SDOT.
func AttendSDOT() func(t *Tile) {
	return attendWith(&blockReader{arm64.BlocksQ8_0SDOT, transposeQ8_0NEON}, &blockReader{arm64.BlocksQ4_0SDOT, transposeQ4_0NEON})
}

// attendWith returns attention to what the readers of float formats and some more read; the portable form attends to the rest.
// Keys are brought into the layout of a panel of weights, so that scores are a product with a key in each lane, and sums of
// values have an element of the head in each lane: every sum keeps the order of the portable form.
func attendWith(more ...cacheReader) func(t *Tile) {
	readers := append([]cacheReader{
		&floatReader{quant.F16, 8, transpose16NEON, arm64.FloatsF16NEON, valueKernels{valuesF16NEONx4, valuesF16NEONx1}},
		&floatReader{quant.F32, 4, transpose32NEON, arm64.FloatsF32NEON, valueKernels{valuesF32NEONx4, valuesF32NEONx1}},
		&floatReader{quant.BF16, 8, transpose16NEON, arm64.FloatsBF16NEON, valueKernels{valuesBF16NEONx4, valuesBF16NEONx1}},
	}, more...)
	return func(t *Tile) {
		i := slices.IndexFunc(readers, func(c cacheReader) bool { return c.reads(t) })
		if i < 0 || t.HeadDim == 0 {
			Attend(t)
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
			t.makeWeights(r, n)
		}
		if longest > 0 && t.V != nil {
			readers[i].sum(t, visible, longest)
		}
	}
}

// makeWeights makes weights of the scores of row r, which sees n slots, and begins its result.
func (t *Tile) makeWeights(r, n int) {
	p := &t.Results[r]
	clear(p.Out)
	p.Max, p.Sum = 0, 0
	if n > 0 {
		row := t.Scores[r*TileKeys:][:n]
		p.Max = vectors.NEON.Maximum(row)
		p.Sum = vectors.NEON.Exponentials(row, p.Max)
	}
}
