package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels for many tokens and formats with blocks of 32, in registers of 32 bytes. A call unpacks some blocks of several panels to its
// stack, which stays in the first-level cache, and walks through the tokens: a token's block lies in eight registers, four bytes of it in
// all lanes of each, and meets one vector of weights after another, read from memory by the instruction that multiplies. So nothing is done
// for a token and eight rows of weights but the products and one multiplication, conversion and multiply-add. The tiles of panels_32.go,
// which keep the weights in registers, broadcast the activations for each eight rows again, which on AMD's processors takes a vector pipe.
//
// The instruction that multiplies reads signed bytes from memory. The activations are unsigned: 128 is added, or, in other words,
// their upper bit inverted. The quants are signed: 8 less than the nibbles, so that the sums of products, 16·255·8 = 32640 at
// most, stay within 16 bits. What that adds to the sum of a block is the same for all tokens: −128 times the sum of the weights is
// kept with them.
//
// The products of Q8_0 do not fit so. Without VPDPBUSD they are made of the weights' magnitudes and of the activations, inverted if the
// weight is negative. That is one less than the negative: the magnitudes of a block's negative weights are added to the sum. A pair of
// products stays within 16 bits: −128·128·2 = −32768.
//
// Cycles for a token's block of eight rows as llvm-mca models them (LLVM 14, all memory in the first-level cache), and in brackets
// those of the tiles of eight tokens that were here before: Q4_0 on znver3 6.6 (9.0; a processor took 9.5), on skylake 6.9 (7.8),
// on haswell 10.4 (11.6); Q8_0 10.3 (12.0), 11.8 (14.1), 17.0 (17.2). Sapphire Rapids with AVX2 alone: Q4_0 1.15 to 1.25 times as
// fast, Q8_0 as fast.
//
// Tried on that model, and slower: weights in registers and repeated activations in memory, as panels_few.go has it (6.9, and what
// repeating takes); half as many panels at once (6.9: more broadcasts); for Q8_0 weights in two halves of four bits, so that sums
// fit in 16 bits (11.3 on znver3, 12.6 on skylake), and VPSIGNB instead of the inversion (10.3, 13.8). Tried on Sapphire Rapids:
// 128 tokens in a call lose up to a tenth at 512 tokens, as rows of out that are a power of two apart share few sets of a cache.
//
// A call asks the cache for what the next call reads, a line for each token and panel's block. When it asked for all of it at once while it
// unpacked, and never for the next panels, products of 16 tokens with weights from memory took 1.1 (AVX2) and 1.2 to 1.3 times (AVX-VNNI) as
// long on a Xeon with AMX, one thread.
//
// Exact products of Q8_0 have a limit without VPDPBUSD: eight rows of a token's block are 32 instructions, an inversion, two multiplications
// and an addition for each four quants, and 3 for the float sum. Bare loops on the same Xeon, in cycles: these 13.5, the same with VPSIGNB
// 14.7, words by VPMADDWD 13.7, words as Winograd multiplies them, (w0+q1)·(w1+q0), 13.1 before what that needs besides, two halves of four
// bits 15.8; and products that may saturate, which need no inversion and which ONNX Runtime has, 11.2.
//
// Both ways for the weight −3 and the activation 7:
//
//	Q4_0   activation 7+128 = 135       −3·135 = −405        kept with the weights: −128·−3 = 384   sum −21
//	Q8_0   7 inverted = −8              3·−8 = −24           kept with the weights: 3               sum −21

// The general registers of a kernel for many tokens, once the weights are unpacked.
var (
	manyMemory                = reg.R12 // a token's activations, and behind them the unpacked weights
	manyQ, manyD, manyOut     = reg.R8, reg.R10, reg.R11
	manyPanels                = reg.R13
	manyActs, manyScale       = reg.RSI, reg.RBX // cursors within a token
	manySums, manyWeights     = reg.R9, reg.RAX
	manyTo                    = reg.RDI
	manyPanelsLeft, manyLeft  = reg.RCX, reg.RDX // panels, and blocks
	manyQuants, manyHalves    = reg.R10, reg.R11 // cursors while weights are unpacked
	manyStep, manyUnpackPanel = reg.R8, reg.RSI  // likewise: bytes of a block of all panels, and a panel's place
	manyAsk, manyAskBlock     = reg.R14, reg.R15 // cursors in what the cache is asked for: of a panel, and of a block
)

// How much a call keeps at most: a token's activations, and unpacked weights, which leave room for rows of out in a first-level
// cache of 32 KB.
const (
	blocksMany   = 32
	unpackedMany = 22 << 10
)

