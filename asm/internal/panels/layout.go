package panels

import (
	"encoding/binary"

	"github.com/antigravity-go/antigravity/quant"
)

// Layout is how the panels of a format are laid out, in three planes: first the quants of all blocks, so that a kernel reads
// them in whole cache lines, then their scales, and then the inner scales of formats that have such. Within a plane blocks
// follow each other, and a block is the bytes of the file's block transposed: unit 0 of each of the panel's rows, then unit 1,
// and so on. Quants have units of four bytes, so that a cache line holds four bytes of every row, the same lanes that
// VPMADDUBSW, VPDPBUSD, SDOT and the conversion of their sums have.
//
// A panel of 16 rows of 64 elements in Q4_0, two blocks of 18 bytes in each row of the file, has 576 bytes:
//
//	0 to 255     quants of block 0: bytes 0 to 3 of row 0, of row 1, … of row 15; then bytes 4 to 7 of row 0, …
//	256 to 511   quants of block 1
//	512 to 543   scales of block 0, two bytes for each row
//	544 to 575   scales of block 1
type Layout struct {
	Format     quant.Format
	PlaneBytes [3]int  // bytes of a block of each plane, of all rows
	blockLen   int     // the format's: kept because each panel of each product asks for it
	fields     []field // in the order of the panel, by planes
}

// field is a part of a block of the file.
type field struct {
	at, bytes int // in the file's block
	unit      int // bytes that stay together: 1, 2 or 4
	plane     int
}

// The layouts, one for each format that has panels. A block of a float format is one element.
var (
	LayoutF32    = newLayout(quant.F32, field{0, 4, 4, 0})
	LayoutF16    = newLayout(quant.F16, field{0, 2, 2, 0})
	LayoutBF16   = newLayout(quant.BF16, field{0, 2, 2, 0})
	LayoutQ4_0   = newLayout(quant.Q4_0, field{2, 16, 4, 0}, field{0, 2, 2, 1})
	LayoutQ4_1   = newLayout(quant.Q4_1, field{4, 16, 4, 0}, field{0, 4, 2, 1})
	LayoutQ8_0   = newLayout(quant.Q8_0, field{2, 32, 4, 0}, field{0, 2, 2, 1})
	LayoutQ4_K   = newLayout(quant.Q4_K, field{16, 128, 4, 0}, field{0, 4, 2, 1}, field{4, 12, 4, 2})
	LayoutQ5_K   = newLayout(quant.Q5_K, field{48, 128, 4, 0}, field{16, 32, 4, 0}, field{0, 4, 2, 1}, field{4, 12, 4, 2})
	LayoutQ6_K   = newLayout(quant.Q6_K, field{0, 128, 4, 0}, field{128, 64, 4, 0}, field{208, 2, 2, 1}, field{192, 16, 1, 2})
	LayoutQ5_0   = newLayout(quant.Q5_0, field{6, 16, 4, 0}, field{2, 4, 4, 0}, field{0, 2, 2, 1})
	LayoutQ5_1   = newLayout(quant.Q5_1, field{8, 16, 4, 0}, field{4, 4, 4, 0}, field{0, 4, 2, 1})
	LayoutIQ4_NL = newLayout(quant.IQ4_NL, field{2, 16, 4, 0}, field{0, 2, 2, 1})
	LayoutQ2_K   = newLayout(quant.Q2_K, field{16, 64, 4, 0}, field{80, 4, 2, 1}, field{0, 16, 4, 2})
	LayoutQ3_K   = newLayout(quant.Q3_K, field{32, 64, 4, 0}, field{0, 32, 4, 0}, field{108, 2, 2, 1}, field{96, 12, 4, 2})
	LayoutIQ4_XS = newLayout(quant.IQ4_XS, field{8, 128, 4, 0}, field{0, 2, 2, 1}, field{2, 6, 2, 2})
	LayoutMXFP4  = newLayout(quant.MXFP4, field{1, 16, 4, 0}, field{0, 1, 1, 1})
)

// layouts are all layouts, those of cached keys first.
var layouts = [...]*Layout{
	LayoutF32, LayoutF16, LayoutBF16, LayoutQ8_0, LayoutQ4_0, LayoutQ4_1, LayoutQ4_K, LayoutQ5_K, LayoutQ6_K,
	LayoutQ5_0, LayoutQ5_1, LayoutIQ4_NL, LayoutQ2_K, LayoutQ3_K, LayoutIQ4_XS, LayoutMXFP4,
}

// LayoutOf returns the layout of a format's panels, or nil.
func LayoutOf(f quant.Format) *Layout {
	for _, l := range layouts {
		if l.Format == f {
			return l
		}
	}
	return nil
}

// newLayout returns the layout of a format with the fields of its blocks.
func newLayout(f quant.Format, fields ...field) *Layout {
	l := &Layout{Format: f, blockLen: f.BlockLen(), fields: fields}
	for _, f := range fields {
		l.PlaneBytes[f.plane] += f.bytes * Rows
	}
	return l
}

// Cut returns the planes of a panel of rows of k elements.
func (l *Layout) Cut(panel []byte, k int) (planes [3][]byte) {
	blocks := k / l.blockLen
	first := blocks * l.PlaneBytes[0]
	second := first + blocks*l.PlaneBytes[1]
	third := second + blocks*l.PlaneBytes[2]
	return [3][]byte{panel[:first], panel[first:second], panel[second:third]}
}

