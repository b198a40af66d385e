//go:build (amd64 || arm64) && !purego

package attention

import (
	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/quant"
)

// integerKernels is the assembly for pages of Q8_0 and Q4_0. The comments of the functions say what each computes. For what is nil
// there are kernels over vectors and products by panels.
type integerKernels struct {
	weigh func(p *float32, scales *byte, q *int8, d *float32, sums *int32, rows int)
}

// addIntegers adds the values of the first slots, which are integers.
func (p *panelPages) addIntegers(t *Tile, slots int) {
	v := valuesOf(t.Format, t.HeadDim, t.Values)
	t.Weights.Reserve(quant.Int8x32, t.Queries.Rows, TileKeys)
	for r, n := range t.Visible[:t.Queries.Rows] {
		clear(t.Scores[r*TileKeys:][n:TileKeys]) // whatever their scales are, NaN included
	}
	t.product = panels.Product{Count: 2, Acts: t.Weights, Stride: t.HeadDim, Unscaled: true}
	for b := range t.HeadDim / 32 {
		p.weigh(t, v.scales[2*b*TileKeys:][:2*TileKeys], slots)
		size := len(v.quants) / (t.HeadDim / panels.Rows)
		t.product.Panels, t.product.Out = v.quants[2*b*size:][:2*size], t.Out[b*32:]
		panels.Find(p.panels, t.Format).Multiply(&t.product)
	}
}

// maxWeighed is how many rows one call of assembly weighs at most: some ten microseconds.
const maxWeighed = 256

// weigh brings the weights of the rows, times the scales of a block of the first slots, into integers.
func (p *panelPages) weigh(t *Tile, scales []byte, slots int) {
	if p.unit.integerKernels.weigh == nil {
		p.unit.convert.Dequantize(quant.F16, t.scales[:slots], scales[:2*slots])
		for r, n := range t.Visible[:t.Queries.Rows] {
			for j, p := range t.Scores[r*TileKeys:][:n] {
				t.weights[j] = float32(p * t.scales[j])
			}
			clear(t.weights[n:])
			p.unit.vectors.Prepare(t.Weights, r, t.weights[:])
		}
		return
	}
	w := t.Weights
	for r := 0; r < w.Rows; r += maxWeighed {
		n := min(maxWeighed, w.Rows-r)
		p.unit.integerKernels.weigh(&t.Scores[r*TileKeys:][:n*TileKeys][0], &scales[0],
			&w.Q[r*TileKeys], &w.D[r*TileKeys/32], &w.Sums[r*TileKeys/32], n)
	}
}
