//go:build (amd64 || arm64) && !purego

package asm

import (
	"encoding/binary"

	"github.com/antigravity-go/antigravity/quant"
)

// A panel is three planes: first the quants of all blocks, so that a kernel reads them in whole cache lines, then their
// scales, and then the inner scales of formats that have such. Within a plane blocks follow each other, and a block is the
// bytes of the file's block transposed: unit 0 of each of the PanelRows rows, then unit 1, and so on. Quants have units of
// four bytes, so that a cache line holds four bytes of every row, the same lanes that VPMADDUBSW, VPDPBUSD, SDOT and the
// conversion of their sums have.
type panelLayout struct {
	format *quant.Format
	fields []panelField // in the order of the panel, by planes
	planes [3]int       // bytes of a block of each plane, of all rows
}

// panelField is a part of a block of the file.
type panelField struct {
	at, bytes int // in the file's block
	unit      int // bytes that stay together: 1, 2 or 4
	plane     int
}

// panelLayouts are the layouts of the formats that have panels. A block of a float format is one element.
var (
	layoutF32  = newPanelLayout(quant.F32, panelField{0, 4, 4, 0})
	layoutF16  = newPanelLayout(quant.F16, panelField{0, 2, 2, 0})
	layoutBF16 = newPanelLayout(quant.BF16, panelField{0, 2, 2, 0})
	layoutQ4_0 = newPanelLayout(quant.Q4_0, panelField{2, 16, 4, 0}, panelField{0, 2, 2, 1})
	layoutQ4_1 = newPanelLayout(quant.Q4_1, panelField{4, 16, 4, 0}, panelField{0, 4, 2, 1})
	layoutQ8_0 = newPanelLayout(quant.Q8_0, panelField{2, 32, 4, 0}, panelField{0, 2, 2, 1})
	layoutQ4_K = newPanelLayout(quant.Q4_K, panelField{16, 128, 4, 0}, panelField{0, 4, 2, 1}, panelField{4, 12, 4, 2})
	layoutQ5_K = newPanelLayout(quant.Q5_K, panelField{48, 128, 4, 0}, panelField{16, 32, 4, 0}, panelField{0, 4, 2, 1}, panelField{4, 12, 4, 2})
	layoutQ6_K = newPanelLayout(quant.Q6_K, panelField{0, 128, 4, 0}, panelField{128, 64, 4, 0}, panelField{208, 2, 2, 1}, panelField{192, 16, 1, 2})
)

// newPanelLayout returns the layout of a format with the fields of its blocks.
func newPanelLayout(f *quant.Format, fields ...panelField) *panelLayout {
	l := &panelLayout{format: f, fields: fields}
	for _, field := range fields {
		l.planes[field.plane] += field.bytes * PanelRows
	}
	return l
}

// cut returns the planes of a panel of rows of k elements.
func (l *panelLayout) cut(panel []byte, k int) (planes [3][]byte) {
	blocks := k / l.format.BlockLen
	for i, n := range l.planes {
		planes[i], panel = panel[:blocks*n], panel[blocks*n:]
	}
	return planes
}

// rowsOf returns where row r and those after it begin in each plane, nil for an empty plane.
func (l *panelLayout) rowsOf(planes [3][]byte, r int) (first [3]*byte) {
	for _, f := range l.fields {
		first[f.plane] = &planes[f.plane][r*f.unit]
	}
	return first
}

// bytes returns the size of a panel of rows of k elements.
func (l *panelLayout) bytes(k int) int { return PanelRows * l.format.Bytes(k) }

// panels returns the layout's Panels with a product.
func (l *panelLayout) panels(multiply func(p *PanelProduct)) *Panels {
	return &Panels{Format: l.format, Pack: l.pack, Unpack: l.unpack, Multiply: multiply}
}

// pack is Panels.Pack.
func (l *panelLayout) pack(dst, src []byte, rowBytes, k int) {
	if l.format.Partner == quant.Float {
		l.packFloats(dst, src, rowBytes, k)
		return
	}
	planes := l.cut(dst, k)
	for b := range k / l.format.BlockLen {
		for _, f := range l.fields {
			to := planes[f.plane][:f.bytes*PanelRows]
			planes[f.plane] = planes[f.plane][f.bytes*PanelRows:]
			f.transpose(to, src[b*l.format.BlockBytes+f.at:], rowBytes)
		}
	}
}

// packFloats packs so much of all rows at a time that it stays in the first-level cache.
func (l *panelLayout) packFloats(dst, src []byte, rowBytes, k int) {
	const part = 256
	f, all := l.fields[0], l.format.Bytes(k)
	for at := 0; at < all; at += part {
		f.bytes = min(part, all-at)
		f.transpose(dst[at*PanelRows:(at+f.bytes)*PanelRows], src[at:], rowBytes)
	}
}

// unpack is Panels.Unpack.
func (l *panelLayout) unpack(dst []float32, panel []byte, r, k int) {
	var block [256]byte // room for a block of any format
	n := l.format.BlockLen
	planes := l.cut(panel, k)
	for b := range k / n {
		for _, f := range l.fields {
			from := planes[f.plane][:f.bytes*PanelRows]
			planes[f.plane] = planes[f.plane][f.bytes*PanelRows:]
			f.gather(block[f.at:f.at+f.bytes], from[r*f.unit:])
		}
		_ = l.format.Dequantize(dst[b*n:(b+1)*n], block[:l.format.BlockBytes]) // the lengths fit
	}
}

// transpose copies a field of all rows of a block: unit i of row r becomes unit i·PanelRows + r.
func (f panelField) transpose(dst, src []byte, rowBytes int) {
	for r := range PanelRows {
		row, to := src[r*rowBytes:][:f.bytes], dst[r*f.unit:]
		switch f.unit {
		case 4:
			for ; len(row) >= 4; row = row[4:] {
				binary.LittleEndian.PutUint32(to, binary.LittleEndian.Uint32(row))
				to = to[min(4*PanelRows, len(to)):]
			}
		case 2:
			for ; len(row) >= 2; row = row[2:] {
				binary.LittleEndian.PutUint16(to, binary.LittleEndian.Uint16(row))
				to = to[min(2*PanelRows, len(to)):]
			}
		case 1:
			for i, v := range row {
				to[i*PanelRows] = v
			}
		}
	}
}

// gather copies the units of one row, which are PanelRows units apart, to dst.
func (f panelField) gather(dst, src []byte) {
	for i := 0; i < len(dst); i += f.unit {
		copy(dst[i:i+f.unit], src[i*PanelRows:])
	}
}
