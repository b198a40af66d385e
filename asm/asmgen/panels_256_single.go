package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The product of a single token with weights in blocks of 256. It should wait for memory and for nothing else, so every
// instruction counts, and no weight is used twice: the block is unrolled, its shifts are constants, a line is read once for all
// runs that have quants in it, and what depends on the token alone is made once a block for all panels.
//
// Cycles that llvm-mca gives for a block of eight rows with AVX2 (Zen 3, Haswell, Skylake), before, by a loop over runs with a table
// of shifts, and now: Q4_K 103, 224, 116 → 91, 118, 93; Q5_K 217, 434, 208 → 141, 180, 157; Q6_K 252, 449, 241 → 147, 189, 158. On
// a Sapphire Rapids one thread read memory at 96 to 108 % of the rate of a loop that only reads in four places, with AVX2; before at 56 to
// 70 %. With AVX-512, with and without VNNI, at 102 to 113 % (q4_K and q6_K); before at 77 to 80 %.
//
// Tried and lost, on a machine with company, so that differences below a tenth say little: no requests of the cache (40 % of the rate);
// all of a part's requests at its beginning, or those of one panel after another (no gain); no requests for scales and inner scales
// (slower in both of two runs).
//
// For example, the code for line 0 of Q4_K's runs 0 and 1, which share it:
//
//	quants = line & 15          meet activations 0 to 3, summed for run 0
//	quants = (line >> 4) & 15   meet activations 32 to 35, summed for run 1

// single256 generates a tile for one token. A part is a registerful of rows. The code for a part's block is generated once, and
// repeated for all parts before the next block begins.
type single256 struct {
	tile256
	total  reg.VecPhysical    // the block's integer sum
	begun  bool               // total has a first summand
	least  reg.VecPhysical    // with minimums: their sum
	scales [2]reg.VecPhysical // with minimums: the inner scales of runs 0 to 3 and of runs 4 to 7, a byte each
	inner  [2]reg.VecPhysical // the inner scales of two runs or of a group, as they are multiplied
	dots   [4]reg.VecPhysical // the sums of several runs' products
	lines  [3]reg.VecPhysical // lines of quants
	quants reg.VecPhysical    // unpacked
	upper  reg.VecPhysical    // upper bits of quants
	acts   reg.VecPhysical    // four activations, in all lanes
	spread reg.VecPhysical    // the pattern that makes words of the inner scales of Q6_K

	steps, step int // how many times the part's code asks the cache for lines, and how many times it has
}

// The general registers of a single token's tile, besides regW, regScales and regInner, which point to the part's rows, regD and the
// cursor of the activations.
var (
	regPart        = reg.RCX // how many bytes of sums stand before the part's
	regAhead       = reg.R11 // the quants of the first panel that the cache is asked for next
	regScalesAhead = reg.R12 // how far ahead of the part scales are asked for
	regInnerAhead  = reg.R13 // how far ahead inner scales are asked for
)

// middleOfActs is how far behind the beginning of a block's activations the cursor stands: so all offsets fit in a byte.
const middleOfActs = 128

// generateSingle256 generates a tile for one token and a format with blocks of 256.
func generateSingle256(c *build.Context, u panelUnit, f format256, shared patterns, panels int) {
	g := &single256{tile256: tile256{tile: tile{Context: c, panelUnit: u, tokens: 1, panels: panels, both: both256(u), spill: true}, format256: f, shared: shared}}
	g.begin256()
	g.registers()
	g.start()
	g.Label("block")
	if f.decode {
		g.convertSums()
	} else {
		g.convertOffsets()
	}
	g.lookAhead()
	if g.parts() > 1 {
		g.XORL(regPart.As32(), regPart.As32())
		g.Label("part")
	}
	g.multiplyBlock()
	if g.parts() > 1 {
		g.nextPart()
	}
	g.nextBlock()
	g.JNE(operand.LabelRef("block"))
	g.storeSums()
}

