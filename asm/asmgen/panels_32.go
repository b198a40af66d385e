package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/antigravity-go/antigravity/quant"
)

// The tiles of formats with blocks of 32. A block's quants are unpacked to registers, as far as possible unsigned, because the instructions
// multiply unsigned with signed bytes. Then each token's dot product is made, corrected, scaled and added to its sum. How signed quants are
// multiplied depends on the unit. The quant −3 of Q8_0 and the activation 5:
//
//	AVX2       the magnitude 3 and the activation under the quant's sign: 3·(−5) = −15
//	VNNI       the quant raised by 128: 125·5 = 625, less 128·5 = 640, is −15
//	AVX-512    125 = 16·7 + 13 in two halves: 13·5 + 16·(7·5) = 625, less 640, is −15

// format32 describes a format with blocks of 32, as a unit multiplies it.
type format32 struct {
	name    string
	quants  int      // bytes of a block's quants in the panel
	scales  int      // bytes of a block's scales
	source  source32 // what the quants are made of
	shift   int      // 2^shift is added to each quant, which makes it unsigned, and taken off the sums; 0: nothing is
	powers  bool     // scales are powers of two, stored as bytes of exponents
	minimum bool     // a second half scales the sum of the activations
	vectors int      // how many registers the unpacked quants of a block take
	unpack  func(g *tile)
	dot     func(g *tile, t int) // leaves the dot product of the quants with a token's in T0; nil: VPDPBUSD does it
}

// source32 is what the quants of a block of 32 are made of.
type source32 int

const (
	fromNibbles source32 = iota // four lines of nibbles
	fromFive                    // four lines of nibbles, and one with the fifth bits
	fromTable                   // four lines of nibbles, each the place of a byte in a table
	fromBytes                   // eight lines of signed bytes
	fromFP4                     // four lines of nibbles, each the place of a byte between −12 and 12 in a table
)

// whole reports whether quants take all the bits of a byte: a product of two bytes leaves no room for a second one in 16 bits.
func (s source32) whole() bool { return s == fromTable || s == fromBytes }

// madds returns how many VPMADDUBSW may be added in 16 bits: 16·15·127 = 30480, 8·31·127 = 31496.
func (s source32) madds() int { return map[source32]int{fromNibbles: 8, fromFive: 4, fromFP4: 4}[s] }

// centre returns the power of two that, taken off nibbles or quants of five bits, makes them signed.
func (s source32) centre() int { return map[source32]int{fromNibbles: 3, fromFive: 4}[s] }

// formats32 returns the formats with blocks of 32.
func formats32(u panelUnit) []format32 {
	q4_0 := format32{name: "q4_0", shift: 3, vectors: 8, unpack: (*tile).nibbles, dot: (*tile).dotNibbles}
	q4_1 := format32{name: "q4_1", vectors: 8, unpack: (*tile).nibbles, dot: (*tile).dotNibbles}
	q8_0 := format32{name: "q8_0", source: fromBytes, shift: 7, vectors: 16, unpack: (*tile).splitBytes, dot: (*tile).dotSplit}
	q5_0 := format32{name: "q5_0", source: fromFive, shift: 4, vectors: 8, unpack: (*tile).fives, dot: (*tile).dotFives}
	q5_1 := format32{name: "q5_1", source: fromFive, vectors: 8, unpack: (*tile).fives, dot: (*tile).dotFives}
	iq4_nl := format32{name: "iq4_nl", source: fromTable, shift: 7, vectors: 16, unpack: (*tile).splitValues, dot: (*tile).dotSplit}
	mxfp4 := format32{name: "mxfp4", source: fromFP4, shift: 4, vectors: 8, unpack: (*tile).raisedFP4, dot: (*tile).dotFives}
	switch {
	case u.vnni:
		q4_0.dot, q4_1.dot, q8_0.dot, q5_0.dot, q5_1.dot, iq4_nl.dot, mxfp4.dot = nil, nil, nil, nil, nil, nil, nil
		q8_0.vectors, q8_0.unpack = 8, (*tile).raiseBytes
		iq4_nl.vectors, iq4_nl.unpack = 8, (*tile).raisedValues
	case !u.wide:
		q8_0.vectors, q8_0.shift, q8_0.unpack, q8_0.dot = 8, 0, (*tile).magnitudes, (*tile).dotSigned
		iq4_nl.vectors, iq4_nl.shift, iq4_nl.unpack, iq4_nl.dot = 8, 0, (*tile).values, (*tile).dotValues
	}
	list := []format32{q4_0, q4_1, q8_0, q5_0, q5_1, iq4_nl, mxfp4}
	for i := range list {
		f := &list[i]
		f.quants, f.scales, f.minimum = planes(f.name, 0)
		f.powers = f.scales == rowsOfPanel
	}
	return list
}

