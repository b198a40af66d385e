//go:build (amd64 || arm64) && !purego

package attention

import (
	"slices"

	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
	"github.com/antigravity-go/antigravity/quant"
)

// Unit is the assembly for one set of instructions.
type Unit struct {
	vectors *vectors.Unit
	convert convert.Unit
	kernels
}

// Pages returns pages in panels that a unit attends to, with products by some panels, among which is one for each format of caches.
func (u *Unit) Pages(list []*panels.Panels) Pages { return &panelPages{unit: u, panels: list} }

// panelPages is Pages in panels.
type panelPages struct {
	inPanels
	unit   *Unit
	panels []*panels.Panels
}

// Attend is the portable Attend. Scores have a key in each lane, and sums of values an element of the head; so every sum keeps the order
// that the portable form has.
func (p *panelPages) Attend(t *Tile) {
	rows, longest := t.Queries.Rows, slices.Max(t.Visible[:t.Queries.Rows])
	if longest > 0 && t.HeadDim > 0 && !p.unit.scores(t) {
		n := (longest + panels.Rows - 1) / panels.Rows
		t.product = panels.Product{
			Panels: t.Keys[:n*panels.Rows*t.Format.Bytes(t.HeadDim)], Count: n, Acts: t.Queries, Out: t.Scores, Stride: TileKeys,
		}
		panels.Find(p.panels, t.Format).Multiply(&t.product)
	}
	p.unit.weigh(t)
	if t.Values == nil || p.unit.addFloats(t) {
		return
	}
	clear(t.Out[:rows*t.HeadDim])
	switch {
	case longest == 0 || t.HeadDim == 0:
	case InIntegers(t.Format):
		p.addIntegers(t, longest)
	default:
		t.addWidened(longest)
	}
}

// addIntegers adds the values of the first slots, which are integers.
func (p *panelPages) addIntegers(t *Tile, slots int) {
	v := valuesOf(t.Format, t.HeadDim, t.Values)
	t.Weights.Reserve(quant.Int8x32, t.Queries.Rows, TileKeys)
	t.product = panels.Product{Count: 2, Acts: t.Weights, Stride: t.HeadDim, Unscaled: true}
	scales, weights := &t.scales, &t.weights
	for b := range t.HeadDim / 32 {
		p.unit.convert.Dequantize(quant.F16, scales[:slots], v.scales[2*b*TileKeys:][:2*slots])
		for r, n := range t.Visible[:t.Queries.Rows] {
			for j, p := range t.Scores[r*TileKeys:][:n] {
				weights[j] = float32(p * scales[j])
			}
			clear(weights[n:])
			p.unit.vectors.Prepare(t.Weights, r, weights[:])
		}
		size := len(v.quants) / (t.HeadDim / panels.Rows)
		t.product.Panels, t.product.Out = v.quants[2*b*size:][:2*size], t.Out[b*32:]
		panels.Find(p.panels, t.Format).Multiply(&t.product)
	}
}
