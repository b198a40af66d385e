package panels

// transposition gives the source of some blocks of a panel's rows, and the destination of the units of one of their fields.
type transposition struct {
	dst, src         []byte // from the field of the first block on
	rowBytes         int    // of src, from a row to the next
	blocks           int
	srcStep, dstStep int // bytes from a block to the next
}

// portable copies a field of some bytes, unit by unit: unit i of row r of a block becomes unit i·Rows + r. It is the specification.
func (t transposition) portable(unit, bytes int) {
	for b := range t.blocks {
		for r := range Rows {
			row, to := t.src[b*t.srcStep+r*t.rowBytes:][:bytes], t.dst[b*t.dstStep:][:bytes*Rows]
			for i := 0; i < bytes; i += unit {
				copy(to[i*Rows+r*unit:][:unit], row[i:])
			}
		}
	}
}

// check panics, as an index does, if the field of a block is not all there: the assembly does not look.
func (t transposition) check(bytes int) {
	_ = t.src[(t.blocks-1)*t.srcStep+(Rows-1)*t.rowBytes:][:bytes]
	_ = t.dst[(t.blocks-1)*t.dstStep:][:bytes*Rows]
}