// rowsOfPanel is how many rows of weights a panel interleaves.
const rowsOfPanel = 16

// planes returns how many bytes a panel's block has for the quants of a format and for its scales, and whether there are
// minimums. The format is named in any case; inner is the bytes of inner scales.
func planes(name string, inner int) (quants, scales int, minimum bool) {
	for _, f := range quant.Formats() {
		if strings.EqualFold(f.String(), name) {
			halves := len(f.ScalesAt())
			scales = rowsOfPanel * 2 * halves
			if _, exponents := f.ExponentAt(); exponents {
				scales = rowsOfPanel
			}
			return rowsOfPanel*f.BlockBytes() - scales - inner, scales, halves > 1
		}
	}
	panic("asmgen: no format is named " + name)
}

// patterns32 are constants in memory for formats with blocks of 32, of 64 bytes.
type patterns32 struct {
	fifths  [4]operand.Mem // for VPSHUFB: byte i of each 32 bits, four times
	bits    [2]operand.Mem // in the bytes of each 32 bits: the lower four bits, and the upper four
	sixteen operand.Mem    // in each byte

	fp4, raisedFP4         operand.Mem // those of MXFP4: signed, and raised by 16
	leastPower, halfAFloat operand.Mem // in each 32 bits: 2^−127 and 0.5 as float32

	values, raised, lowValues, highValues operand.Mem // the values that nibbles choose from: signed, raised by 128, and the halves of that
}

// nonlinear4 are the values that nibbles choose from, as in package quant.
var nonlinear4 = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// fp4 are the values of MXFP4, as in package quant.
var fp4 = [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// bytesInMemory writes a constant of 64 bytes.
func bytesInMemory(c *build.Context, name string, at func(i int) byte) operand.Mem {
	m := c.StaticGlobal(name)
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		word := uint32(0)
		for j := range 4 {
			word |= uint32(at(4*i+j)) << (8 * j)
		}
		c.AddDatum(4*i, operand.U32(word))
	}
	return m
}

// newPatterns32 writes the constants of a file.
func newPatterns32(c *build.Context, u panelUnit) (p patterns32) {
	constant := func(name string, at func(i int) byte) operand.Mem { return bytesInMemory(c, name+u.name, at) }
	for b := range p.fifths {
		p.fifths[b] = constant(fmt.Sprintf("fifths%d", b), func(i int) byte { return byte(i%16/4*4 + b) })
	}
	for b := range p.bits {
		p.bits[b] = constant(fmt.Sprintf("bits%d", b), func(i int) byte { return 1 << (4*b + i%4) })
	}
	p.sixteen = constant("sixteen", func(int) byte { return 16 })
	p.values = constant("values", func(i int) byte { return byte(nonlinear4[i%16]) })
	p.raised = constant("raisedValues", func(i int) byte { return byte(nonlinear4[i%16]) ^ 0x80 })
	p.lowValues = constant("lowValues", func(i int) byte { return byte(nonlinear4[i%16]) & 15 })
	p.fp4 = constant("fp4", func(i int) byte { return byte(fp4[i%16]) })
	p.raisedFP4 = constant("raisedFP4", func(i int) byte { return byte(fp4[i%16] + 16) })
	p.leastPower = constant("leastPower", func(i int) byte { return [4]byte{2: 0x40}[i%4] })
	p.halfAFloat = constant("halfAFloat", func(i int) byte { return [4]byte{3: 0x3f}[i%4] })
	p.highValues = constant("highValues", func(i int) byte { return (byte(nonlinear4[i%16]) ^ 0x80) >> 4 })
	return p
}

// prefetchAhead is how many bytes ahead of the reads the quants are asked for: the processor's own prefetchers stop at each page's
// end.
const prefetchAhead = 2048

// vectors32 are vector registers of a tile for blocks of 32. In front of them stand those with the unpacked quants of the block,
// four bytes of each row in each; the sums of the tokens stand at the end, the first token's last.
type vectors32 struct {
	scale        reg.VecPhysical
	t0, t1, t2   reg.VecPhysical
	ones, mask   reg.VecPhysical    // 1 in each 16 bits; 15 in each byte
	raise, spare reg.VecPhysical    // 128 in each byte; what else a format needs
	dots         [3]reg.VecPhysical // with VNNI: the dot products of three tokens

	blockQuants, blockScales int // bytes
}

