package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// How blocks of 32 are unpacked to signed bytes for tiles, and their scales to floats.

// unpack generates the loop that unpacks the blocks to dst.
func (g *tileAMX) unpack(dst reg.GPPhysical) {
	w, scales, panel := reg.RAX, reg.RSI, reg.RDX
	g.Load(g.Param("w"), w)
	g.Load(g.Param("scales"), scales)
	g.Load(g.Param("panelBytes"), panel)
	g.Load(g.Param("blocks"), regBlocks)
	if g.source == fromNibbles {
		g.loadNibbleBits(&g.tile, g.vec(2), g.vec(3))
	} else {
		g.constant(g.vec(2), 0x0f0f0f0f)
		g.constant(g.vec(3), g.offset)
	}
	g.Label("unpack")
	for p := range panelsAMX {
		from := func(base reg.Register, disp int) operand.Mem {
			m := operand.Mem{Base: base, Disp: disp}
			if p > 0 {
				m.Index, m.Scale = panel, 1
			}
			return m
		}
		g.unpackPanel(func(line int) operand.Mem { return from(w, 64*line) }, operand.Mem{Base: dst, Disp: 8 * 64 * p})
		for i := range g.scales {
			g.loadScales(format32{powers: g.powers}, from(scales, 32*i), g.vec(0))
			g.VMOVUPS(g.vec(0), operand.Mem{Base: dst, Disp: linesAMX + 64*(panelsAMX*i+p)})
		}
	}
	g.ADDQ(operand.U32(g.quantsOfBlock), w)
	g.ADDQ(operand.U8(g.scaleBytes), scales)
	g.ADDQ(operand.U32(g.bytes), dst)
	g.DECQ(regBlocks)
	g.JNE(operand.LabelRef("unpack"))
}

// nibbleBits returns the matrices by which takeNibbles takes the low and the high nibbles of bytes. Where 8 is subtracted from a quant, its
// upper bit, inverted, fills all bits above: x−8 of four bits is x^8 with its sign extended.
func (f *formatAMX) nibbleBits() [2]uint64 {
	if f.offset > 0 {
		return [2]uint64{0x0102040808080808, 0x1020408080808080}
	}
	return [2]uint64{0x0102040800000000, 0x1020408000000000}
}

// loadNibbleBits loads the matrices of nibbleBits.
func (f *formatAMX) loadNibbleBits(g *tile, low, high reg.VecPhysical) {
	scratch := reg.R13
	for i, r := range []reg.VecPhysical{low, high} {
		g.MOVQ(operand.U64(f.nibbleBits()[i]), scratch)
		g.VPBROADCASTQ(scratch, r)
	}
}

// takeNibbles sets quants to the low or the high nibbles of bytes, by a matrix of nibbleBits.
func (f *formatAMX) takeNibbles(g *tile, bits, nibbles, quants reg.VecPhysical) {
	inverted := operand.U8(0)
	if f.offset > 0 {
		inverted = 0xf8
	}
	g.VGF2P8AFFINEQB(inverted, bits, nibbles, quants)
}

// unpackPanel unpacks a panel's quants to eight lines. The mask is in register 2, the offset in 3; for nibbles the matrices of nibbleBits.
func (g *tileAMX) unpackPanel(line func(i int) operand.Mem, to operand.Mem) {
	low, high, mask, offset := g.vec(0), g.vec(1), g.vec(2), g.vec(3)
	if g.source == fromBytes {
		for j := range 8 {
			g.load(line(j), low)
			g.VMOVDQU32(low, to.Offset(64*j))
		}
		return
	}
	fifths, table, scratch := g.vec(4), g.vec(4), g.vec(5)
	switch g.source {
	case fromFive:
		g.load(line(4), fifths)
	case fromTable:
		g.load(g.constants.values, table)
	case fromFP4:
		g.load(g.constants.fp4, table)
	}
	for j := range 4 {
		g.load(line(j), low)
		if g.source == fromNibbles {
			for half, bits := range []reg.VecPhysical{g.vec(2), g.vec(3)} {
				g.takeNibbles(&g.tile, bits, low, high)
				g.VMOVDQU32(high, to.Offset(64*(4*half+j)))
			}
			continue
		}
		g.VPSRLW(operand.U8(4), low, high)
		for half, v := range []reg.VecPhysical{low, high} {
			at := 4*half + j
			g.and(mask, v, v)
			switch g.source {
			case fromFive:
				g.VPSHUFB(g.constants.fifths[at/2], fifths, scratch)
				g.addFifth(at, scratch, scratch, v)
			case fromTable, fromFP4:
				g.VPSHUFB(v, table, v)
			}
			if g.offset > 0 {
				g.VPSUBB(offset, v, v)
			}
			g.VMOVDQU32(v, to.Offset(64*at))
		}
	}
}
