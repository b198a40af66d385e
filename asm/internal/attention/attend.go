//go:build (amd64 || arm64) && !purego

package attention

import (
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
	"github.com/antigravity-go/antigravity/quant"
)

// Unit is the assembly for one set of instructions.
type Unit struct {
	vectors *vectors.Unit
	convert convert.Unit
	width   int           // HeadDim must be a multiple of it for the values of floats
	values  []floatValues // one for each float format
	integerKernels
}

// floatValues is the assembly that adds weighted values of a float format.
type floatValues struct {
	format quant.Format
	valueKernels
}

// of returns the assembly for the values of a format, nil where there is none.
func (u *Unit) of(f quant.Format) *valueKernels {
	for i := range u.values {
		if v := &u.values[i]; v.format == f {
			return &v.valueKernels
		}
	}
	return nil
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
	if longest > 0 && t.HeadDim > 0 {
		p.score(t, longest)
	}
	for r, n := range t.Visible[:rows] {
		result := &t.Results[r]
		result.Max, result.Sum = 0, 0
		if n > 0 {
			row := t.Scores[r*TileKeys:][:n]
			result.Max = p.unit.vectors.Maximum(row)
			result.Sum = p.unit.vectors.Exponentials(row, result.Max)
		}
	}
	if t.Values == nil {
		return
	}
	clear(t.Out[:rows*t.HeadDim])
	switch kernels := p.unit.of(t.Format); {
	case longest == 0 || t.HeadDim == 0:
	case InIntegers(t.Format):
		p.addIntegers(t, longest)
	case kernels != nil && t.HeadDim%p.unit.width == 0:
		p.addFloats(t, kernels, longest)
	default:
		t.addWidened(longest)
	}
}

// manyRows is for how many query rows values of 16 bits are worth being widened once for all of them.
const manyRows = 8

// addFloats adds the values of the first slots, of a float format.
func (p *panelPages) addFloats(t *Tile, kernels *valueKernels, slots int) {
	d, size := t.HeadDim, t.Format.Bytes(t.HeadDim)
	if t.Format == quant.F32 || t.Queries.Rows < manyRows || d%16 != 0 {
		kernels.add(t, 0, t.Values[:slots*size], slots)
		return
	}
	read, wide := p.unit.convert.Reader(t.Format), t.Wide[:WideSlots*d]
	for first := 0; first < slots; first += WideSlots {
		n := min(WideSlots, slots-first)
		read(&wide[0], &t.Values[first*size:][:n*size][0], n*d)
		p.unit.of(quant.F32).add(t, first, unsafe.Slice((*byte)(unsafe.Pointer(&wide[0])), 4*n*d), n)
	}
}
