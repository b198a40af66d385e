package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// How the quants of a block of 32 are unpacked, and multiplied with those of a token: a pair of functions for each source and unit, see format32.

// nibbles unpacks four lines of nibbles: register j has elements 4j … 4j+3.
func (g *tile) nibbles() {
	for j := range 4 {
		low, high := g.vec(j), g.vec(4+j)
		g.load(g.quants(64*j), low)
		g.VPSRLW(operand.U8(4), low, high)
		g.and(g.mask, low, low)
		g.and(g.mask, high, high)
	}
}

// fives unpacks quants of five bits like nibbles.
func (g *tile) fives() {
	g.nibbles()
	g.load(g.quants(256), g.t0)
	for j := range 8 {
		if j%2 == 0 {
			g.VPSHUFB(g.constants.fifths[j/2], g.t0, g.t1)
		}
		g.addFifth(j, g.t1, g.t2, g.vec(j))
	}
}

// addFifth adds the fifth bits of vector j to its nibbles. Each byte of from has eight fifth bits, its own among them. It overwrites
// scratch.
func (g *tile) addFifth(j int, from, scratch, nibbles reg.VecPhysical) {
	bits := g.constants.bits[j%2]
	if g.wide {
		g.VPTESTMB(bits, from, reg.K1)
		g.VPADDB(g.constants.sixteen, nibbles, reg.K1, nibbles)
		return
	}
	g.VPAND(bits, from, scratch)
	g.VPCMPEQB(bits, scratch, scratch)
	g.VPAND(g.constants.sixteen, scratch, scratch)
	g.VPOR(scratch, nibbles, nibbles)
}

// lookUp replaces nibbles by the bytes of a table.
func (g *tile) lookUp(table operand.Mem) {
	g.nibbles()
	g.load(table, g.t0)
	for j := range 8 {
		g.VPSHUFB(g.vec(j), g.t0, g.vec(j))
	}
}

// values unpacks quants from a table as they are.
func (g *tile) values() { g.lookUp(g.constants.values) }

// raisedValues unpacks quants from a table, raised by 128.
func (g *tile) raisedValues() { g.lookUp(g.constants.raised) }

// raisedFP4 unpacks quants of MXFP4, raised by 16.
func (g *tile) raisedFP4() { g.lookUp(g.constants.raisedFP4) }

// splitValues is splitBytes for quants from a table.
func (g *tile) splitValues() {
	g.nibbles()
	low, high := g.t0, g.t1
	g.load(g.constants.lowValues, low)
	g.load(g.constants.highValues, high)
	for j := range 8 {
		g.VPSHUFB(g.vec(j), high, g.vec(8+j))
		g.VPSHUFB(g.vec(j), low, g.vec(j))
	}
}

// dotNibbles multiplies quants of four bits. Pairs of products with quants below 16, and the sums of eight such pairs, stay
// within 16 bits.
func (g *tile) dotNibbles(t int) {
	for j := range 8 {
		g.VPBROADCASTD(cursorQ.row(t, 4*j), g.t1)
		g.addPairs(j, g.t1, g.vec(j), g.t1, g.t0)
	}
	g.VPMADDWD(g.ones, g.t0, g.t0)
}

// dotFives multiplies quants of five bits: the sums of four pairs stay within 16 bits.
func (g *tile) dotFives(t int) {
	for j := range 8 {
		sum := [...]reg.VecPhysical{g.t0, g.t2}[j/4]
		g.VPBROADCASTD(cursorQ.row(t, 4*j), g.t1)
		g.addPairs(j%4, g.t1, g.vec(j), g.t1, sum)
	}
	g.VPMADDWD(g.ones, g.t0, g.t0)
	g.VPMADDWD(g.ones, g.t2, g.t2)
	g.VPADDD(g.t2, g.t0, g.t0)
}

