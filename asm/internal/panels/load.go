package panels

// turnedUnits is how many units of each row LoadPanel turns together: as many as a panel has rows, so that Pack's transposition is its own reverse.
const turnedUnits = Rows

// LoadPanel is LoadRow for all rows of a panel of k elements each, which it writes one after another. The quants, or floats, must be the first field of the
// format's blocks in the panel. For example, of a panel of F16 it takes 16 elements of all rows,
//
//	element 0 of rows 0 to 15, element 1 of rows 0 to 15, …, element 15 of rows 0 to 15
//
// and the transposition of these is elements 0 to 15 of row 0, of row 1, and so on.
func (l *Layout) LoadPanel(rows, panel []byte, k int) {
	var turned [4 << 10]byte
	f, size, planes := l.fields[0], l.Format.Bytes(k), l.Cut(panel, k)
	each := f.bytes / f.unit // units of a block
	units, bytes := k/l.blockLen*each, turnedUnits*Rows*f.unit
	blockBytes := l.Format.BlockBytes()
	for first := 0; first+turnedUnits <= units; {
		n := min(len(turned)/bytes, (units-first)/turnedUnits)
		transposition{
			dst: turned[:], src: planes[f.plane][first*Rows*f.unit:], rowBytes: Rows * f.unit, blocks: n, srcStep: bytes, dstStep: bytes,
		}.run(f.unit, Rows*f.unit)
		for group := range n {
			block := (first + group*turnedUnits) / each
			for r := range Rows {
				row, from := rows[r*size+block*blockBytes+f.at:], turned[group*bytes+r*turnedUnits*f.unit:][:turnedUnits*f.unit]
				if each == 1 { // neighbouring blocks are neighbouring bytes
					copy(row, from)
					continue
				}
				for ; len(from) > 0; from = from[f.bytes:] {
					copy(row, from[:f.bytes])
					row = row[min(blockBytes, len(row)):]
				}
			}
		}
		first += n * turnedUnits
	}
	for u := units / turnedUnits * turnedUnits; u < units; u++ {
		for r := range Rows {
			copy(rows[r*size+u/each*blockBytes+f.at+u%each*f.unit:], planes[f.plane][(u*Rows+r)*f.unit:][:f.unit])
		}
	}
	for _, f := range l.fields[1:] {
		for b := range k / l.blockLen {
			for r := range Rows {
				f.gather(rows[r*size+b*blockBytes+f.at:][:f.bytes], planes[f.plane][b*f.bytes*Rows+r*f.unit:])
			}
		}
	}
}
