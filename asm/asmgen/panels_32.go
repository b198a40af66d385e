package main

import (
	"math"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The tiles of formats with blocks of 32. A block's quants are unpacked to registers, as far as possible unsigned, because the instructions
// multiply unsigned with signed bytes. Then each token's dot product is made, corrected, scaled and added to its sum. How signed quants are
// multiplied depends on the unit. The quant −3 of Q8_0 and the activation 5:
//
//	AVX2       the magnitude 3 and the activation under the quant's sign: 3·(−5) = −15
//	VNNI       the quant raised by 128: 125·5 = 625, less 128·5 = 640, is −15
//	AVX-512    125 = 16·7 + 13 in two halves: 13·5 + 16·(7·5) = 625, less 640, is −15

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
