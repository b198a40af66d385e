package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tokensOfPairs generates the tile of some tokens and n panels. Its first eight registers are temporary; a sum in registers stands for each
// token and panel, and behind them a dot product: or, without inner scales, the block's dot product and the sum of all blocks.
type tokensOfPairs struct {
	*tilePairs
	n, tokens int
}

// first and second return the two registers of a token and a panel.
func (g *tokensOfPairs) first(t, panel int) reg.VecPhysical  { return g.vec(8 + g.n*t + panel) }
func (g *tokensOfPairs) second(t, panel int) reg.VecPhysical { return g.vec(20 + g.n*t + panel) }

// dot, block and total return the registers of a step's dot product, of a block's and of the sum of blocks, which is in memory between
// blocks if there are inner scales.
func (g *tokensOfPairs) dot(t, panel int) reg.VecPhysical { return g.first(t, panel) }

func (g *tokensOfPairs) block(t, panel int) reg.VecPhysical {
	if g.of.inner {
		return g.second(t, panel)
	}
	return g.first(t, panel)
}

func (g *tokensOfPairs) total(t, panel int) reg.VecPhysical {
	if g.of.inner {
		return g.first(t, panel)
	}
	return g.second(t, panel)
}

// place returns the place of a token's data.
func place(at [2]reg.GPPhysical, stride reg.GPPhysical, t, disp int) operand.Mem {
	return (&cursor{at: at[t/3], stride: stride}).row(t, disp)
}

func (g *tokensOfPairs) q(t, disp int) operand.Mem { return place(pairsQ, pairsK, t, disp) }
func (g *tokensOfPairs) d(t int) operand.Mem       { return place(pairsD, pairsStrideD, t, 0) }
func (g *tokensOfPairs) out(t, panel int) operand.Mem {
	return place(pairsOut, pairsStride, t, 64*panel)
}

// sums returns the place of a token's converted sums.
func (g *tokensOfPairs) sumsAt(t, disp int) operand.Mem {
	return operand.Mem{Base: pairsSums, Disp: bytesOfBegin*t + disp}
}

// line returns a place in the unpacked block.
func (g *tokensOfPairs) line(panel, disp int) operand.Mem {
	return operand.Mem{Base: pairsLine, Disp: panel*g.of.blocks()*g.of.bytes() + disp}
}

// each calls do for each token and panel.
func (g *tokensOfPairs) each(do func(t, panel int)) {
	for t := range g.tokens {
		for panel := range g.n {
			do(t, panel)
		}
	}
}

// multiply multiplies the blocks with the next tokens.
func (g *tokensOfPairs) multiply(label func(name string) string) {
	g.MOVQ(g.argument("first"), reg.RAX)
	g.DECQ(reg.RAX) // 0 or −1
	g.KMOVW(reg.EAX, maskBegun)
	for _, c := range []struct {
		from   operand.Mem
		at     [2]reg.GPPhysical
		stride reg.GPPhysical
	}{{g.qAt, pairsQ, pairsK}, {g.dAt, pairsD, pairsStrideD}, {g.outAt, pairsOut, pairsStride}} {
		g.MOVQ(c.from, c.at[0])
		if g.tokens > 3 {
			g.LEAQ(operand.Mem{Base: c.at[0], Index: c.stride, Scale: 2}, c.at[1])
			g.ADDQ(c.stride, c.at[1])
		}
	}
	g.MOVQ(g.sumsOfTile, pairsSums)
	g.MOVQ(g.weights, pairsLine)
	g.MOVQ(g.askAt, pairsAsk)
	g.MOVQ(g.askOfPanel, pairsAskPanel)
	g.Load(g.Param("blocks"), pairsSteps)
	var blocks operand.Op = pairsSteps
	if g.of.steps > 1 {
		g.MOVQ(pairsSteps, g.left)
		blocks = g.left
	}
	if !g.of.inner {
		g.loadTotals()
	}
	g.Label(label("block"))
	if g.of.inner {
		g.each(func(t, panel int) { g.zero(g.block(t, panel)) })
	} else {
		g.beginDots()
	}
	tail := 0
	if g.of.steps > 1 {
		g.MOVL(operand.U32(g.of.steps), pairsSteps.As32())
		g.Label(label("step"))
	}
	if g.of.inner {
		g.beginDots()
	}
	g.ask(g.n)
	g.multiplyLines()
	if g.of.inner {
		g.each(func(t, panel int) {
			g.VPMULLD(g.line(panel, 64*g.of.lines), g.dot(t, panel), g.dot(t, panel))
			g.VPADDD(g.dot(t, panel), g.block(t, panel), g.block(t, panel))
		})
	}
	for _, q := range g.used(pairsQ) {
		g.ADDQ(operand.U8(4*g.of.lines), q)
	}
	sums := g.of.bytesOfSums()
	if g.of.steps == 1 {
		tail = g.of.bytesOfStep()
	} else {
		g.ADDQ(operand.U32(g.of.bytesOfStep()), pairsLine)
		if g.of.inner && g.of.raised > 0 {
			g.ADDQ(operand.U8(4), pairsSums)
			sums = 0
		}
		g.DECQ(pairsSteps)
		g.JNE(operand.LabelRef(label("step")))
	}
	g.addBlock(tail)
	g.ADDQ(operand.U32(tail+g.of.bytesOfTail()), pairsLine)
	for _, d := range g.used(pairsD) {
		g.ADDQ(operand.U8(4), d)
	}
	if sums > 0 {
		g.ADDQ(operand.U8(sums), pairsSums)
	}
	g.DECQ(blocks)
	g.JNE(operand.LabelRef(label("block")))
	if !g.of.inner {
		g.storeTotals()
	}
	g.stopAsking(label("asked"))
	advance := func(stride reg.GPPhysical, to operand.Mem) {
		g.IMUL3Q(operand.U8(g.tokens), stride, reg.RAX)
		g.ADDQ(reg.RAX, to)
	}
	advance(pairsK, g.qAt)
	advance(pairsStrideD, g.dAt)
	advance(pairsStride, g.outAt)
	g.ADDQ(operand.U32(g.tokens*bytesOfBegin), g.sumsOfTile)
	g.SUBQ(operand.U8(g.tokens), g.toDo)
}

