package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The products of several tokens with weights in blocks of 256, for registers with half of a panel's rows (AVX2). Four lines of one run are
// unpacked at a time, of both halves, into eight registers: so four activations that were read once meet 16 rows, and the sums of such a
// quarter stay within words until they are multiplied by their inner scale.
//
// For 256 multiply-adds of a token that is 24 instructions (Q6_K: 27), where half a panel and eight lines at a time took 26 (33). With
// eight tokens Intel's ports leave little of that, since there are two multiplications by inner scales instead of one: Q4_K and Q6_K gained
// about 1.1 times on a Sapphire Rapids; llvm-mca gives 1.08 and 1.2 times for Zen 3, which takes broadcasts for free. With 2 tokens 1.3
// times (Q5_K 1.1), and with 3, 5 and 7, which were cut in pieces before, 1.5 to 1.8 times.
//
// A step with the first four lines of Q4_K's run 0, for one token:
//
//	unpack      registers 0 to 3: quants 0 to 15 of rows 0 to 7; registers 4 to 7: those of rows 8 to 15
//	multiply    four VPBROADCASTD of four activations each, each for two VPMADDUBSW
//	add up      six VPADDW: the sums of 16 products for 16 rows, a pair of words a row
//	scale       two VPMADDWD by the rows' inner scales, added to the token's integer sums

// narrow256 generates such a tile. The unpacked quants are in its first eight registers, those of the rows' first half in front.
type narrow256 struct {
	tile256
	halfScales [2]reg.VecPhysical // the inner scales of the rows' halves
	halfDots   [2]reg.VecPhysical
	bits       operand.Mem // the table of high bits
	pairs      int         // of minimums, or of inner scales that are taken off
	pairAt     func(half, i int) operand.Mem
	takeOff    uint64 // without minimums: the sums of the pairs, shifted so far, are taken off the integer sums
}

// The general registers of a narrow tile, besides those of tile256. A loop over a block leaves its pointers at the next block.
var (
	regStep  = reg.RCX // how far the loop over a block has come, in the bytes of what it indexes
	regUpper = reg.R13 // upper bits
	regBits  = reg.RDX // the table of high bits; while sums are read, and while blocks end, their place
)

// both256 reports whether a unit's tiles for blocks of 256 take both halves of a panel, though a register has but one.
func both256(u panelUnit) bool { return u == unitAVX2 }

// linesAtOnce is how many lines are unpacked at a time.
const linesAtOnce = 4

// generateNarrow256 generates a tile.
func generateNarrow256(c *build.Context, u panelUnit, f format256, shared patterns, bits operand.Mem, tokens int) {
	g := &narrow256{bits: bits, tile256: tile256{tile: tile{Context: c, panelUnit: u, tokens: tokens, panels: 1, both: true, spill: true}, format256: f, shared: shared}}
	g.registers()
	if f.decode {
		g.pairs, g.pairAt = 4, func(half, i int) operand.Mem {
			g.part = half
			return g.decodedAt(8 + i)
		}
	}
	g.begin256()
	g.start()
	g.Label("block")
	g.clearIntegers()
	if f.decode {
		g.convertSums()
		for g.part = range g.parts() {
			g.decodeScales()
		}
		g.multiplyPairs()
	} else {
		g.convertOffsets()
		g.multiplyQuarters()
	}
	g.endBlock()
	g.JNE(operand.LabelRef("block"))
	g.storeSums()
}

// registers names the vector registers.
func (g *narrow256) registers() {
	g.tile256.registers()
	g.halfDots, g.halfScales = [2]reg.VecPhysical{g.t0, g.t1}, [2]reg.VecPhysical{g.scaleA, g.scaleB}
}

// start fills the registers and clears the sums.
func (g *narrow256) start() {
	bytesOfGroups := sumsOfToken
	if !g.decode {
		bytesOfGroups = offsetsBytes
	}
	g.reserve(bytesOfGroups)
	g.loadRegisters()
	g.constant(g.nibble, 0x0f0f0f0f)
	if g.high != 0 {
		g.constant(g.highMask, g.high)
	}
}

// clearIntegers clears the integer sums.
func (g *narrow256) clearIntegers() {
	g.zero(g.t0)
	for i := range g.tokens * g.parts() {
		g.VMOVDQU(g.t0, g.integers.Offset(g.width()*i))
	}
}

// ask asks the cache for lines, those of the block after the next.
func (g *narrow256) ask(from reg.GPPhysical, first, n int) {
	for line := first; line < first+n; line++ {
		g.PREFETCHT0(operand.Mem{Base: from, Disp: 64*line + 2*g.quantsOfBlock})
	}
}

// forLines calls do for each of the eight registers of quants with its half of a line.
func (g *narrow256) forLines(from reg.GPPhysical, first int, do func(line operand.Mem, quants reg.VecPhysical)) {
	for half := range 2 {
		for j := range linesAtOnce {
			do(operand.Mem{Base: from, Disp: 64*(first+j) + 32*half}, g.vec(linesAtOnce*half+j))
		}
	}
}