// newTile32 begins a tile for a format with blocks of 32.
func newTile32(c *build.Context, u panelUnit, f format32, constants patterns32, panels, tokens int) *tile {
	g := &tile{Context: c, panelUnit: u, constants: constants, tokens: tokens, panels: panels, spill: !u.wide && panels*tokens > 1}
	g.blockQuants, g.blockScales = f.quants, f.scales
	next := f.vectors
	for _, r := range []*reg.VecPhysical{&g.t0, &g.t1, &g.t2, &g.scale, &g.ones, &g.mask, &g.raise, &g.spare} {
		if !u.wide && next > 15 {
			break
		}
		*r = g.vec(next)
		next++
	}
	g.dots = [3]reg.VecPhysical{g.t0, g.ones, g.spare}
	if u.wide {
		g.dots = [3]reg.VecPhysical(zmm[16:])
	}
	minimum := ""
	if f.minimum {
		minimum = ", then + (m[b][r]·d[t][b])·sums[t][b]"
	}
	g.begin(f.name, "out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]"+minimum)
	g.loadArguments(8)
	g.clearSums()
	if !u.vnni {
		g.constant(g.ones, 0x00010001)
	}
	g.constant(g.mask, 0x0f0f0f0f)
	if f.name == "q8_0" && f.shift > 0 {
		g.constant(g.raise, 0x80808080)
	}
	if u.vnni && u.wide && f.shift > 0 {
		g.constant(g.spare, 1<<16-1<<f.shift) // −2^shift in the lower word
	}
	return g
}

// generate32 generates a tile for a format with blocks of 32.
func generate32(c *build.Context, u panelUnit, f format32, constants patterns32, panels, tokens int) {
	g := newTile32(c, u, f, constants, panels, tokens)
	requests := g.newAhead(f.quants, f.scales)
	if requests != nil {
		requests.at, requests.count = []operand.Op{reg.R12, reg.R13}, g.argument("blocks")
		requests.start()
	}
	if panels > 1 {
		g.LEAQ(operand.Mem{Base: regW, Disp: f.blocksAhead() * f.quants}, regQuantsAhead)
		g.LEAQ(operand.Mem{Base: regScales, Disp: f.blocksAhead() * f.scales}, regHalvesAhead)
	}
	g.Label("block")
	if panels > 1 {
		g.CMPQ(regBlocks, operand.U8(f.blocksAhead()))
		g.JNE(operand.LabelRef("ahead"))
		g.turnAhead()
		g.Label("ahead")
	}
	if requests != nil {
		requests.turn(regBlocks, reg.R14)
		requests.ask(0, regW, nil)
		requests.ask(1, regScales, nil)
	}
	for g.part = range g.parts() {
		if requests == nil && g.part%g.halves() == 0 {
			g.askForBlock(f)
		}
		g.multiplyBlock32(f)
	}
	if panels > 1 {
		g.ADDQ(operand.U32(f.quants), regQuantsAhead)
		g.ADDQ(operand.U8(f.scales), regHalvesAhead)
	}
	g.nextBlocks32(f, 1)
	g.DECQ(regBlocks)
	g.JNE(operand.LabelRef("block"))
	g.storeSums()
}

// multiplyBlock32 multiplies the part's block with all tokens and adds it to their sums.
func (g *tile) multiplyBlock32(f format32) {
	f.unpack(g)
	g.loadScales(f, g.inPart(g.scalesOfBlock(0), f.scaleBytes()), g.scale)
	g.forTriples([]*cursor{cursorQ, cursorD, cursorSums}, func(first, n int) {
		if g.vnni {
			g.addTriple(f, first, n)
			return
		}
		for t := first; t < first+n; t++ {
			f.dot(g, t)
			g.subtractOffset(t, f.shift, g.t0)
			g.addBlock(t, g.t0)
			if f.minimum {
				g.addMinimum(t)
			}
		}
	})
}

// nextBlocks32 goes n blocks further.
func (g *tile) nextBlocks32(f format32, n int) {
	g.ADDQ(operand.U32(n*f.quants), regW)
	g.ADDQ(step(n*f.scales), regScales)
	g.ADDQ(step(n*32), cursorQ.at)
	g.ADDQ(step(n*4), cursorD.at)
	g.ADDQ(step(n*4), cursorSums.at)
}

// step returns n as an immediate operand, of a byte if it is one.
func step(n int) operand.Constant {
	if n <= math.MaxInt8 {
		return operand.U8(n)
	}
	return operand.U32(n)
}