// tileMany generates a kernel for many tokens.
type tileMany struct {
	tile
	f                                    format32
	inverted                             bool // activations are inverted by masks, which are kept, and behind them magnitudes
	correction, scaleAt, minimumAt, unit int  // where these are among the unpacked weights of eight rows, and how many bytes those have
	upper, floatOfSum, eightSums         reg.VecPhysical

	askAt, askLeft               operand.Mem // what the cache is asked for next, and how many tokens ask yet
	askStepBlock, askStepOfPanel operand.Mem // from one block, and from one panel, to the next
}

// newTileMany returns the generator of a format's kernel.
func newTileMany(c *build.Context, u panelUnit, f format32, constants patterns32) *tileMany {
	g := &tileMany{tile: tile{Context: c, panelUnit: u, constants: constants, panels: 1}, f: f, inverted: f.source.whole() && !u.vnni}
	g.correction = 256
	if g.inverted {
		g.correction = 512
	}
	g.scaleAt = g.correction + 32
	g.minimumAt, g.unit = g.scaleAt+32, g.scaleAt+32
	if f.minimum {
		g.unit += 32
	}
	g.t0, g.t1, g.t2, g.scale, g.ones, g.upper, g.eightSums, g.floatOfSum = g.vec(8), g.vec(9), g.vec(10), g.vec(11), g.vec(12), g.vec(13), g.vec(14), g.vec(15)
	return g
}

// panelBlocks returns how many blocks of panels, a power of two, a call unpacks at most.
func (g *tileMany) panelBlocks() int {
	n := 1
	for 2*n*2*g.unit <= unpackedMany {
		n *= 2
	}
	return n
}

// generateMany generates the kernel of a format.
func generateMany(c *build.Context, u panelUnit, f format32, constants patterns32) {
	g := newTileMany(c, u, f, constants)
	g.beginChunk(f.name, "Many", f.loop())
	memory := g.AllocLocal(32*blocksMany + 2*g.panelBlocks()*g.unit + 64)
	for _, m := range []*operand.Mem{&g.askAt, &g.askLeft, &g.askStepBlock, &g.askStepOfPanel} {
		*m = g.AllocLocal(8)
	}
	g.LEAQ(memory.Offset(63), manyMemory)
	g.ANDQ(operand.I8(-64), manyMemory) // a cache line's beginning
	g.constant(g.ones, 0x00010001)
	g.unpack()
	g.startAsking()
	g.constant(g.upper, 0x80808080)
	g.Load(g.Param("q"), manyQ)
	g.Load(g.Param("d"), manyD)
	g.Load(g.Param("out"), manyOut)
	g.Load(g.Param("panels"), manyPanels)
	g.SHLQ(operand.U8(2), g.argument("stride"))

	g.Label("token")
	g.startOut()
	g.copyActivations()
	g.MOVQ(g.askAt, manyAskBlock)
	g.MOVQ(g.argument("blocks"), manyLeft)
	g.MOVQ(manyMemory, manyActs)
	g.MOVQ(manyD, manyScale)
	if f.minimum {
		g.MOVQ(g.argument("sums"), manySums)
	}
	g.LEAQ(operand.Mem{Base: manyMemory, Disp: 32 * blocksMany}, manyWeights)
	g.Label("block")
	g.broadcast()
	g.MOVQ(manyOut, manyTo)
	g.MOVQ(manyPanels, manyPanelsLeft)
	g.MOVQ(manyAskBlock, manyAsk)
	g.ADDQ(g.askStepBlock, manyAskBlock)
	g.Label("panel")
	g.PREFETCHT1(operand.Mem{Base: manyAsk})
	g.ADDQ(g.askStepOfPanel, manyAsk)
	g.addPanel()
	g.ADDQ(operand.U32(2*g.unit), manyWeights)
	g.ADDQ(operand.U8(64), manyTo)
	g.DECQ(manyPanelsLeft)
	g.JNE(operand.LabelRef("panel"))
	g.ADDQ(operand.U8(32), manyActs)
	g.ADDQ(operand.U8(4), manyScale)
	if f.minimum {
		g.ADDQ(operand.U8(4), manySums)
	}
	g.DECQ(manyLeft)
	g.JNE(operand.LabelRef("block"))

	stride := manyLeft // not in use
	g.Load(g.Param("k"), stride)
	g.ADDQ(stride, manyQ)
	g.SHRQ(operand.U8(3), stride)
	g.ADDQ(stride, manyD)
	if f.minimum {
		g.ADDQ(stride, g.argument("sums"))
	}
	g.ADDQ(g.argument("stride"), manyOut)
	g.nextAsked()
	g.DECQ(g.argument("tokens"))
	g.JNE(operand.LabelRef("token"))
	g.VZEROUPPER()
	g.RET()
}

