package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The products of several tokens with weights in blocks of 256, where a register has but half of a panel's rows (AVX2). Four lines of
// one run are unpacked at a time, of both halves, into eight registers: so four activations that were read once meet 16 rows, and
// the sums of such a quarter stay within words until they are multiplied by their inner scale.

// narrow256 generates such a tile. The unpacked quants are in its first eight registers, those of the rows' first half in front.
type narrow256 struct {
	tile256
	halfScales [2]reg.VecPhysical // the inner scales of the rows' halves
	halfDots   [2]reg.VecPhysical
}

// The general registers of a narrow tile, besides those of tile256. What a loop over a block moves ends where the next block begins.
var (
	regStep  = reg.RCX // how far the loop over a block has come, in the bytes of what it indexes
	regUpper = reg.R13 // upper bits
)

// both256 tells whether a unit's tiles for blocks of 256 take both halves of a panel, though a register has but one.
func both256(u panelUnit) bool { return u == unitAVX2 }

// linesAtOnce is how many lines are unpacked at a time.
const linesAtOnce = 4

// generateNarrow256 generates a tile.
func generateNarrow256(c *build.Context, u panelUnit, f format256, shared patterns, tokens int) {
	g := &narrow256{tile256: tile256{tile: tile{Context: c, panelUnit: u, tokens: tokens, panels: 1, both: true, spill: true}, format256: f, shared: shared}}
	g.registers()
	g.halfDots, g.halfScales = [2]reg.VecPhysical{g.t0, g.t1}, [2]reg.VecPhysical{g.scaleA, g.scaleB}
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
				g.fifthBits(run, first)
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

// fifthBits joins the fifth bits of a run to the quants. The pair's lower bits are shifted to the first places.
func (g *narrow256) fifthBits(run, first int) {
	count, bits := g.t2, g.t0
	g.MOVQ(regStep, regOffset)
	g.SHRQ(operand.U8(5), regOffset) // two bits for a pair, whose step is 64
	g.VMOVQ(regOffset, count.AsX())
	g.VPBROADCASTD(count.AsX(), count)
	g.forLines(regUpper, first, func(line operand.Mem, quants reg.VecPhysical) {
		g.VMOVDQU(line, bits)
		g.VPSRLVD(count, bits, bits)
		g.VPSLLW(operand.U8(4-run), bits, bits)
		g.VPAND(g.highMask, bits, bits)
		g.VPOR(bits, quants, quants)
	})
}

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

// endBlock adds the block to the sums, goes to the next, and sets the flags for whether there is one.
func (g *narrow256) endBlock() {
	for g.part = range g.parts() {
		g.addBlocks()
	}
	if g.decode {
		g.ADDQ(operand.U32(g.inner), regInner)
	}
	g.ADDQ(operand.U8(4), regD)
	g.ADDQ(operand.U8(g.scales), regScales)
	g.DECQ(g.argument("blocks"))
}