// registers names the vector registers. Those for constants are the last: before a block's parts all others are free.
func (g *single256) registers() {
	next, last := 0, 15
	name := func(registers ...*reg.VecPhysical) {
		for _, r := range registers {
			*r = g.vec(next)
			next++
		}
	}
	constant := func(r *reg.VecPhysical) {
		*r = g.vec(last)
		last--
	}
	name(&g.total, &g.quants, &g.upper, &g.acts, &g.dots[0], &g.dots[1], &g.lines[0], &g.lines[1], &g.inner[0])
	constant(&g.nibble)
	if g.high != 0 {
		constant(&g.highMask)
	}
	if g.decode {
		name(&g.inner[1], &g.least, &g.scales[0], &g.scales[1])
		return
	}
	name(&g.dots[2], &g.dots[3], &g.lines[2])
	if !g.vnni {
		constant(&g.spread)
	}
}

// start fills the registers and clears the sums.
func (g *single256) start() {
	g.clearSums()
	g.groups = g.AllocLocal(64)
	g.constant(g.nibble, 0x0f0f0f0f)
	switch {
	case g.high == 0:
	case g.wide && !g.decode:
		g.constant(g.highMask, 0x33333333)
	default:
		g.constant(g.highMask, g.high)
	}
	if g.spread != nil {
		g.load(g.shared.spread, g.spread)
	}
	g.loadPointers()
}

// loadPointers fills the general registers.
func (g *single256) loadPointers() {
	g.Load(g.Param("w"), regW)
	g.Load(g.Param("scales"), regScales)
	g.Load(g.Param("inner"), regInner)
	g.Load(g.Param("q"), cursorQ.at)
	g.SUBQ(operand.I8(-middleOfActs), cursorQ.at)
	g.Load(g.Param("d"), regD)
	g.loadPanelStride()
	if g.panels > 1 {
		g.MOVL(operand.U32(g.format256.scales), regScalesAhead.As32())
		g.MOVL(operand.U32(g.format256.inner), regInnerAhead.As32())
	}
}

// convertOffsets converts the block's activations to the numbers that are subtracted from a group's sums because the quants stand 32 too
// great: 32 times the activations that are summed in a lane, in the lanes' form. With it taken off, the sums of a whole group of 16 stay
// within words, 8·32·127 = 32512, though they may wrap around before.
func (g *single256) convertOffsets() {
	if g.vnni { // lanes of 32 bits, which begin with the offset
		g.MOVQ(g.argument("sums"), regAhead)
		zero, x := reg.Y0, reg.Y1
		g.VPXOR(zero, zero, zero)
		for half := range 2 {
			g.VPSLLD(operand.U8(5), operand.Mem{Base: regAhead, Disp: 32 * half}, x)
			g.VPSUBD(x, zero, x)
			g.VMOVDQU(x, g.groups.Offset(32*half))
		}
		g.ADDQ(operand.U8(64), g.argument("sums"))
		return
	}
	g.VMOVDQU(g.shared.thirtyTwo, reg.Y0)
	offsetsOfToken(g.Context, reg.Y0, g.actsAt, g.groups)
}

// offsetsBytes is how many bytes the offsets of a token's block have.
const offsetsBytes = 64

// offsetsOfToken writes the offsets of 16 groups of activations, a pair of words for each: 32 times the sum of the elements 0, 1, 4, 5,
// 8, 9, 12 and 13, and of the others, as VPMADDUBSW adds them. It uses the registers Y1 to Y5, and has 32 in each byte of factor.
func offsetsOfToken(c Context, factor reg.VecPhysical, acts func(at int) operand.Mem, to operand.Mem) {
	x, y := [...]reg.VecPhysical{reg.Y1, reg.Y2, reg.Y3, reg.Y4}, reg.Y5
	for half := range 2 {
		for i, x := range x {
			c.VPMADDUBSW(acts(128*half+32*i), factor, x)
		}
		for i := 0; i < 4; i += 2 {
			c.VPUNPCKLDQ(x[i+1], x[i], y)
			c.VPUNPCKHDQ(x[i+1], x[i], x[i])
			c.VPADDW(y, x[i], x[i])
		}
		c.VPUNPCKLQDQ(x[2], x[0], y)
		c.VPUNPCKHQDQ(x[2], x[0], x[0])
		c.VPADDW(y, x[0], x[0])
		c.VMOVDQU(x[0], to.Offset(32*half))
	}
}

// offsetAt returns the place of a group's offset.
func (g *single256) offsetAt(group int) operand.Mem {
	if g.vnni {
		return g.groups.Offset(4 * group)
	}
	return g.groups.Offset(32*(group/8) + 16*(group%2) + 4*(group/2%4)) // where offsetsOfToken leaves it
}