// multiplyPairs multiplies the runs of a format with minimums, two neighbouring ones at a time, which share lines.
func (g *narrow256) multiplyPairs() {
	if g.high != 0 {
		g.LEAQ(operand.Mem{Base: regW, Disp: 2048}, regUpper)
		g.LEAQ(g.bits, regBits)
		g.ask(regUpper, 0, 8)
	}
	g.XORL(regStep.As32(), regStep.As32())
	g.Label("pair")
	g.ask(regW, 0, 8)
	for run := range 2 {
		for half, scale := range g.halfScales {
			g.part = half
			m := g.decodedAt(run)
			m.Index, m.Scale = regStep, 1
			g.load(m, scale)
		}
		for first := 0; first < 8; first += linesAtOnce {
			g.forLines(regW, first, func(line operand.Mem, quants reg.VecPhysical) {
				if run == 0 {
					g.VPAND(line, g.nibble, quants)
					return
				}
				g.VMOVDQU(line, quants)
				g.VPSRLW(operand.U8(4), quants, quants)
				g.VPAND(g.nibble, quants, quants)
			})
			if g.high != 0 {
				g.highBits(operand.Mem{Base: regBits, Index: regStep, Scale: 1, Disp: bitAt(run)}, first)
			}
			g.multiplyLines(32*run+4*first, operand.Mem{})
		}
	}
	g.ADDQ(operand.U32(512), regW)
	g.ADDQ(operand.U8(64), cursorQ.at)
	g.ADDQ(operand.U8(2*g.width()), regStep)
	g.CMPQ(regStep, operand.U32(8*g.width()))
	g.JNE(operand.LabelRef("pair"))
	if g.high != 0 {
		g.ADDQ(operand.U32(g.quantsOfBlock-2048), regW)
	}
}

// highBits joins the lines' high bits to the quants: those that the line has are compared, which needs no shifts.
func (g *narrow256) highBits(bits operand.Mem, first int) {
	bit, found := g.t2, g.t0
	g.VPBROADCASTD(bits, bit)
	g.forLines(regUpper, first, func(line operand.Mem, quants reg.VecPhysical) {
		g.VPAND(line, bit, found)
		g.VPCMPEQB(bit, found, found)
		g.VPAND(g.highMask, found, found)
		g.VPOR(found, quants, quants)
	})
}

// bitTable writes the bits of the high bits of each pair of runs, 64 bytes a pair.
func bitTable(c *build.Context, u panelUnit) operand.Mem {
	m := c.StaticGlobal("highBits" + u.name)
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for run := range 8 {
		c.AddDatum(bitAt(run), operand.U32(0x01010101<<run))
	}
	return m
}

// bitAt returns a run's place in the table of high bits.
func bitAt(run int) int { return run/2*64 + run%2*4 }

// convertOffsets makes every token's offsets, see single256.
func (g *narrow256) convertOffsets() {
	g.VMOVDQU(g.shared.thirtyTwo, reg.Y0)
	g.forTokens([]*cursor{cursorQ}, func(t int) {
		offsetsOfToken(g.Context, reg.Y0, func(at int) operand.Mem { return cursorQ.row(t, at) }, g.groups.Offset(offsetsBytes*t))
	})
}

// multiplyQuarters multiplies the runs of Q6_K, a half of four runs at a time, which share lines.
func (g *narrow256) multiplyQuarters() {
	g.LEAQ(operand.Mem{Base: regW, Disp: 2048}, regUpper)
	g.XORL(regStep.As32(), regStep.As32())
	g.Label("quarter")
	g.ask(regW, 0, linesAtOnce)
	g.ask(regW, 8, linesAtOnce)
	g.ask(regUpper, 0, linesAtOnce)
	for run := range 4 {
		bits := g.t0
		g.forLines(regW, run%2*8, func(line operand.Mem, quants reg.VecPhysical) {
			if run < 2 {
				g.VPAND(line, g.nibble, quants)
				return
			}
			g.VMOVDQU(line, quants)
			g.VPSRLW(operand.U8(4), quants, quants)
			g.VPAND(g.nibble, quants, quants)
		})
		g.forLines(regUpper, 0, func(line operand.Mem, quants reg.VecPhysical) {
			if shift := 4 - 2*run; shift == 0 {
				g.VPAND(line, g.highMask, bits)
			} else {
				g.VMOVDQU(line, bits)
				if shift > 0 {
					g.VPSLLW(operand.U8(shift), bits, bits)
				} else {
					g.VPSRLW(operand.U8(-shift), bits, bits)
				}
				g.VPAND(g.highMask, bits, bits)
			}
			g.VPOR(bits, quants, quants)
		})
		for half, scale := range g.halfScales {
			g.VPBROADCASTQ(operand.Mem{Base: regInner, Disp: 32*run + 8*half}, scale)
			g.VPSHUFB(g.shared.spread, scale, scale)
			g.VPSRAW(operand.U8(8), scale, scale)
		}
		offset := g.groups.Offset(4 * run)
		offset.Index, offset.Scale = regStep, 1
		g.multiplyLines(32*run, offset)
	}
	g.ADDQ(operand.U32(64*linesAtOnce), regW)
	g.ADDQ(operand.U32(64*linesAtOnce), regUpper)
	g.ADDQ(operand.U8(16), cursorQ.at)
	g.ADDQ(operand.U8(16), regInner)
	g.ADDQ(operand.U8(16), regStep)
	g.TESTQ(operand.U32(16), regStep)
	g.JNE(operand.LabelRef("quarter")) // the runs' second half
	g.ADDQ(operand.U32(512), regW)
	g.ADDQ(operand.U8(96), cursorQ.at)
	g.ADDQ(operand.U8(96), regInner)
	g.CMPQ(regStep, operand.U32(64))
	g.JNE(operand.LabelRef("quarter"))
	g.MOVQ(regUpper, regW)
}

