package attention

import (
	"encoding/binary"

	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/quant"
)

// inPanels is the layout of pages for products with panels: scores, and sums of values in integers, are computed as such products.
//
//   - The keys of panels.Rows neighbouring slots are a panel, with a row for each slot. So a score is a product with a key in each lane,
//     and nothing need be turned when it is computed, which happens once for each token that is generated.
//   - Values of a float format lie one slot after another: a sum of values has an element of the head in each lane.
//   - Values that are added in integers are panels, too, of panels.Rows elements of the head each. A row has an integer for each slot.
//     These panels have quants alone; the scales of the slots stand behind them, as [headDim/32, TileKeys] of binary16.
type inPanels struct{}

// Store is Pages.Store.
func (inPanels) Store(side Side, f quant.Format, headDim int, half []byte, first int, rows []byte) {
	size := f.Bytes(headDim)
	switch {
	case side == Keys:
		l, slot := panels.LayoutOf(f), first
		for len(rows) > 0 {
			if slot%panels.Rows == 0 && len(rows) >= panels.Rows*size {
				l.Pack(half[slot*size:][:panels.Rows*size], rows, size, headDim)
				slot, rows = slot+panels.Rows, rows[panels.Rows*size:]
				continue
			}
			l.StoreRow(half[slot/panels.Rows*panels.Rows*size:][:panels.Rows*size], slot%panels.Rows, rows[:size])
			slot, rows = slot+1, rows[size:]
		}
	case InIntegers(f):
		v, slot := valuesOf(f, headDim, half), first
		for len(rows) > 0 {
			if n := v.together(); slot%n == 0 && len(rows) >= n*size {
				v.storeTogether(slot, rows[:n*size])
				slot, rows = slot+n, rows[n*size:]
				continue
			}
			v.store(slot, rows[:size])
			slot, rows = slot+1, rows[size:]
		}
	default:
		copy(half[first*size:], rows)
	}
}

// Load is Pages.Load.
func (inPanels) Load(side Side, f quant.Format, headDim int, rows, half []byte, first int) {
	size := f.Bytes(headDim)
	switch {
	case side == Keys:
		l := panels.LayoutOf(f)
		for slot := first; len(rows) > 0; slot, rows = slot+1, rows[size:] {
			if slot%panels.Rows == 0 && len(rows) >= panels.Rows*size {
				l.LoadPanel(rows[:panels.Rows*size], half[slot*size:][:panels.Rows*size], headDim)
				slot, rows = slot+panels.Rows-1, rows[(panels.Rows-1)*size:]
				continue
			}
			l.LoadRow(rows[:size], half[slot/panels.Rows*panels.Rows*size:][:panels.Rows*size], slot%panels.Rows)
		}
	case InIntegers(f):
		v := valuesOf(f, headDim, half)
		for slot := first; len(rows) > 0; slot, rows = slot+1, rows[size:] {
			v.load(rows[:size], slot)
		}
	default:
		copy(rows, half[first*size:])
	}
}

// ValuesOf is Pages.ValuesOf.
func (p inPanels) ValuesOf(f quant.Format, headDim int, keys, values, rows []byte) []byte {
	if !InIntegers(f) {
		p.Load(Keys, f, headDim, values, keys, 0)
		return values
	}
	p.Load(Keys, f, headDim, rows, keys, 0)
	p.Store(Values, f, headDim, values, 0, rows)
	return values
}

// values are the values of a page that are added in integers.
type values struct {
	quants []byte // panels [headDim/panels.Rows]
	scales []byte // binary16 [headDim/32, TileKeys]
	block  int    // bytes of a block of the format
	group  int    // bytes of a panel's quants for 32 slots
	nibble bool   // slot j of 16 shares its byte with slot j+16
}

// valuesOf returns the values of half a page.
func valuesOf(f quant.Format, headDim int, half []byte) values {
	scales := headDim / 32 * 2 * TileKeys
	at := TileKeys*f.Bytes(headDim) - scales
	return values{half[:at], half[at:][:scales], f.BlockBytes(), (f.BlockBytes() - 2) * panels.Rows, f == quant.Q4_0}
}

// panel returns the quants of panel i.
func (v *values) panel(i int) []byte {
	size := v.group * TileKeys / 32
	return v.quants[i*size:][:size]
}