// unpack unpacks the weights. Those of a block lie together, so that a token's block meets them one after another.
func (g *tileMany) unpack() {
	w, scales := reg.RAX, reg.RBX
	g.constant(g.vec(13), 0x0f0f0f0f)
	g.constant(g.vec(14), 0x01010101<<g.f.source.centre())
	g.constant(g.vec(15), 0x01010101)
	g.Load(g.Param("w"), w)
	g.Load(g.Param("scales"), scales)
	g.Load(g.Param("panels"), manyPanelsLeft)
	g.IMUL3Q(operand.U32(2*g.unit), manyPanelsLeft, manyStep)
	g.LEAQ(operand.Mem{Base: manyMemory, Disp: 32 * blocksMany}, manyUnpackPanel)
	g.Label("unpackPanel")
	g.MOVQ(w, manyQuants)
	g.MOVQ(scales, manyHalves)
	g.MOVQ(manyUnpackPanel, manyTo)
	g.Load(g.Param("blocks"), manyLeft)
	g.Label("unpack")
	for half := range 2 {
		g.unpackRows(half)
	}
	g.ADDQ(operand.U32(g.f.quants), manyQuants)
	g.ADDQ(operand.U8(g.f.scales), manyHalves)
	g.ADDQ(manyStep, manyTo)
	g.DECQ(manyLeft)
	g.JNE(operand.LabelRef("unpack"))
	g.ADDQ(g.argument("panelBytes"), w)
	g.ADDQ(g.argument("panelBytes"), scales)
	g.ADDQ(operand.U32(2*g.unit), manyUnpackPanel)
	g.DECQ(manyPanelsLeft)
	g.JNE(operand.LabelRef("unpackPanel"))
}

// unpackRows unpacks a block of the first or the last eight rows of a panel.
func (g *tileMany) unpackRows(half int) {
	to := func(disp int) operand.Mem { return operand.Mem{Base: manyTo, Disp: half*g.unit + disp} }
	line := func(j int) operand.Mem { return operand.Mem{Base: manyQuants, Disp: 64*j + 32*half} }
	scale := func(disp int) operand.Mem { return operand.Mem{Base: manyHalves, Disp: disp + 8*g.f.scaleBytes()*half} }
	low, high, sum := g.vec(0), g.vec(1), g.vec(2)
	mask, centre, bytes := g.vec(13), g.vec(14), g.vec(15)
	switch {
	case g.inverted:
		g.zero(sum)
		g.wholeBytes(line, func(j int, value operand.Op) {
			negative, magnitude := g.vec(0), g.vec(1)
			g.zero(negative)
			g.VPCMPGTB(value, negative, negative)
			g.VPABSB(value, magnitude)
			g.VMOVDQU(negative, to(32*j))
			g.VMOVDQU(magnitude, to(256+32*j))
			g.VPMADDUBSW(negative, magnitude, magnitude)
			g.VPSUBW(magnitude, sum, sum)
		})
		g.VPMADDWD(g.ones, sum, sum)
	case g.f.source.whole():
		g.zero(sum)
		g.wholeBytes(line, func(j int, value operand.Op) {
			g.VMOVDQU(value, low)
			g.VMOVDQU(low, to(32*j))
			g.VPMADDUBSW(low, bytes, low)
			g.VPADDW(low, sum, sum)
		})
	default:
		g.zero(sum)
		fifths := g.vec(3)
		table := fifths
		switch g.f.source {
		case fromFive:
			g.VMOVDQU(line(4), fifths)
		case fromFP4:
			g.VMOVDQU(g.constants.fp4, table)
		}
		for j := range 4 {
			g.VMOVDQU(line(j), low)
			g.VPSRLW(operand.U8(4), low, high)
			for i, v := range []reg.VecPhysical{low, high} {
				at := 4*i + j
				g.VPAND(mask, v, v)
				if g.f.source == fromFive {
					g.VPSHUFB(g.constants.fifths[at/2], fifths, g.vec(4))
					g.addFifth(at, g.vec(4), g.vec(5), v)
				}
				if g.f.source == fromFP4 {
					g.VPSHUFB(v, table, v)
				} else {
					g.VPSUBB(centre, v, v)
				}
				g.VMOVDQU(v, to(32*at))
				g.VPADDB(v, sum, sum) // eight of them stay within a byte: from 8·(−16) to 8·15
			}
		}
		g.VPMADDUBSW(sum, bytes, sum)
	}
	if !g.inverted {
		g.VPMADDWD(g.ones, sum, sum)
		g.VPSLLD(operand.U8(7), sum, sum)
		g.zero(low)
		g.VPSUBD(sum, low, sum)
	}
	g.VMOVDQU(sum, to(g.correction))
	g.loadScales(g.f, scale(0), low)
	g.VMOVUPS(low, to(g.scaleAt))
	if g.f.minimum {
		g.VCVTPH2PS(scale(32), low)
		g.VMOVUPS(low, to(g.minimumAt))
	}
}

