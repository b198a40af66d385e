package main

import (
	"github.com/mmcloughlin/avo/attr"
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
func (t *tileGroups) generateBoth() {
	g := &narrowGroups{narrow256: narrow256{tile256: t.tile256}}
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

// multiplyGroups multiplies the groups, one in each turn of the loop: a longer loop would be faster only if processors kept all of its
// instructions decoded. Groups that share lines follow each other: those of four runs that begin them, then those that end them.
func (g *narrowGroups) multiplyGroups() {
	const runs, ofLines, half = 4, 64 * linesAtOnce, 32
	if g.high != 0 {
		g.LEAQ(operand.Mem{Base: regW, Disp: g.of.f.group(0).high}, regUpper)
	}
	g.LEAQ(g.table, regBits)
	g.XORL(regStep.As32(), regStep.As32()) // the group's place among inner scales
	g.Label("lines")
	g.ask(regW, 0, linesAtOnce)
	if g.high != 0 {
		g.ask(regUpper, 0, linesAtOnce)
	}
	g.Label("group")
	shift := g.t2
	g.VPBROADCASTD(operand.Mem{Base: regBits}, shift)
	g.forLines(regW, 0, func(line operand.Mem, quants reg.VecPhysical) {
		g.VMOVDQU(line, quants)
		g.VPSRLVD(shift, quants, quants)
		g.VPAND(g.nibble, quants, quants)
	})
	if g.high != 0 {
		g.highBits(operand.Mem{Base: regBits, Disp: 4}, 0)
	}
	for i, scale := range g.halfScales {
		g.of.scaleMem = g.places[i]
		m := g.of.scaleAt(0, 0)
		m.Index, m.Scale = regStep, 1
		g.load(m, scale)
	}
	g.multiplyLines(0, operand.Mem{})
	g.ADDQ(operand.U8(32), cursorQ.at)
	g.ADDQ(operand.U8(bytesOfGroup), regBits)
	g.ADDQ(operand.U8(2*half), regStep)
	g.TESTQ(operand.U32(2*half*(runs-1)), regStep)
	g.JNE(operand.LabelRef("group"))
	g.ADDQ(operand.U32(ofLines), regW)
	if g.high != 0 {
		g.ADDQ(operand.U32(ofLines), regUpper)
	}
	g.XORQ(operand.U8(half), regStep)
	g.TESTQ(operand.U32(half), regStep)
	g.JEQ(operand.LabelRef("ended"))
	g.SUBQ(operand.U32(2*half*runs), regStep)
	g.SUBQ(operand.U8(32*runs-16), cursorQ.at)
	g.SUBQ(operand.U8(bytesOfGroup*runs), regBits)
	g.JMP(operand.LabelRef("lines"))
	g.Label("ended")
	g.SUBQ(operand.U8(16), cursorQ.at)
	if g.high != 0 {
		g.SUBQ(operand.U32(2*ofLines), regUpper)
	}
	g.CMPQ(regStep, operand.U32(2*half*2*runs))
	g.JNE(operand.LabelRef("lines"))
	if g.high != 0 {
		g.ADDQ(operand.U32(g.quantsOfBlock-4*ofLines), regW)
	}
}

// bytesOfGroup is the size of an entry in the table of groupTable.
const bytesOfGroup = 8

// groupTable writes what unpacks the groups of each run: the lowest bit, and the high bits.
func (g *tileGroups) groupTable() operand.Mem {
	m := g.StaticGlobal(g.f.name + "Groups" + g.panelUnit.name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for run := range 8 {
		r := g.f.group(2 * run)
		g.AddDatum(bytesOfGroup*run, operand.U32(uint32(r.lowBit)))
		g.AddDatum(bytesOfGroup*run+4, operand.U32(0x01010101<<r.highBit))
	}
	return m
}