// at returns where in a panel the byte of its first row for a slot is, and the shift of its bits. Rows are four bytes apart.
func (v *values) at(slot int) (at, shift int) {
	in := slot % 32
	if v.nibble {
		in, shift = in%16, in/16*4
	}
	return slot/32*v.group + in/4*4*panels.Rows + in%4, shift
}

// store writes a slot's value, given as the format has it.
func (v *values) store(slot int, row []byte) {
	at, shift := v.at(slot)
	for b := 0; len(row) > 0; b, row = b+1, row[v.block:] {
		copy(v.scales[2*(b*TileKeys+slot):][:2], row)
		quants := row[2:v.block]
		for part := range 2 {
			to := v.panel(2*b + part)[at:]
			if v.nibble {
				for i, q := range quants[:panels.Rows] {
					to[4*i] = to[4*i]&^(15<<shift) | q>>(4*part)&15<<shift
				}
				continue
			}
			for i, q := range quants[part*panels.Rows:][:panels.Rows] {
				to[4*i] = q
			}
		}
	}
}

// together returns how many neighbouring slots, from a multiple of it on, storeTogether writes.
func (v *values) together() int {
	if v.nibble {
		return 32
	}
	return 4
}

// storeTogether writes neighbouring slots, which share words: the values follow each other in rows.
func (v *values) storeTogether(slot int, rows []byte) {
	n := v.together()
	size := len(rows) / n
	for s := range n {
		for b := range size / v.block {
			copy(v.scales[2*(b*TileKeys+slot+s):][:2], rows[s*size+b*v.block:])
		}
	}
	const each = 0x0f0f0f0f
	for four := 0; four < min(n, 16); four += 4 {
		at, _ := v.at(slot + four)
		for b := range size / v.block {
			low, high := v.panel(2 * b)[at:][:4*panels.Rows], v.panel(2*b + 1)[at:][:4*panels.Rows]
			quants := rows[four*size+b*v.block+2:]
			for i := 0; i < panels.Rows; i += 4 {
				var l, h [4]uint32
				for s := range l {
					from := quants[s*size+i:]
					if !v.nibble {
						l[s], h[s] = binary.LittleEndian.Uint32(from), binary.LittleEndian.Uint32(from[panels.Rows:])
						continue
					}
					x, y := binary.LittleEndian.Uint32(from), binary.LittleEndian.Uint32(from[16*size:]) // of slots 16 apart
					l[s], h[s] = x&each|y&each<<4, x>>4&each|y&^each
				}
				transpose(low[4*i:], l)
				transpose(high[4*i:], h)
			}
		}
	}
}

// transpose writes 4×4 bytes: first the first byte of each word, then the second ones.
func transpose(dst []byte, w [4]uint32) {
	const even, odd = 0x00ff00ff, 0xff00ff00
	a0, a1 := w[0]&even|w[1]&even<<8, w[0]>>8&even|w[1]&odd
	b0, b1 := w[2]&even|w[3]&even<<8, w[2]>>8&even|w[3]&odd
	dst = dst[:16]
	binary.LittleEndian.PutUint32(dst, a0&0xffff|b0<<16)
	binary.LittleEndian.PutUint32(dst[4:], a1&0xffff|b1<<16)
	binary.LittleEndian.PutUint32(dst[8:], a0>>16|b0&0xffff0000)
	binary.LittleEndian.PutUint32(dst[12:], a1>>16|b1&0xffff0000)
}

// load is the reverse of store.
func (v *values) load(row []byte, slot int) {
	at, shift := v.at(slot)
	for b := 0; len(row) > 0; b, row = b+1, row[v.block:] {
		binary.LittleEndian.PutUint16(row, binary.LittleEndian.Uint16(v.scales[2*(b*TileKeys+slot):]))
		quants := row[2:v.block]
		if v.nibble {
			low, high := v.panel(2 * b)[at:], v.panel(2*b + 1)[at:]
			for i := range quants {
				quants[i] = low[4*i]>>shift&15 | high[4*i]>>shift&15<<4
			}
			continue
		}
		for part := range 2 {
			from := v.panel(2*b + part)[at:]
			for i := range panels.Rows {
				quants[part*panels.Rows+i] = from[4*i]
			}
		}
	}
}