// singleAhead is about how many bytes ahead of the reads a tile of several panels asks for quants, in each panel, and for the scales of the
// same blocks. Behind the last blocks it goes on with the panels that come next. It asks for lines in the second-level cache, since there are
// few places for lines on their way to the first level, and a processor that has taken them all waits.
//
// One token of Q4_0 with AVX-512 VNNI, GB/s on one and on two threads of a Zen 4, medians of variants in turn, with rows of 2048:
//
//	2048 bytes ahead in the first level, only in these panels   12.8   24.7 (the kernel before)
//	the same, going on with the next panels                     14.4
//	no requests                                                 15.1
//	2048 bytes ahead in the second level, only in these panels  17.7   34.0
//	the same, going on with the next panels                     20.3   37.6
//	4096 bytes ahead                                            20.5   37.2
//	8192 bytes ahead                                            21.0   38.1
//	4096 bytes ahead, no requests for scales                    19.5   36.6
//
// No better: PREFETCHT2 (20.5, 37.6), PREFETCHNTA (14.3), every second line (0.85 times the rate), requests for the next panels' beginnings
// alone (0.76 times), one panel after the other with requests in one stream (0.96 times), requests that go on, at a piece's end, with the
// piece that the thread probably computes next (the same). Tiles of one panel and 2 to 256 tokens gain nothing by the second level. On a Sapphire Rapids the same gains are 1.08 on
// one and two threads, 1.05 on sixteen.
const singleAhead = 4096

// blocksAhead returns how many blocks singleAhead is.
func (f *format32) blocksAhead() int { return singleAhead / f.quants }

// The first panel's quants and scales that a tile of several panels asks for next.
var regQuantsAhead, regHalvesAhead = reg.R10, reg.R11

// turnAhead leads the requests to the panels that come next.
func (g *tile) turnAhead() {
	g.Load(g.Param("w"), regQuantsAhead)
	g.ADDQ(g.argument("next"), regQuantsAhead)
	g.Load(g.Param("scales"), regHalvesAhead)
	g.ADDQ(g.argument("next"), regHalvesAhead)
}

// askForBlock asks the caches for a block of the part's panel that comes later, and, with several panels, for its scales.
func (g *tile) askForBlock(f format32) {
	for line := 0; line < f.quants; line += 64 {
		if g.panels == 1 {
			g.PREFETCHT0(g.quants(prefetchAhead + line))
		} else {
			g.PREFETCHT1(g.inPart(operand.Mem{Base: regQuantsAhead, Disp: line}, 0))
		}
	}
	if g.panels > 1 {
		g.PREFETCHT1(g.inPart(operand.Mem{Base: regHalvesAhead}, 0))
	}
}

// quants returns an address in the block's quants.
func (g *tile) quants(disp int) operand.Mem {
	return g.inPart(operand.Mem{Base: regW, Disp: g.block*g.blockQuants + disp}, 4)
}

// scalesOfBlock returns an address in the block's scales.
func (g *tile) scalesOfBlock(disp int) operand.Mem {
	return operand.Mem{Base: regScales, Disp: g.block*g.blockScales + disp}
}

// scaleBytes returns how many bytes a row's scale has.
func (f *format32) scaleBytes() int {
	if f.powers {
		return 1
	}
	return 2
}

// loadScales reads the scales of a register of rows. Those that are powers of two are made by their exponents: 2^(e−127), which has no
// exponent where e is 0, is halved.
func (g *tile) loadScales(f format32, from operand.Mem, to reg.VecPhysical) {
	if !f.powers {
		g.VCVTPH2PS(from, to)
		return
	}
	g.VPMOVZXBD(from, to)
	g.VPSLLD(operand.U8(23), to, to)
	g.VPMAXUD(g.constants.leastPower, to, to)
	g.VMULPS(g.constants.halfAFloat, to, to)
}

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

// subtractOffset subtracts 2^shift times the sum of the activations from a dot product.
func (g *tile) subtractOffset(t, shift int, dot reg.VecPhysical) {
	if shift == 0 {
		return
	}
	if g.wide {
		g.VPSLLD_BCST(operand.U8(shift), cursorSums.row(t, 0), g.t1)
	} else {
		g.VPBROADCASTD(cursorSums.row(t, 0), g.t1)
		g.VPSLLD(operand.U8(shift), g.t1, g.t1)
	}
	g.VPSUBD(g.t1, dot, dot)
}

// addBlock adds a token's dot product, scaled, to its sum.
func (g *tile) addBlock(t int, dot reg.VecPhysical) {
	g.VCVTDQ2PS(dot, dot)
	g.scaleBy(cursorD.row(t, 0), g.scale, g.t1)
	g.addProduct(t+g.part, g.t1, dot)
}

// addMinimum adds the sum of a token's activations, times the scaled minimum, to its sum.
func (g *tile) addMinimum(t int) {
	minimum := g.t2
	g.VCVTPH2PS(g.inPart(g.scalesOfBlock(32), 2), minimum)
	if g.wide {
		g.VCVTDQ2PS_BCST(cursorSums.row(t, 0), g.t0)
	} else {
		g.VPBROADCASTD(cursorSums.row(t, 0), g.t0)
		g.VCVTDQ2PS(g.t0, g.t0)
	}
	g.scaleBy(cursorD.row(t, 0), minimum, g.t1)
	g.addProduct(t+g.part, g.t1, g.t0)
}