// RowsOf returns where row r and those after it begin in each plane, nil for an empty plane.
func (l *Layout) RowsOf(planes [3][]byte, r int) (first [3]*byte) {
	for _, f := range l.fields {
		first[f.plane] = &planes[f.plane][r*f.unit]
	}
	return first
}

// Bytes returns the size of a panel of rows of k elements.
func (l *Layout) Bytes(k int) int {
	return k / l.blockLen * (l.PlaneBytes[0] + l.PlaneBytes[1] + l.PlaneBytes[2])
}

// Pack is Panels.Pack. It goes through the rows in steps that stay in the first-level cache, since each field reads them anew.
func (l *Layout) Pack(dst, src []byte, rowBytes, k int) {
	if l.Format.ActivationForm() == quant.Float {
		l.packFloats(dst, src, rowBytes, k)
		return
	}
	planes := l.Cut(dst, k)
	blocks, size := k/l.Format.BlockLen(), l.Format.BlockBytes()
	step := max(stepBytes/size, 1)
	for b := 0; b < blocks; b += step {
		var at [3]int // the offset of a block's field in each plane
		for _, f := range l.fields {
			to := l.PlaneBytes[f.plane]
			transposition{
				dst: planes[f.plane][b*to+at[f.plane]:], src: src[b*size+f.at:],
				rowBytes: rowBytes, blocks: min(step, blocks-b), srcStep: size, dstStep: to,
			}.run(f.unit, f.bytes)
			at[f.plane] += f.bytes * Rows
		}
	}
}

// packFloats packs rows as if each were some large blocks.
func (l *Layout) packFloats(dst, src []byte, rowBytes, k int) {
	all := l.Format.Bytes(k)
	for at := 0; at < all; at += stepBytes {
		transposition{dst: dst[at*Rows:], src: src[at:], rowBytes: rowBytes, blocks: 1}.run(l.fields[0].unit, min(stepBytes, all-at))
	}
}

// stepBytes is how many bytes of each row are packed before the next.
const stepBytes = 1 << 10

// unpack is Panels.Unpack. It collects the bytes of some blocks before it reads them.
func (l *Layout) unpack(dst []float32, panel []byte, r, k int) {
	var row [1 << 10]byte
	blockLen, size := l.Format.BlockLen(), l.Format.BlockBytes()
	planes, fields, step := l.Cut(panel, k), l.fields, len(row)/size
	if l.Format.ActivationForm() == quant.Float { // all that is collected at once is one field
		f := fields[0]
		f.bytes = step * size
		fields, step, blockLen, size = []field{f}, 1, step, f.bytes
	}
	for len(dst) > 0 {
		n := min(len(dst), step*blockLen)
		for b := 0; b*blockLen < n; b++ {
			for _, f := range fields {
				bytes := min(f.bytes, l.Format.Bytes(n)-b*size-f.at) // the last floats may be fewer
				f.gather(row[b*size+f.at:][:bytes], planes[f.plane][r*f.unit:])
				planes[f.plane] = planes[f.plane][bytes*Rows:]
			}
		}
		_ = l.Format.Dequantize(dst[:n], row[:l.Format.Bytes(n)]) // the lengths fit
		dst = dst[n:]
	}
}

// StoreRow replaces row r of a panel by a row as the format has it.
func (l *Layout) StoreRow(panel []byte, r int, row []byte) { l.walkRow(panel, r, row, field.scatter) }

// LoadRow is the reverse of StoreRow.
func (l *Layout) LoadRow(row, panel []byte, r int) { l.walkRow(panel, r, row, field.gather) }

// walkRow calls do for each field of each block of row r, as the format has it and as it is in the panel.
func (l *Layout) walkRow(panel []byte, r int, row []byte, do func(f field, row, panel []byte)) {
	size := l.Format.BlockBytes()
	if l.Format.ActivationForm() == quant.Float { // the row is one field
		f := l.fields[0]
		f.bytes = len(row)
		do(f, row, panel[r*f.unit:])
		return
	}
	planes := l.Cut(panel, len(row)/size*l.Format.BlockLen())
	for ; len(row) > 0; row = row[size:] {
		for _, f := range l.fields {
			do(f, row[f.at:f.at+f.bytes], planes[f.plane][r*f.unit:])
			planes[f.plane] = planes[f.plane][f.bytes*Rows:]
		}
	}
}

// gather copies the units of one row, which are Rows units apart, to dst.
func (f field) gather(dst, src []byte) {
	switch f.unit {
	case 4:
		for i := 0; i < len(dst); i += 4 {
			binary.LittleEndian.PutUint32(dst[i:], binary.LittleEndian.Uint32(src[i*Rows:]))
		}
	case 2:
		for i := 0; i < len(dst); i += 2 {
			binary.LittleEndian.PutUint16(dst[i:], binary.LittleEndian.Uint16(src[i*Rows:]))
		}
	case 1:
		for i := range dst {
			dst[i] = src[i*Rows]
		}
	}
}

// scatter is the reverse of gather.
func (f field) scatter(src, dst []byte) {
	switch f.unit {
	case 4:
		for i := 0; i < len(src); i += 4 {
			binary.LittleEndian.PutUint32(dst[i*Rows:], binary.LittleEndian.Uint32(src[i:]))
		}
	case 2:
		for i := 0; i < len(src); i += 2 {
			binary.LittleEndian.PutUint16(dst[i*Rows:], binary.LittleEndian.Uint16(src[i:]))
		}
	case 1:
		for i, v := range src {
			dst[i*Rows] = v
		}
	}
}