// wholeBytes calls do for each four quants that take all bits of a byte: a line's, or those that are looked up. It uses the registers 3
// to 6.
func (g *tileMany) wholeBytes(line func(j int) operand.Mem, do func(j int, value operand.Op)) {
	if g.f.source == fromBytes {
		for j := range 8 {
			do(j, line(j))
		}
		return
	}
	mask, table, low, high := g.vec(13), g.vec(3), g.vec(4), g.vec(5)
	g.VMOVDQU(g.constants.values, table)
	for j := range 4 {
		g.VMOVDQU(line(j), low)
		g.VPSRLW(operand.U8(4), low, high)
		for i, v := range []reg.VecPhysical{low, high} {
			g.VPAND(mask, v, v)
			g.VPSHUFB(v, table, v)
			do(4*i+j, v)
		}
	}
}

// startAsking begins to ask the cache for what the next call reads. Each token asks for one line of each panel's block, and the token after the last
// lines for the scales, so that requests are spread over the call: a burst of them would be waited for.
func (g *tileMany) startAsking() {
	at := manyAsk
	g.MOVQ(operand.U32((g.f.quants+63)/64), g.askLeft)
	g.MOVQ(operand.U32(g.f.quants), g.askStepBlock)
	g.Load(g.Param("panelBytes"), at)
	g.MOVQ(at, g.askStepOfPanel)
	g.Load(g.Param("w"), at)
	g.ADDQ(g.argument("next"), at)
	g.MOVQ(at, g.askAt)
}

// nextAsked goes on to what the next token asks for: at last to the kernel's own memory, which is near.
func (g *tileMany) nextAsked() {
	at := manyAsk
	g.ADDQ(operand.U8(64), g.askAt)
	g.DECQ(g.askLeft)
	g.JLT(operand.LabelRef("asked"))
	g.JNE(operand.LabelRef("asking"))
	g.Load(g.Param("scales"), at)
	g.ADDQ(g.argument("nextScales"), at)
	g.MOVQ(at, g.askAt)
	g.MOVQ(operand.U32(g.f.scales), g.askStepBlock)
	g.JMP(operand.LabelRef("asking"))
	g.Label("asked")
	g.MOVQ(manyMemory, g.askAt)
	g.MOVQ(operand.U32(0), g.askStepBlock)
	g.MOVQ(operand.U32(0), g.askStepOfPanel)
	g.Label("asking")
}

// startOut asks the cache for the next token's row of out, and clears the token's row if the sums begin.
func (g *tileMany) startOut() {
	stride := manyActs // not in use
	g.MOVQ(g.argument("stride"), stride)
	for _, label := range []string{"ask", "clear"} {
		g.MOVQ(manyOut, manyTo)
		g.MOVQ(manyPanels, manyPanelsLeft)
		g.Label(label)
		if label == "ask" {
			g.PREFETCHT0(operand.Mem{Base: manyTo, Index: stride, Scale: 1})
		} else {
			g.VMOVUPS(g.t0, operand.Mem{Base: manyTo})
			g.VMOVUPS(g.t0, operand.Mem{Base: manyTo, Disp: 32})
		}
		g.ADDQ(operand.U8(64), manyTo)
		g.DECQ(manyPanelsLeft)
		g.JNE(operand.LabelRef(label))
		if label == "ask" {
			g.zero(g.t0)
			g.CMPQ(g.argument("first"), operand.U8(0))
			g.JEQ(operand.LabelRef("cleared"))
		}
	}
	g.Label("cleared")
}