// multiplyLines multiplies the unpacked quants with all tokens' activations, from byte at on, and adds the products, scaled, to the
// integer sums. An offset, of the first token, is taken off before.
func (g *narrow256) multiplyLines(at int, offset operand.Mem) {
	acts, other := g.t2, g.scaleAB
	g.forTokens([]*cursor{cursorQ}, func(t int) {
		for j := range linesAtOnce {
			first, second := g.vec(j), g.vec(linesAtOnce+j)
			g.VPBROADCASTD(cursorQ.row(t, at+4*j), acts)
			if j == 0 {
				g.VPMADDUBSW(acts, first, g.halfDots[0])
				g.VPMADDUBSW(acts, second, g.halfDots[1])
				continue
			}
			g.VPMADDUBSW(acts, first, other)
			g.VPMADDUBSW(acts, second, acts)
			g.VPADDW(other, g.halfDots[0], g.halfDots[0])
			g.VPADDW(acts, g.halfDots[1], g.halfDots[1])
		}
		if offset.Base != nil {
			g.VPBROADCASTD(offset.Offset(offsetsBytes*t), acts)
		}
		for half, dot := range g.halfDots {
			g.part = half
			if offset.Base != nil {
				g.VPSUBW(acts, dot, dot)
			}
			sum := g.integers.Offset(g.place(t))
			g.VPMADDWD(g.halfScales[half], dot, dot)
			g.VPADDD(sum, dot, dot)
			g.VMOVDQU(dot, sum)
		}
	})
}

// place returns the offset in a token's sums of the part that code is being generated for.
func (g *narrow256) place(t int) int { return g.width() * (t*g.parts() + g.part) }

// endBlock adds the block to the sums, goes to the next, and sets the flags for whether there is one.
func (g *narrow256) endBlock() {
	if g.pairs > 0 {
		g.ADDQ(operand.U32(g.inner), regInner)
	}
	at, minimum := regOffset, g.pairs > 0 && g.takeOff == 0
	g.MOVQ(regD, at)
	scales, minimums := [2]reg.VecPhysical{g.vec(0), g.vec(1)}, [2]reg.VecPhysical{g.vec(2), g.vec(3)}
	for half := range 2 {
		g.VCVTPH2PS(operand.Mem{Base: regScales, Disp: 16 * half}, scales[half])
		if minimum {
			g.VCVTPH2PS(operand.Mem{Base: regScales, Disp: 32 + 16*half}, minimums[half])
		}
	}
	for t := range g.tokens {
		d, least := g.vec(4), [2]reg.VecPhysical{g.vec(5), g.vec(6)}
		if g.pairs > 0 {
			g.sumPairs(t, least)
		}
		g.VBROADCASTSS(operand.Mem{Base: at}, d)
		for g.part = range g.parts() {
			sum, product, place := g.t0, g.t1, g.place(t)
			if g.takeOff > 0 {
				g.VMOVDQU(g.integers.Offset(place), sum)
				g.VPSLLD(operand.U8(g.takeOff), least[g.part], least[g.part])
				g.VPSUBD(least[g.part], sum, sum)
				g.VCVTDQ2PS(sum, sum)
			} else {
				g.VCVTDQ2PS(g.integers.Offset(place), sum)
			}
			g.VMULPS(scales[g.part], d, product)
			g.VFMADD213PS(g.sums.Offset(place), product, sum)
			if minimum {
				g.VCVTDQ2PS(least[g.part], least[g.part])
				g.VMULPS(minimums[g.part], d, product)
				g.VFNMADD231PS(least[g.part], product, sum)
			}
			g.VMOVUPS(sum, g.sums.Offset(place))
		}
		if t+1 < g.tokens {
			g.ADDQ(strideD, at)
		}
	}
	g.ADDQ(operand.U8(4), regD)
	g.ADDQ(operand.U8(g.scales), regScales)
	g.DECQ(g.argument("blocks"))
}

// sumPairs leaves Σ of the pairs of the rows' halves, with a token's sums, in least.
func (g *narrow256) sumPairs(t int, least [2]reg.VecPhysical) {
	pair := g.t2
	for i := range g.pairs {
		g.VPBROADCASTD(g.groups.Offset(sumsOfToken*t+4*i), pair)
		for half, sum := range least {
			to := sum
			if i > 0 {
				to = g.halfDots[half]
			}
			g.VPMADDWD(g.pairAt(half, i), pair, to)
			if i > 0 {
				g.VPADDD(to, sum, sum)
			}
		}
	}
}
