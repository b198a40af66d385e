package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The products of several tokens with Q2_K, Q3_K and values from a table, for registers with half of a panel's rows (AVX2), in narrow256's manner: both
// halves of a panel at once, with the inner scales that tileGroups decodes.
//
// Q2_K and Q3_K: a step is a group, that is, four lines of both halves. The products of each token with them add up in words, which are
// then multiplied by the group's inner scales. Each group's correction is summed once for a block, as tileGroups does. For
// 256 multiply-adds of a token that is 24 instructions, where half a panel at a time took 28.
//
// Values from a table: products of bytes would be too great for words, and bytes of two digits would take 46 instructions. Instead a block is
// unpacked on the stack to words, times their inner scales: 127·32 at most. VPMADDWD multiplies them with the activations, which are words too.
// The sums of a block stay in registers, and nothing is taken off them. That takes 48 instructions, and unpacking takes longer, so that up to 16
// tokens share it.
//
// A Zen 5, 128 rows of 2048 (times as fast as half a panel at a time, with 2, 3, 5, 8, 13 and 512 tokens): Q2_K 1.29, 1.44, 1.42, 1.37,
// 1.39, 1.33; Q3_K 1.20, 1.24, 1.30, 1.24, 1.31, 1.28; values from a table 0.88, 0.99, 1.10, 1.10, 1.09, 1.18. Slower there: for Q2_K loops
// over four or eight groups, 900 and 1700 instructions long (1.04 and 1.3 times as long); for values from a table words in registers and sums
// in memory (1.3 times as long). As fast: the high bits of Q3_K as those of Q6_K; words that are multiplied as they are unpacked, for two tokens.

// narrowGroups generates such a tile.
type narrowGroups struct {
	narrow256
	of     tileGroups
	places [2]operand.Mem // the inner scales of the rows' halves

	words, weights operand.Mem // for values from a table: the tokens' activations and the block as words
}

// generateBoth generates a tile for some tokens and a panel.
func (t *tileGroups) generateBoth() {
	g := &narrowGroups{narrow256: narrow256{tile256: t.tile256}}
	g.registers()
	t.beginGroups()
	if t.f.table {
		g.words, g.weights = g.AllocLocal(bytesOfWords*g.tokens), g.AllocLocal(bytesOfWords*16)
	}
	g.reserve(sumsOfToken)
	g.of = tileGroups{f: t.f, own: t.own, lines: t.lines, digits: 1, single256: single256{tile256: g.tile256}, t3: g.scaleA}
	g.constant(g.nibble, t.f.mask)
	switch {
	case t.f.table:
		g.constant(g.highMask, 0xff00ff00)
	case g.high != 0:
		g.constant(g.highMask, g.high)
	}
	if !t.f.table {
		g.pairs, g.pairAt = g.of.pairs(), func(half, i int) operand.Mem {
			g.of.scaleMem = g.places[half]
			return g.of.leastAt(i)
		}
		if !t.f.minimum {
			g.takeOff = uint64(t.f.offset)
		}
	}
	for half := range g.places {
		g.places[half] = g.AllocLocal(g.of.sizeOfScales())
	}
	g.loadRegisters()
	g.Label("block")
	if t.f.table {
		g.convertWords()
	} else {
		g.of.convertSums()
		g.clearIntegers()
	}
	for _, place := range g.places {
		g.of.scaleMem = place
		t.f.inner(&g.of)
		g.ADDQ(operand.U8(g.innerUnit*g.rows()), regInner)
	}
	g.SUBQ(operand.U8(g.innerUnit*16), regInner)
	if t.f.table {
		g.unpackValues()
		g.multiplyWords()
	} else {
		g.multiplyGroups()
	}
	g.endBlock()
	g.JNE(operand.LabelRef("block"))
	g.storeSums()
}

// multiplyGroups multiplies the groups, one in each turn of the loop: a longer one does not stay among the instructions that a processor
// keeps decoded. Groups that share lines follow each other: those of four runs that begin them, then those that end them.
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

// bytesOfWords is how many bytes a token's block has as words.
const bytesOfWords = 512

// convertWords converts the tokens' activations to words: of each four the first and the third together, and the second and the fourth.
// A run has these pairs of its lines in 32 bytes, and then the others.
func (g *narrowGroups) convertWords() {
	even, odd := reg.Y0, reg.Y1
	g.forTokens([]*cursor{cursorQ}, func(t int) {
		for at := 0; at < 256; at += 32 {
			to := g.words.Offset(bytesOfWords*t + 2*at)
			g.VMOVDQU(cursorQ.row(t, at), odd)
			g.VPSLLW(operand.U8(8), odd, even)
			g.VPSRAW(operand.U8(8), even, even)
			g.VPSRAW(operand.U8(8), odd, odd)
			g.VMOVDQU(even, to)
			g.VMOVDQU(odd, to.Offset(32))
		}
	})
	g.ADDQ(operand.U32(256), cursorQ.at)
}