// copyActivations copies a token's activations, plus 128 unless they are inverted by masks.
func (g *tileMany) copyActivations() {
	g.MOVQ(g.argument("blocks"), manyLeft)
	g.MOVQ(manyMemory, manyActs)
	g.MOVQ(manyQ, manyTo)
	g.Label("copy")
	if g.inverted {
		g.VMOVDQU(operand.Mem{Base: manyTo}, g.t0)
	} else {
		g.VPXOR(operand.Mem{Base: manyTo}, g.upper, g.t0)
	}
	g.VMOVDQU(g.t0, operand.Mem{Base: manyActs})
	g.ADDQ(operand.U8(32), manyTo)
	g.ADDQ(operand.U8(32), manyActs)
	g.DECQ(manyLeft)
	g.JNE(operand.LabelRef("copy"))
}

// broadcast loads a token's block: its activations, its scale, and the sum of the activations if a format wants that.
func (g *tileMany) broadcast() {
	for j := range 8 {
		g.VPBROADCASTD(operand.Mem{Base: manyActs, Disp: 4 * j}, g.vec(j))
	}
	g.VBROADCASTSS(operand.Mem{Base: manyScale}, g.scale)
	if g.f.minimum {
		g.VPBROADCASTD(operand.Mem{Base: manySums}, g.eightSums)
		g.VCVTDQ2PS(g.eightSums, g.floatOfSum)
		g.VPSLLD(operand.U8(g.f.source.centre()), g.eightSums, g.eightSums)
	}
}

// addPanel adds the products of a token's block with a panel to the token's sums. The dot products are made in t0 and t2.
func (g *tileMany) addPanel() {
	at := func(half, disp int) operand.Mem { return operand.Mem{Base: manyWeights, Disp: half*g.unit + disp} }
	if g.vnni { // the instructions of one half wait for each other
		for half, dot := range []reg.VecPhysical{g.t0, g.t2} {
			g.VMOVDQU(at(half, g.correction), dot)
		}
		for j := range 8 {
			for half, dot := range []reg.VecPhysical{g.t0, g.t2} {
				multiplyUnsignedFrom(g.Context, at(half, 32*j), g.vec(j), dot)
			}
		}
	}
	for half, dot := range []reg.VecPhysical{g.t0, g.t2} {
		switch {
		case g.vnni:
		case g.inverted:
			g.dotInverted(func(disp int) operand.Mem { return at(half, disp) }, dot)
		default:
			g.dotUnsigned(func(disp int) operand.Mem { return at(half, disp) }, dot)
		}
		if g.f.minimum {
			g.VPADDD(g.eightSums, dot, dot)
		}
		g.VCVTDQ2PS(dot, dot)
		g.VMULPS(at(half, g.scaleAt), g.scale, g.t1)
		out := operand.Mem{Base: manyTo, Disp: 32 * half}
		g.VFMADD213PS(out, g.t1, dot)
		if g.f.minimum {
			g.VMULPS(at(half, g.minimumAt), g.scale, g.t1)
			g.VFMADD231PS(g.floatOfSum, g.t1, dot)
		}
		g.VMOVUPS(dot, out)
	}
}

// dotUnsigned makes the dot products of the block with quants of four or five bits: of five, with sums of four registers' products in
// 16 bits, since 8·255·16 = 32640.
func (g *tileMany) dotUnsigned(at func(disp int) operand.Mem, dot reg.VecPhysical) {
	other, madds := g.t0, g.f.source.madds() // the other half's dot products: not yet made, or no longer in use
	if dot == other {
		other = g.t2
	}
	for j := range 8 {
		sum := dot
		if j >= madds {
			sum = other
		}
		if j%madds == 0 {
			g.VPMADDUBSW(at(32*j), g.vec(j), sum)
			continue
		}
		g.VPMADDUBSW(at(32*j), g.vec(j), g.t1)
		g.VPADDW(g.t1, sum, sum)
	}
	g.VPMADDWD(g.ones, dot, dot)
	if madds < 8 {
		g.VPMADDWD(g.ones, other, other)
		g.VPADDD(other, dot, dot)
	}
	g.VPADDD(at(g.correction), dot, dot)
}

// dotInverted makes the dot products of the block with quants of eight bits.
func (g *tileMany) dotInverted(at func(disp int) operand.Mem, dot reg.VecPhysical) {
	product, magnitude := g.t1, g.upper // that one is not in use
	for j := range 8 {
		g.VMOVDQU(at(256+32*j), magnitude)
		g.VPXOR(at(32*j), g.vec(j), product)
		g.VPMADDUBSW(product, magnitude, product)
		g.VPMADDWD(g.ones, product, product)
		if j == 0 {
			g.VPADDD(at(g.correction), product, dot)
		} else {
			g.VPADDD(product, dot, dot)
		}
	}
}
