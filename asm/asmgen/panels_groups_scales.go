package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// storeScales writes the inner scales of a step, byte b of each 32 bits of v, as they are multiplied.
func (g *tileGroups) storeScales(v reg.VecPhysical, b int, signed bool, scratch reg.VecPhysical, steps ...int) {
	switch {
	case !signed:
		g.VPSHUFB(g.shared.scales[b], v, scratch)
	case g.vnni:
		g.VPSHUFB(g.own.signed[b], v, scratch)
		g.VPSRAD(operand.U8(24), scratch, scratch)
	default:
		g.VPSHUFB(g.own.signed[b], v, scratch)
		g.VPSRAW(operand.U8(8), scratch, scratch)
	}
	for digit := range g.digits {
		if digit > 0 {
			g.VPSLLW(operand.U8(4), scratch, scratch)
		}
		for _, step := range steps {
			g.VMOVUPS(scratch, g.scaleAt(step, digit))
		}
	}
}

// storePairs writes the bytes of v as pairs of words, from pair first on.
func (g *tileGroups) storePairs(v reg.VecPhysical, first int, signed bool, scratch reg.VecPhysical) {
	for i := range 2 {
		if signed {
			g.VPSHUFB(g.own.signedPairs[i], v, scratch)
			g.VPSRAW(operand.U8(8), scratch, scratch)
		} else {
			g.VPSHUFB(g.shared.minimums[i], v, scratch)
		}
		g.VMOVUPS(scratch, g.leastAt(first+i))
	}
}

// nibblesAndMinimums decodes the inner scales of Q2_K: see unpackQ2_K in package quant. A line has those of four groups.
func (g *tileGroups) nibblesAndMinimums() {
	scales, minimums, scratch := g.free(0), g.free(1), g.free(2)
	for quad := range 4 {
		g.load(operand.Mem{Base: regInner, Disp: 64 * quad}, scales)
		g.VPSRLW(operand.U8(4), scales, minimums)
		g.and(g.own.lowerFour, scales, scales)
		g.and(g.own.lowerFour, minimums, minimums)
		for b := range 4 {
			g.storeScales(scales, b, false, scratch, 4*quad+b)
		}
		g.storePairs(minimums, 2*quad, false, scratch)
	}
}

// joinSigned joins the lower four bits of scales with the two bits above them, which upper has when it is shifted to the left, and takes
// off 32.
func (g *tileGroups) joinSigned(scales, upper reg.VecPhysical, shift int, scratch reg.VecPhysical) {
	g.and(g.own.lowerFour, scales, scales)
	g.shiftLeft(shift, upper, scratch)
	g.and(g.shared.upperTwo, scratch, scratch)
	g.or(scratch, scales, scales)
	g.VPSUBB(g.shared.thirtyTwo, scales, scales)
}

// signedOfGroups decodes the inner scales of Q3_K: see unpackQ3_K in package quant. Of three lines the first two have the lower four bits of 16
// groups, and the last has the upper two.
func (g *tileGroups) signedOfGroups() {
	scales, upper, scratch, top := g.free(0), g.free(1), g.free(2), g.free(3)
	g.load(operand.Mem{Base: regInner, Disp: 128}, top)
	for quad := range 4 {
		g.shiftLeft(-(quad / 2 * 4), operand.Mem{Base: regInner, Disp: 64 * (quad % 2)}, scales)
		g.joinSigned(scales, top, 4-2*quad, upper)
		for b := range 4 {
			g.storeScales(scales, b, true, scratch, 4*quad+b)
		}
		g.storePairs(scales, 2*quad, true, scratch)
	}
}

// signedOfRuns decodes the inner scales of IQ4_XS: see unpackIQ4_XS in package quant. Of three times two bytes of each row the first have the upper
// bits of eight runs, in pairs, and the others the lower four.
func (g *tileGroups) signedOfRuns() {
	upper, lower, scales, other, scratch := g.free(0), g.free(1), g.free(2), g.free(3), g.free(4)
	g.VPMOVZXWD(operand.Mem{Base: regInner}, upper)
	g.VPMOVZXWD(operand.Mem{Base: regInner, Disp: 32}, lower)
	g.VPMOVZXWD(operand.Mem{Base: regInner, Disp: 64}, other)
	g.VPSLLD(operand.U8(16), other, other)
	g.or(other, lower, lower)
	g.VPSHUFB(g.own.twice, upper, upper) // a nibble for each byte: of two runs
	g.VPSRLW(operand.U8(4), upper, other)
	g.and(g.own.evenBytes, upper, upper)
	g.and(g.own.oddBytes, other, other)
	g.or(other, upper, upper)
	for odd := range 2 {
		g.shiftLeft(-4*odd, lower, scales)
		g.joinSigned(scales, upper, 4-2*odd, other)
		for b := range 4 {
			run := 2*b + odd
			if g.lines == 8 {
				g.storeScales(scales, b, true, scratch, run)
			} else {
				g.storeScales(scales, b, true, scratch, 2*run, 2*run+1)
			}
		}
		g.storePairs(scales, 2*odd, true, scratch)
	}
}