// used returns the registers of a cursor that the tile has tokens for.
func (g *tokensOfPairs) used(at [2]reg.GPPhysical) []reg.GPPhysical {
	if g.tokens > 3 {
		return at[:]
	}
	return at[:1]
}

// loadTotals reads the sums, or, before the first blocks, begins with zero.
func (g *tokensOfPairs) loadTotals() {
	g.each(func(t, panel int) { g.VMOVUPS_Z(g.out(t, panel), maskBegun, g.total(t, panel)) })
}

// storeTotals writes the sums.
func (g *tokensOfPairs) storeTotals() {
	g.each(func(t, panel int) { g.VMOVUPS(g.total(t, panel), g.out(t, panel)) })
}

// beginDots begins the dot products.
func (g *tokensOfPairs) beginDots() {
	g.each(func(t, panel int) {
		switch dot := g.dot(t, panel); {
		case g.of.raised == 0:
			g.zero(dot)
		case panel == 0:
			g.VPBROADCASTD(g.sumsAt(t, 0), dot)
		default:
			g.VMOVDQA32(g.dot(t, 0), dot)
		}
	})
}

// multiplyLines adds the products of a step's lines to the dot products.
func (g *tokensOfPairs) multiplyLines() {
	for j := range g.of.lines {
		weight := func(panel int) reg.VecPhysical { return g.vec(j%2*2 + panel) }
		for panel := range g.n {
			g.VMOVDQU32(g.line(panel, 64*j), weight(panel))
		}
		g.withOperand(func(t int) operand.Mem { return g.q(t, 4*j) }, func(acts operand.Op, t, panel int) {
			if m, ok := acts.(operand.Mem); ok {
				g.VPDPBUSD_BCST(m, weight(panel), g.dot(t, panel))
				return
			}
			g.VPDPBUSD(acts, weight(panel), g.dot(t, panel))
		})
	}
}

// withOperand calls do for each token and panel with four bytes in all lanes: for two panels in a register, for one in memory.
func (g *tokensOfPairs) withOperand(from func(t int) operand.Mem, do func(x operand.Op, t, panel int)) {
	for t := range g.tokens {
		if g.n == 1 {
			do(from(t), t, 0)
			continue
		}
		x := g.vec(4 + t%2)
		g.VPBROADCASTD(from(t), x)
		for panel := range g.n {
			do(x, t, panel)
		}
	}
}

// addBlock adds a block to the sums, once its steps are done: its scales stand tail bytes behind pairsLine.
func (g *tokensOfPairs) addBlock(tail int) {
	if g.of.inner {
		g.loadTotals()
		g.KXNORW(maskBegun, maskBegun, maskBegun)
	}
	scale, minimum := func(panel int) reg.VecPhysical { return g.vec(panel) }, func(panel int) reg.VecPhysical { return g.vec(2 + panel) }
	for panel := range g.n {
		g.VMOVUPS(g.line(panel, tail), scale(panel))
		if g.of.minimum && g.of.pairs == 0 {
			g.VMOVUPS(g.line(panel, tail+minimumOfBytes), minimum(panel))
		}
	}
	d, sum := g.vec(4), g.vec(5)
	scaled := func(scale func(panel int) reg.VecPhysical, panel int) reg.VecPhysical {
		product := g.vec(6 + panel)
		g.VMULPS(d, scale(panel), product)
		return product
	}
	for t := range g.tokens {
		g.VBROADCASTSS(g.d(t), d)
		for panel := range g.n {
			value, total := g.block(t, panel), g.total(t, panel)
			g.VCVTDQ2PS(value, value)
			if product := scaled(scale, panel); g.of.negative {
				g.VFNMADD231PS(value, product, total)
			} else {
				g.VFMADD231PS(value, product, total)
			}
		}
		if g.of.minimum && g.of.pairs == 0 {
			g.VCVTDQ2PS_BCST(g.sumsAt(t, 0), sum)
			for panel := range g.n {
				g.VFMADD231PS(sum, scaled(minimum, panel), g.total(t, panel))
			}
		}
	}
	if g.of.pairs > 0 {
		g.each(func(t, panel int) { g.zero(g.block(t, panel)) })
		for i := range g.of.pairs {
			for panel := range g.n {
				g.VMOVUPS(g.line(panel, tail+innerOfBytes+64*i), scale(panel))
			}
			g.withOperand(func(t int) operand.Mem { return g.sumsAt(t, 4*i) }, func(x operand.Op, t, panel int) {
				if m, ok := x.(operand.Mem); ok {
					g.VPDPWSSD_BCST(m, scale(panel), g.block(t, panel))
					return
				}
				g.VPDPWSSD(x, scale(panel), g.block(t, panel))
			})
		}
		for panel := range g.n {
			g.VMOVUPS(g.line(panel, tail+minimumOfBytes), minimum(panel))
		}
		for t := range g.tokens {
			g.VBROADCASTSS(g.d(t), d)
			for panel := range g.n {
				value := g.block(t, panel)
				g.VCVTDQ2PS(value, value)
				g.VFNMADD231PS(value, scaled(minimum, panel), g.total(t, panel))
			}
		}
	}
	if g.of.inner {
		g.storeTotals()
	}
}