// lookAhead sets what the cache is asked for while a block is multiplied: the next block, or, in the last, the first block of the
// panels that come next.
func (g *single256) lookAhead() {
	g.LEAQ(operand.Mem{Base: regW, Disp: g.quantsOfBlock}, regAhead)
	if g.panels == 1 {
		return
	}
	g.CMPQ(g.argument("blocks"), operand.U8(1))
	g.JNE(operand.LabelRef("ahead"))
	g.Load(g.Param("w"), regAhead)
	g.ADDQ(g.argument("next"), regAhead)
	for _, p := range []struct {
		name      string
		at, ahead reg.GPPhysical
	}{{"scales", regScales, regScalesAhead}, {"inner", regInner, regInnerAhead}} {
		g.Load(g.Param(p.name), p.ahead)
		g.ADDQ(g.argument("next"), p.ahead)
		g.SUBQ(p.at, p.ahead)
	}
	g.Label("ahead")
}

// ask asks the cache for some of the lines that the part has to ask for. All panels get theirs in turns.
func (g *single256) ask() {
	lines := g.quantsOfBlock / 64 * g.panels / g.parts()
	from, to := lines*g.step/g.steps, lines*(g.step+1)/g.steps
	for i := from; i < to; i++ {
		g.part = i % g.panels * g.halves()
		g.request(g.inPart(operand.Mem{Base: regAhead, Disp: 64 * (i / g.panels)}, 0))
	}
	g.step++
}

// askForScales asks the cache for the part's scales and inner scales.
func (g *single256) askForScales() {
	if g.panels == 1 {
		return
	}
	g.request(operand.Mem{Base: regScales, Index: regScalesAhead, Scale: 1})
	for at := 0; at < g.format256.inner; at += 64 {
		g.request(operand.Mem{Base: regInner, Index: regInnerAhead, Scale: 1, Disp: at})
	}
}

// quantsAt returns the address of a line of the part's block.
func (g *single256) quantsAt(line int) operand.Mem { return operand.Mem{Base: regW, Disp: 64 * line} }

// actsAt returns the address of the block's activations.
func (g *single256) actsAt(at int) operand.Mem {
	return operand.Mem{Base: cursorQ.at, Disp: at - middleOfActs}
}

// multiplyBlock multiplies the part's block and adds it to the sum.
func (g *single256) multiplyBlock() {
	g.begun, g.step = false, 0
	g.askForScales()
	if g.decode {
		g.steps = 32
		g.decodeBytes()
		g.multiplyPairs()
	} else {
		g.steps = 16
		g.multiplyQuarters()
	}
	sum := g.sums
	if g.parts() > 1 {
		sum.Index, sum.Scale = regPart, 1
	}
	scale, product := g.quants, g.upper
	g.VCVTPH2PS(operand.Mem{Base: regScales}, scale)
	g.VCVTDQ2PS(g.total, g.total)
	g.scaleBy(operand.Mem{Base: regD}, scale, product)
	g.VFMADD213PS(sum, product, g.total)
	if g.decode {
		g.VCVTPH2PS(operand.Mem{Base: regScales, Disp: 32}, scale)
		g.VCVTDQ2PS(g.least, g.least)
		g.scaleBy(operand.Mem{Base: regD}, scale, product)
		g.VFNMADD231PS(g.least, product, g.total)
	}
	g.VMOVUPS(g.total, sum)
}

// decodeBytes decodes the inner scales of Q4_K, and sums the minimums.
func (g *single256) decodeBytes() {
	minimums := [2]reg.VecPhysical{g.dots[0], g.dots[1]}
	g.sixBits(g.lines[0], g.lines[1], g.quants, g.scales, minimums)
	for i := range 4 {
		pair := g.upper
		g.VPSHUFB(g.shared.minimums[i%2], minimums[i/2], pair)
		g.VPBROADCASTD(g.groups.Offset(4*i), g.acts)
		if i == 0 {
			g.VPMADDWD(g.acts, pair, g.least)
			continue
		}
		g.addWords(g.acts, pair, g.least)
	}
}

