package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The products of several tokens with Q2_K and Q3_K, for registers with half of a panel's rows (AVX2): the loops of narrow256 with the
// inner scales of tileGroups. A step is a group, that is, four lines of both halves, whose products eight tokens add up in words; then
// they are multiplied by the group's inner scales. What is added or taken off by groups is summed once for a block, as tileGroups does.
//
// For 256 multiply-adds of a token that is 24 instructions, where half a panel at a time took 28.

// narrowGroups generates such a tile.
type narrowGroups struct {
	narrow256
	of     tileGroups
	places [2]operand.Mem // the inner scales of the rows' halves
}

// generateBoth generates a tile for some tokens and a panel.
func (t *tileGroups) generateBoth(bits operand.Mem) {
	g := &narrowGroups{narrow256: narrow256{tile256: t.tile256, bits: bits}}
	g.registers()
	t.beginGroups()
	g.reserve(sumsOfToken)
	g.of = tileGroups{f: t.f, own: t.own, lines: t.lines, digits: t.digits, single256: single256{tile256: g.tile256}, t3: g.scaleA}
	g.constant(g.nibble, t.f.mask)
	if g.high != 0 {
		g.constant(g.highMask, g.high)
	}
	g.pairs, g.pairAt = g.of.pairs(), func(half, i int) operand.Mem {
		g.of.scaleMem = g.places[half]
		return g.of.leastAt(i)
	}
	if !t.f.minimum {
		g.takeOff = uint64(t.f.offset)
	}
	for half := range g.places {
		g.places[half] = g.AllocLocal(g.of.sizeOfScales())
	}
	g.loadRegisters()
	g.Label("block")
	g.of.convertSums()
	g.clearIntegers()
	for _, place := range g.places {
		g.of.scaleMem = place
		t.f.inner(&g.of)
		g.ADDQ(operand.U8(g.innerUnit*g.rows()), regInner)
	}
	g.SUBQ(operand.U8(g.innerUnit*16), regInner)
	g.multiplyGroups()
	g.endBlock()
	g.JNE(operand.LabelRef("block"))
	g.storeSums()
}

// multiplyGroups multiplies the groups of four runs that begin them, and then those that end them; and then those of the other four runs.
func (g *narrowGroups) multiplyGroups() {
	const runs = 4 // that share lines
	if g.high != 0 {
		g.LEAQ(operand.Mem{Base: regW, Disp: g.of.f.group(0).high}, regUpper)
		g.LEAQ(g.bits, regBits)
	}
	g.XORL(regStep.As32(), regStep.As32())
	g.Label("quarter")
	g.ask(regW, 0, linesAtOnce)
	if g.high != 0 {
		g.ask(regUpper, 0, linesAtOnce)
	}
	for run := range runs {
		g.forLines(regW, 0, func(line operand.Mem, quants reg.VecPhysical) {
			if run == 0 {
				g.VPAND(line, g.nibble, quants)
				return
			}
			g.of.shiftLeft(-g.of.f.group(2*run).lowBit, line, quants)
			g.VPAND(g.nibble, quants, quants)
		})
		if g.high != 0 {
			g.highBits(operand.Mem{Base: regBits, Disp: bitAt(run)}, 0)
		}
		for half, scale := range g.halfScales {
			g.of.scaleMem = g.places[half]
			m := g.of.scaleAt(2*run, 0)
			m.Index, m.Scale = regStep, 1
			g.load(m, scale)
		}
		g.multiplyLines(32*run, operand.Mem{})
	}
	const line = 64
	g.ADDQ(operand.U32(line*linesAtOnce), regW)
	if g.high != 0 {
		g.ADDQ(operand.U32(line*linesAtOnce), regUpper)
	}
	g.ADDQ(operand.U8(16), cursorQ.at)
	g.ADDQ(operand.U8(g.width()), regStep)
	g.TESTQ(operand.U32(g.width()), regStep)
	g.JNE(operand.LabelRef("quarter")) // the runs' second half
	if g.high != 0 {
		g.SUBQ(operand.U32(2*line*linesAtOnce), regUpper)
		g.ADDQ(operand.U32(bitAt(runs)), regBits)
	}
	g.ADDQ(operand.U8(32*(runs-1)), cursorQ.at)
	g.ADDQ(operand.U32(2*g.width()*(runs-1)), regStep)
	g.CMPQ(regStep, operand.U32(2*g.width()*2*runs))
	g.JNE(operand.LabelRef("quarter"))
	if g.high != 0 {
		g.ADDQ(operand.U32(g.quantsOfBlock-4*line*linesAtOnce), regW)
	}
}
