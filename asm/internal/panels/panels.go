// Package panels holds the products with packed weights: how the rows of a weight matrix are interleaved in panels, and how a
// product is cut into the tiles that the assembly computes. The assembly stands in the folders amd64 and arm64; what it must
// give is quant.Format.DotRows of the rows before they were packed.
//
// The words of these folders: a token is a row of activations. A line is 64 bytes of a panel's quants, four of each of its 16 rows.
// A tile is what one kernel computes: the products of some rows of a panel with some tokens. Of a block of 256, a part is 128
// elements, a run 32 and a group 16; a block's inner scales are those of its runs or groups. Quants of five or six bits have their
// upper bits, the other bits, in lines of their own.
package panels

//go:generate go -C ../../asmgen run . transpose

import (
	"encoding/binary"
	"math/bits"

	"github.com/antigravity-go/antigravity/quant"
)

// Rows is how many rows of weights a panel interleaves: a product keeps each in a lane of its own, so that the lanes never
// change the order in which a row's sum is made.
const Rows = 16

// Panels is how a tier of processors stores the weights of one format for its products: Rows rows together, in the bytes that they
// have in the format, arranged so that the kernel reads memory once, in order, and need not shuffle. A tier without Panels for a
// format multiplies rows as files have them, by Format.DotRows.
type Panels struct {
	layout   *Layout
	multiply func(p *Product)
}

// New returns the panels of a layout, for which multiply computes products.
func New(l *Layout, multiply func(p *Product)) *Panels { return &Panels{l, multiply} }

// Format returns the format of the weights.
func (p *Panels) Format() quant.Format { return p.layout.Format }

// Pack writes one panel: src has Rows rows of k elements, one every rowBytes bytes; dst has room for Rows·Format.Bytes(k)
// bytes.
func (p *Panels) Pack(dst, src []byte, rowBytes, k int) { p.layout.Pack(dst, src, rowBytes, k) }

// PackPortable is Panels.Pack without assembly, straight from the definition of a Layout.
func PackPortable(p *Panels, dst, src []byte, rowBytes, k int) {
	l := p.layout
	planes := l.Cut(dst, k)
	for b := range k / l.Format.BlockLen() {
		for _, f := range l.fields {
			t := transposition{dst: planes[f.plane], src: src[b*l.Format.BlockBytes()+f.at:], rowBytes: rowBytes, blocks: 1}
			t.portable(f.unit, f.bytes)
			planes[f.plane] = planes[f.plane][f.bytes*Rows:]
		}
	}
}

// Unpack writes row r of a panel of rows of k elements to dst [k], as Format.Dequantize would have written it.
func (p *Panels) Unpack(dst []float32, panel []byte, r, k int) { p.layout.unpack(dst, panel, r, k) }

// FirstNotFinite returns the first row of a panel of a quantised format or of F16 that has a block with a number that is not finite, or -1.
// See quant.Format.FirstNotFinite.
func (p *Panels) FirstNotFinite(panel []byte, k int) (row int) {
	planes := p.layout.Cut(panel, k)
	halves := planes[1] // the scales
	if _, exponents := p.Format().ExponentAt(); exponents {
		return firstDamagedExponent(halves)
	}
	if p.Format() == quant.F16 {
		halves = planes[0]
	}
	const exponents, lowest, highest = 0x7c007c007c007c00, 0x0400040004000400, 0x8000800080008000
	row = Rows
	for i := 0; i < len(halves); i += 8 {
		four := binary.LittleEndian.Uint64(halves[i:])
		if over := (four&exponents + lowest) & highest; over != 0 { // an exponent was all ones
			row = min(row, i/2%Rows+bits.TrailingZeros64(over)/16)
		}
	}
	if row == Rows {
		return -1
	}
	return row
}

// firstDamagedExponent returns the first row that has an exponent of 255, or -1.
func firstDamagedExponent(exponents []byte) int {
	row := Rows
	for i, e := range exponents {
		if e == 255 {
			row = min(row, i%Rows)
		}
	}
	if row == Rows {
		return -1
	}
	return row
}

// Multiply computes a product.
func (p *Panels) Multiply(product *Product) { p.multiply(product) }

// Product is the product of neighbouring panels with the rows of an activation:
//
//	Out[t·Stride + i] = row i · Acts.Row(t)   i < Count·Rows, t < Acts.Rows
//
// with the same bits as Format.DotRows has for the rows as they were before packing.
type Product struct {
	Panels []byte // Count panels, one after another
	Count  int
	Acts   *quant.Activation // its K is the rows' length
	Out    []float32
	Stride int
	// Unscaled says that the panels, at most Together of Q8_0 or Q4_0 and with rows of at most MostUnscaled elements, are quants without
	// scales, which are 1.
	Unscaled bool
}

// MostUnscaled is the greatest K of a Product with Unscaled.
const MostUnscaled = 128

// ones are the scales of panels without scales. A kernel of several panels looks for the next panel's scales as far behind those of the
// first as the panels are apart.
var ones = func() (scales [Together * MostUnscaled * Rows]byte) {
	for i := 0; i < len(scales); i += 2 {
		scales[i+1] = 0x3c // 1 as binary16 is 0x3c00
	}
	return scales
}()

// PanelBytes returns the size of a panel.
func (p *Product) PanelBytes(l *Layout) int {
	if p.Unscaled {
		return p.Acts.K / l.Format.BlockLen() * l.PlaneBytes[0]
	}
	return l.Bytes(p.Acts.K)
}

// Planes returns the planes of panel i.
func (p *Product) Planes(l *Layout, i int) [3][]byte {
	size := p.PanelBytes(l)
	panel := p.Panels[i*size : (i+1)*size]
	if p.Unscaled {
		return [3][]byte{panel, ones[:], nil}
	}
	return l.Cut(panel, p.Acts.K)
}

// Find returns the panels of a format among several, or nil.
func Find(list []*Panels, f quant.Format) *Panels {
	for _, p := range list {
		if p.Format() == f {
			return p
		}
	}
	return nil
}