// multiply adds the products of unpacked quants with four activations to dot, or begins it: with what begin reads, if anything.
func (g *single256) multiply(at int, dot reg.VecPhysical, begin bool, offset operand.Op) {
	acts := g.actsAt(at)
	if !g.vnni {
		to := g.acts
		if begin {
			to = dot
		}
		g.VPBROADCASTD(acts, to)
		g.VPMADDUBSW(to, g.quants, to)
		if !begin {
			g.VPADDW(to, dot, dot)
		}
		return
	}
	switch {
	case begin && offset != nil:
		g.VPBROADCASTD(offset, dot)
	case begin:
		g.zero(dot)
	}
	if g.wide {
		g.VPDPBUSD_BCST(acts, g.quants, dot)
		return
	}
	g.VPBROADCASTD(acts, g.acts)
	multiplyUnsigned(g.Context, g.acts, g.quants, dot)
}

// addScaled adds a sum of products, times an inner scale, to the total. It overwrites the sum.
func (g *single256) addScaled(scale, dot reg.VecPhysical) {
	to := dot
	if !g.begun {
		to = g.total
	}
	if g.vnni {
		g.VPMULLD(scale, dot, to)
	} else {
		g.VPMADDWD(scale, dot, to)
	}
	if g.begun {
		g.VPADDD(dot, g.total, g.total)
	}
	g.begun = true
}

// multiplyPairs multiplies the runs of a format with minimums. Two neighbouring runs share lines.
func (g *single256) multiplyPairs() {
	madds := g.madds
	if g.vnni {
		madds = 8 // their sums have 32 bits
	}
	for pair := range 4 {
		for i, inner := range g.inner {
			run := 2*pair + i
			g.VPSHUFB(g.shared.scales[run%4], g.scales[run/4], inner)
		}
		for j := range 8 {
			g.ask()
			line, first := g.quantsAt(8*pair+j), j%madds == 0
			bits := g.lines[1]
			g.and(line, g.nibble, g.quants)
			if g.high != 0 {
				g.shiftLeft(3-2*pair, g.quantsAt(32+j), bits) // to the place of the second run's fifth bit; the first's is one lower
				g.VPADDB(bits, bits, g.upper)
				g.join(g.upper)
			}
			g.multiply(64*pair+4*j, g.dots[0], first, nil)
			g.shiftLeft(-4, line, g.quants)
			g.and(g.nibble, g.quants, g.quants)
			if g.high != 0 {
				g.join(bits)
			}
			g.multiply(64*pair+32+4*j, g.dots[1], first, nil)
			if (j+1)%madds == 0 {
				g.addScaled(g.inner[0], g.dots[0])
				g.addScaled(g.inner[1], g.dots[1])
			}
		}
	}
}

// multiplyQuarters multiplies the runs of Q6_K: four of them share lines, two those with the low four bits.
func (g *single256) multiplyQuarters() {
	for quarter := range 4 {
		part, half := quarter/2, quarter%2 // of the block; of the runs
		for j := 4 * half; j < 4*half+4; j++ {
			g.ask()
			lines := [3]operand.Mem{g.quantsAt(16*part + j), g.quantsAt(16*part + 8 + j), g.quantsAt(32 + 8*part + j)}
			g.unpackLines(lines, func(run int) {
				group := 8*part + 2*run + half
				g.multiply(128*part+32*run+4*j, g.dots[run], j%4 == 0, g.offsetAt(group))
			})
		}
		for run, dot := range g.dots {
			group := 8*part + 2*run + half
			g.loadGroupScale(group)
			if !g.vnni {
				g.VPBROADCASTD(g.offsetAt(group), g.acts)
				g.VPSUBW(g.acts, dot, dot)
			}
			g.addScaled(g.inner[0], dot)
		}
	}
}