// dotValues multiplies signed bytes in registers, see dotSigned.
func (g *tile) dotValues(t int) {
	for j := range 8 {
		product, magnitude := g.t1, g.t2
		if j == 0 {
			product = g.t0
		}
		g.VPBROADCASTD(cursorQ.row(t, 4*j), product)
		g.VPSIGNB(g.vec(j), product, product)
		g.VPABSB(g.vec(j), magnitude)
		g.VPMADDUBSW(product, magnitude, product)
		g.VPMADDWD(g.ones, product, product)
		if j > 0 {
			g.VPADDD(product, g.t0, g.t0)
		}
	}
}

// addPairs adds the products of signed and unsigned bytes, in pairs, to sum, or begins it when j is 0. It overwrites
// scratch.
func (g *tile) addPairs(j int, signed, unsigned, scratch, sum reg.VecPhysical) {
	if j == 0 {
		g.VPMADDUBSW(signed, unsigned, sum)
		return
	}
	g.VPMADDUBSW(signed, unsigned, scratch)
	g.VPADDW(scratch, sum, sum)
}

// splitBytes unpacks eight lines of bytes, raised by 128, into their low halves, in the first eight registers, and their
// high halves in the next: whole bytes would saturate the sums of 16 bits.
func (g *tile) splitBytes() {
	for j := range 8 {
		low, high := g.vec(j), g.vec(8+j)
		g.VPXORD(g.quants(64*j), g.raise, low)
		g.VPSRLW(operand.U8(4), low, high)
		g.and(g.mask, low, low)
		g.and(g.mask, high, high)
	}
}

// dotSplit multiplies quants in two halves of four bits, see dotNibbles.
func (g *tile) dotSplit(t int) {
	low, high, acts, scratch := g.t0, g.t2, g.t1, g.spare
	for j := range 8 {
		g.VPBROADCASTD(cursorQ.row(t, 4*j), acts)
		g.addPairs(j, acts, g.vec(j), scratch, low)
		g.addPairs(j, acts, g.vec(8+j), acts, high)
	}
	g.VPMADDWD(g.ones, low, low)
	g.VPMADDWD(g.ones, high, high)
	g.VPSLLD(operand.U8(4), high, high)
	g.VPADDD(high, low, low)
}

// raiseBytes unpacks eight lines of signed bytes, raised by 128.
func (g *tile) raiseBytes() {
	for j := range 8 {
		g.exclusiveOr(g.quants(64*j), g.raise, g.vec(j))
	}
}

// addTriple adds a block of three tokens to their sums. With AVX-512 a dot product of quants that were raised by 2^shift begins
// at −2^shift times the sum of the activations. One multiplication of words makes that: the sum of a block's activations fits in a
// word, and the upper word of the factor is zero.
func (g *tile) addTriple(f format32, first, n int) {
	dots := g.dots[:n]
	for i, dot := range dots {
		g.zero(dot)
		if g.wide && f.shift > 0 {
			g.VPDPWSSD_BCST(cursorSums.row(first+i, 0), g.spare, dot)
		}
	}
	g.dotTriple(dots, first)
	for i, dot := range dots {
		if !g.wide {
			g.subtractOffset(first+i, f.shift, dot)
		}
		g.addBlock(first+i, dot)
	}
	if f.minimum {
		for t := first; t < first+n; t++ {
			g.addMinimum(t)
		}
	}
}

// magnitudes unpacks eight lines of signed bytes as their magnitudes; −128 becomes 128.
func (g *tile) magnitudes() {
	for j := range 8 {
		g.VPABSB(g.quants(64*j), g.vec(j))
	}
}

// dotSigned multiplies signed bytes: the quants' magnitudes with the activations under the quants' signs. A pair of products
// stays within 16 bits: 2·128·127 = 32512.
func (g *tile) dotSigned(t int) {
	for j := range 8 {
		product := g.t1
		if j == 0 {
			product = g.t0
		}
		g.VPBROADCASTD(cursorQ.row(t, 4*j), product)
		g.VPSIGNB(g.quants(64*j), product, product)
		g.VPMADDUBSW(product, g.vec(j), product)
		g.VPMADDWD(g.ones, product, product)
		if j > 0 {
			g.VPADDD(product, g.t0, g.t0)
		}
	}
}
