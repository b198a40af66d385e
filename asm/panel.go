package asm

import "github.com/antigravity-go/antigravity/quant"

// PanelRows is how many rows of weights a panel interleaves: a product keeps each in a lane of its own, so that the lanes
// never change the order in which a row's sum is made.
const PanelRows = 16

// Panels is how a tier stores the weights of one format for its products: PanelRows rows together, in as many bytes as the
// format gives them, arranged so that the kernel reads memory once, in order, and need not shuffle. A tier without Panels
// for a format multiplies rows as files have them, by Format.DotRows.
type Panels struct {
	Format *quant.Format

	// Pack writes one panel: src has PanelRows rows of k elements, one every rowBytes bytes; dst has room for
	// PanelRows·Format.Bytes(k) bytes.
	Pack func(dst, src []byte, rowBytes, k int)
	// Unpack writes row r of a panel of rows of k elements to dst [k], as Format.Dequantize would have written it.
	Unpack func(dst []float32, panel []byte, r, k int)
	// Multiply computes a product.
	Multiply func(p *PanelProduct)
}

// PanelProduct is the product of neighbouring panels with the rows of an activation:
//
//	Out[t·Stride + i] = Dot(row i, Acts.Row(t))   i < Count·PanelRows, t < Acts.Rows
//
// with the same bits as Format.DotRows has for the rows as they were before packing.
type PanelProduct struct {
	Panels []byte // Count panels, one after another
	Count  int
	Acts   *quant.Activation // its K is the rows' length
	Out    []float32
	Stride int
}

// PanelsFor returns the tier's panels for a format, nil where it has none.
func (k *Kernels) PanelsFor(f *quant.Format) *Panels {
	for _, p := range k.Panels {
		if p.Format == f {
			return p
		}
	}
	return nil
}
