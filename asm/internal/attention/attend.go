//go:build (amd64 || arm64) && !purego

package attention

import (
	"slices"

	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
)

// Unit is the assembly for one set of instructions.
type Unit struct {
	vectors *vectors.Unit
	convert convert.Unit
	kernels
	integerKernels
	tiles integerKernels // products of rows by rowsOfTiles; nil: no such kernels
}

// Pages returns pages in panels that a unit attends to, with products by some panels, among which is one for each format of caches.
func (u *Unit) Pages(list []*panels.Panels) Pages { return &panelPages{unit: u, panels: list} }

// panelPages is Pages in panels.
type panelPages struct {
	inPanels
	unit   *Unit
	panels []*panels.Panels
}

// Score is the portable Score.
func (p *panelPages) Score(t *Tile) { p.scoreAll(t) }

// scoreAll computes the scores, and returns how many slots the row that sees most sees.
func (p *panelPages) scoreAll(t *Tile) (longest int) {
	longest = slices.Max(t.Visible[:t.Queries.Rows])
	if longest > 0 && t.HeadDim > 0 && !p.unit.scoreFloats(t) {
		p.score(t, longest)
	}
	return longest
}

// Attend is the portable Attend. Scores have a key in each lane, and sums of values an element of the head; so every sum keeps the order
// that the portable form has.
func (p *panelPages) Attend(t *Tile) {
	rows, longest := t.Queries.Rows, p.scoreAll(t)
	if t.Bias != nil {
		for r := range rows {
			t.addBias(r)
		}
	}
	if t.Cap != 0 {
		for r, n := range t.Visible[:rows] {
			p.unit.vectors.Softcap(t.Scores[r*TileKeys:][:n], t.Cap)
		}
	}
	if t.Hidden != nil {
		for r := range rows {
			t.hide(r)
		}
	}
	p.unit.weighRows(t)
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

// keepLast copies to the results of some rows the last elements, which are fewer than kernels add at once. These are computed in a scratch
// memory, together with elements before them: each element's sum is its own, and so nothing beyond a value is read. For example, heads of
// 24 elements are the elements 0 to 15, and then 8 to 23 in the scratch memory; the last 8 of these are kept.
func (t *Tile) keepLast(first, rows, elements int) {
	for r := range rows {
		out := t.Out[(first+r)*t.HeadDim:][:t.HeadDim]
		copy(out[t.HeadDim-elements:], t.last[(r+1)*panels.Rows-elements:])
	}
}