// unpackValues unpacks the block to words, times their inner scales: as convertWords arranges activations, both halves' rows of each pair
// behind each other.
func (g *narrowGroups) unpackValues() {
	const half = 4
	shift, count, values, to := regBits, g.t2, g.t0, regUpper
	g.LEAQ(g.weights, to)
	g.XORL(shift.As32(), shift.As32())
	g.XORL(regStep.As32(), regStep.As32()) // the group's place among inner scales
	g.VMOVDQU(g.constants.values, values)
	g.Label("lines")
	g.ask(regW, 0, linesAtOnce)
	g.Label("group")
	for i, scale := range g.halfScales {
		g.of.scaleMem = g.places[i]
		m := g.of.scaleAt(0, 0)
		m.Index, m.Scale = regStep, 1
		g.load(m, scale)
		g.VPSLLW(operand.U8(8), scale, scale)
	}
	g.VMOVD(shift.As32(), count.AsX())
	g.VPBROADCASTD(count.AsX(), count)
	g.forLines(regW, 0, func(line operand.Mem, quants reg.VecPhysical) {
		g.VMOVDQU(line, quants)
		g.VPSRLVD(count, quants, quants)
		g.VPAND(g.nibble, quants, quants)
		g.VPSHUFB(quants, values, quants)
	})
	for half, scale := range g.halfScales {
		for j := range linesAtOnce {
			even, odd, at := g.vec(linesAtOnce*half+j), g.t1, operand.Mem{Base: to, Disp: 128*j + 32*half}
			g.VPAND(g.highMask, even, odd)
			g.VPSLLW(operand.U8(8), even, even)
			g.VPMULHW(scale, even, even) // both times 256
			g.VPMULHW(scale, odd, odd)
			g.VMOVDQU(even, at)
			g.VMOVDQU(odd, at.Offset(64))
		}
	}
	g.ADDQ(operand.U32(128*linesAtOnce), to)
	g.ADDQ(operand.U8(32), regStep)
	g.XORL(operand.U8(half), shift.As32())
	g.JNE(operand.LabelRef("group"))
	g.ADDQ(operand.U32(64*linesAtOnce), regW)
	g.CMPQ(regStep, operand.U32(bytesOfWords))
	g.JNE(operand.LabelRef("lines"))
	g.ADDQ(operand.U32(g.inner), regInner)
}

// multiplyWords multiplies the unpacked block with the tokens' activations, for some tokens at a time: their sums stay in registers.
func (g *narrowGroups) multiplyWords() {
	const most, pairs = 5, 16 // tokens; pairs of a run
	passes := (g.tokens + most - 1) / most
	for pass := range passes {
		first, last := g.tokens*pass/passes, g.tokens*(pass+1)/passes
		sum := func(t, half int) reg.VecPhysical { return g.vec(2*(t-first) + half) }
		rows, acts, other := [2]reg.VecPhysical{g.vec(2 * most), g.vec(2*most + 1)}, g.vec(2*most+2), g.vec(2*most+3)
		for t := first; t < last; t++ {
			g.zero(sum(t, 0))
			g.zero(sum(t, 1))
		}
		g.LEAQ(g.weights, regUpper)
		g.XORL(regStep.As32(), regStep.As32())
		label := fmt.Sprintf("words%d", pass)
		g.Label(label)
		for j := range pairs {
			for half, r := range rows {
				g.VMOVDQU(operand.Mem{Base: regUpper, Disp: 64*j + 32*half}, r)
			}
			for t := first; t < last; t++ {
				m := g.words.Offset(bytesOfWords*t + 32*(j%2) + 4*(j/2))
				m.Index, m.Scale = regStep, 1
				g.VPBROADCASTD(m, acts)
				g.VPMADDWD(acts, rows[0], other)
				g.VPMADDWD(acts, rows[1], acts)
				g.VPADDD(other, sum(t, 0), sum(t, 0))
				g.VPADDD(acts, sum(t, 1), sum(t, 1))
			}
		}
		g.ADDQ(operand.U32(64*pairs), regUpper)
		g.ADDQ(operand.U8(4*pairs), regStep)
		g.CMPQ(regStep, operand.U32(bytesOfWords))
		g.JNE(operand.LabelRef(label))
		for t := first; t < last; t++ {
			for g.part = range g.parts() {
				g.VMOVDQU(sum(t, g.part), g.integers.Offset(g.place(t)))
			}
		}
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