// unpackLines unpacks lines of Q6_K, two with low bits and one with upper ones, and calls multiply for each of the four runs.
func (g *single256) unpackLines(lines [3]operand.Mem, multiply func(run int)) {
	const (
		secondOrFirst = 0xb8 // second ? third : first
		thirdOrSecond = 0xe4 // third ? first : second
	)
	if g.wide {
		even, odd := g.lines[0], g.lines[1] // the upper bits of runs 0 and 2, and of 1 and 3, in the lower bits of nibbles
		g.VPANDD(lines[2], g.highMask, even)
		g.VPSRLW(operand.U8(2), lines[2], odd)
		g.VPANDD(g.highMask, odd, odd)
		for run := range 4 {
			bits := [...]reg.VecPhysical{even, odd}[run%2]
			if run < 2 {
				g.VPSLLW(operand.U8(4), bits, g.quants)
				g.VPTERNLOGD(operand.U8(secondOrFirst), lines[run], g.nibble, g.quants)
			} else {
				g.VPSRLW(operand.U8(4), lines[run%2], g.quants)
				g.VPTERNLOGD(operand.U8(thirdOrSecond), g.nibble, bits, g.quants)
			}
			multiply(run)
		}
		return
	}
	for i, line := range lines {
		g.load(line, g.lines[i])
	}
	for run := range 4 {
		low := g.lines[run%2]
		if run >= 2 {
			g.VPSRLW(operand.U8(4), low, low)
		}
		g.VPAND(g.nibble, low, g.quants)
		bits := g.lines[2]
		if shift := 4 - 2*run; shift != 0 {
			bits = g.upper
			g.shiftLeft(shift, g.lines[2], bits)
		}
		g.join(bits)
		multiply(run)
	}
}

// join adds the upper bits of quants to the low ones, out of bits, which it overwrites.
func (g *single256) join(bits reg.VecPhysical) {
	if g.wide {
		const orAnd = 0xf8 // first | second & third
		g.VPTERNLOGD(operand.U8(orAnd), g.highMask, bits, g.quants)
		return
	}
	masked := g.upper
	g.VPAND(g.highMask, bits, masked)
	g.VPOR(masked, g.quants, g.quants)
}

// loadGroupScale loads the inner scale of a group of Q6_K.
func (g *single256) loadGroupScale(group int) {
	scale := operand.Mem{Base: regInner, Disp: 16 * group}
	switch {
	case g.vnni:
		g.VPMOVSXBD(scale, g.inner[0])
		return
	case g.wide:
		g.VBROADCASTI32X4(scale, g.inner[0])
	default:
		g.VPBROADCASTQ(scale, g.inner[0])
	}
	g.VPSHUFB(g.spread, g.inner[0], g.inner[0]) // to the upper bytes of words
	g.VPSRAW(operand.U8(8), g.inner[0], g.inner[0])
}

// shiftLeft sets dst to words shifted by n bits to the left, or, if n is negative, to the right.
func (g *single256) shiftLeft(n int, from operand.Op, dst reg.VecPhysical) {
	if m, ok := from.(operand.Mem); ok && !g.wide {
		g.load(m, dst)
		from = dst
	}
	if n < 0 {
		g.VPSRLW(operand.U8(-n), from, dst)
		return
	}
	g.VPSLLW(operand.U8(n), from, dst)
}

// nextPart goes to the block's next part, if there is one, or leaves the registers at the panels behind.
func (g *single256) nextPart() {
	all := []reg.GPPhysical{regW, regScales, regInner}
	g.ADDQ(operand.U8(g.width()), regPart)
	g.ADDQ(operand.U32(g.quantsOfBlock/g.parts()), regAhead)
	back := [3]int{}
	if g.halves() > 1 {
		back = [3]int{4 * g.rows(), 2 * g.rows(), g.innerUnit * g.rows()}
		for i, r := range all {
			g.ADDQ(operand.U8(back[i]), r)
		}
		g.TESTQ(operand.U32(g.width()), regPart)
		g.JNE(operand.LabelRef("part"))
	}
	if g.panels == 1 {
		for i, r := range all {
			g.SUBQ(operand.U8(2*back[i]), r)
		}
		return
	}
	for i, r := range all {
		g.LEAQ(operand.Mem{Base: r, Index: strideOfPanels, Scale: 1, Disp: -2 * back[i]}, r)
	}
	g.CMPQ(regPart, operand.U32(g.width()*g.parts()))
	g.JNE(operand.LabelRef("part"))
	for _, r := range all {
		g.SUBQ(stride3OfPanels, r)
		g.SUBQ(strideOfPanels, r)
	}
}

// nextBlock goes to the next block and sets the flags for whether there is one.
func (g *single256) nextBlock() {
	g.ADDQ(operand.U32(g.quantsOfBlock), regW)
	g.ADDQ(operand.U8(g.format256.scales), regScales)
	g.ADDQ(operand.U32(g.format256.inner), regInner)
	g.ADDQ(operand.U32(256), cursorQ.at)
	g.ADDQ(operand.U8(4), regD)
	g.DECQ(g.argument("blocks"))
}
