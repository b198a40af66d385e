package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels for many tokens with VPDPBUSD in registers of 64 bytes. A call takes two panels after another. It unpacks some of their blocks
// to its stack, which stays in the first-level cache, and multiplies them with all tokens, six at a time: four activations that were read
// once meet 32 rows of weights, and a weight that was read once meets six tokens. So a processor that multiplies twice a cycle and reads
// twice a cycle is bound by its multipliers, not by its reads.
//
// Cycles for a block of 32 of 16 rows and one token on a Zen 5 (bare loops, all in the first-level cache); eight VPDPBUSD, the multiplication
// of the scales and the multiply-add, ten instructions for two multipliers, take 5.0:
//
//	two panels and 5, 6 or 7 tokens    5.06  5.21  5.29
//	three panels and 4 tokens          5.28
//	one panel and 12 tokens            5.54
//
// What can be done once is done once, while weights are unpacked or before:
//
//   - VPDPBUSD multiplies unsigned bytes of the weights. Those that may be negative are raised by 2^raised, and the dot products begin with
//     −2^raised times the sum of the activations, which is made for all panels.
//   - Scales are unpacked to floats, inner scales to integers of 32 bits.
//   - With Q2_K and Q3_K the unpacked bytes are quants times their inner scales, see panels_bytes256.go, so that a block takes one dot product.
//
// For example, 64 tokens meet the weights as ten times 6, and 4. The quant 5 of Q3_K with the inner scale 1, and the activation 7:
//
//	begin with   −128·7 = −896
//	add          (5+128)·7 = 931
//	dot          35

// Sizes of a call, the first as package amd64's chunks have it. The unpacked blocks leave room in a first-level cache of 32 KB.
const (
	tokensPairs    = 64
	blocksPairs32  = 16
	blocksPairs256 = 2
	bytesOfBegin   = 64 * blocksPairs256 // of a token's converted sums: four for each block of 32, or up to 64 for one of 256
)

// The least tokens and blocks of a row that a kernel takes, since all tokens share the unpacking, and all blocks a tile's beginning and end.
// Fewer tokens are package amd64's few. With 13, 16 and 24 tokens and weights from memory, on one thread of a Xeon, rows of 2048, the kernels are 1.08,
// 1.08 and 1.21 times as fast as the tiles of panels_32.go for Q4_0, and 1.23, 1.56 and 1.57 times for Q8_0. Attention, which has rows of 64
// or 128 elements, took 1.05 times as long with these kernels.
const (
	leastTokensPairs   = 13
	leastBlocksPairs32 = 8
)

// tilesPairs are how many tokens meet one panel or two at a time: two panels and six tokens have room for a sum of each kind.
var tilesPairs = [...][]int{1: {6, 1}, 2: {6, 4, 1}}

// unitFolded is what unpacks where quants are multiplied by inner scales: it takes these as words.
var unitFolded = panelUnit{name: "Folded", wide: true}

// The general registers of a tile: of three tokens each, and the strides of tokens.
var (
	pairsQ, pairsK                   = [2]reg.GPPhysical{reg.RAX, reg.RBX}, reg.R8
	pairsD, pairsStrideD             = [2]reg.GPPhysical{reg.RSI, reg.RCX}, reg.R9
	pairsOut, pairsStride            = [2]reg.GPPhysical{reg.RDI, reg.R10}, reg.R11
	pairsLine, pairsSums, pairsSteps = reg.R12, reg.RDX, reg.R13
)

// maskBegun is empty while a tile's sums begin with zero.
var maskBegun = reg.K2

// formPairs is how a format's blocks lie once they are unpacked: the lines of all steps, each with its inner scales behind it, and then the
// block's scales, minimums and pairs of inner minimums.
type formPairs struct {
	name     string
	loop     string
	elements int  // of a block
	steps    int  // of a block
	lines    int  // of a step
	inner    bool // steps have inner scales
	raised   int  // quants are raised by 2^raised; 0: they are not
	minimum  bool // minimums are multiplied with the sum of a block's activations, or, by pairs, with those of its runs or groups
	pairs    int
	negative bool // bytes are the negatives of quants times inner scales
}

// bytesOfStep, bytesOfTail and bytes return how many bytes of a panel a step takes, what follows the steps, and a block.
func (f *formPairs) bytesOfStep() int {
	if f.inner {
		return 64*f.lines + 64
	}
	return 64 * f.lines
}

func (f *formPairs) bytesOfTail() int {
	if f.elements == 256 {
		return bytesOfScales
	}
	if f.minimum {
		return 2 * minimumOfBytes
	}
	return minimumOfBytes
}

func (f *formPairs) bytes() int { return f.steps*f.bytesOfStep() + f.bytesOfTail() }

// blocks returns how many blocks of a panel a call multiplies at most.
func (f *formPairs) blocks() int {
	if f.elements == 32 {
		return blocksPairs32
	}
	return blocksPairs256
}

// bytesOfSums returns how many bytes of a token's converted sums a block has.
func (f *formPairs) bytesOfSums() int {
	switch {
	case f.pairs > 0:
		return 4 * f.pairs
	case f.inner:
		return 4 * f.steps
	}
	return 4
}

// pairs32 returns how a format with blocks of 32 is multiplied.
func pairs32(f format32) formPairs {
	return formPairs{name: f.name, loop: f.loop(), elements: 32, steps: 1, lines: 8, raised: f.shift, minimum: f.minimum}
}

// pairs256 returns how a format with blocks of 256 is multiplied.
func pairs256(f formatBytes256) formPairs {
	form := formPairs{name: f.name, loop: f.loop(), elements: 256, steps: 8, lines: 8, inner: !f.folded, raised: f.offset, minimum: f.pairs > 0, pairs: f.pairs, negative: f.negative}
	switch {
	case f.folded && f.negative:
		form.raised = 7
	case f.of == nil && !f.decode: // Q6_K
		form.steps, form.lines = 16, 4
	}
	return form
}

// tilePairs generates a kernel.
type tilePairs struct {
	unpacker256
	of                          formPairs
	sumsOf, weights             operand.Mem // the first of the tokens' converted sums, and of the unpacked blocks
	panelTo, inPair             operand.Mem // the panel that is unpacked, and how many the pair still has
	left, toDo                  operand.Mem // how many blocks, and how many tokens, a loop still has
	qAt, dAt, outAt, sumsOfTile operand.Mem // those of the next tokens

	quants                              int         // bytes of a panel's block
	askAt, askOfPanel, askLeft, askLast operand.Mem // see startAsking; askLeft is one less than how many tiles ask yet
}

// generatePairs32 generates the kernel of a format with blocks of 32.
func generatePairs32(c *build.Context, u panelUnit, f format32, constants patterns32) {
	g := &tilePairs{of: pairs32(f), quants: f.quants}
	g.tile = tile{Context: c, panelUnit: u, panels: 1, constants: constants}
	g.t0, g.t1, g.t2, g.mask, g.raise, g.scale = g.vec(8), g.vec(9), g.vec(10), g.vec(11), g.vec(12), g.vec(13)
	g.generate(func() {
		g.constant(g.mask, 0x0f0f0f0f)
		if f.source == fromBytes {
			g.constant(g.raise, 0x80808080)
		}
		g.startPanel()
		f.unpack(&g.tile)
		for j := range 8 {
			g.VMOVDQU32(g.vec(j), operand.Mem{Base: regUnpack, Disp: 64 * j})
		}
		tail := operand.Mem{Base: regUnpack, Disp: g.of.bytesOfStep()}
		g.tile.loadScales(f, operand.Mem{Base: regUnpackScales}, g.scale)
		g.VMOVUPS(g.scale, tail)
		if f.minimum {
			g.VCVTPH2PS(operand.Mem{Base: regUnpackScales, Disp: 32}, g.scale)
			g.VMOVUPS(g.scale, tail.Offset(minimumOfBytes))
		}
		g.endPanel(f.quants, f.scales)
	})
}

// generatePairs256 generates the kernel of Q4_K, Q5_K or Q6_K.
func generatePairs256(c *build.Context, u panelUnit, f formatBytes256, shared patterns, table operand.Mem) {
	g := newPairs256(c, u, f, shared)
	g.table = table
	g.registers()
	g.generate(func() {
		g.constant(g.nibble, 0x0f0f0f0f)
		if g.high != 0 {
			g.constant(g.highMask, g.high)
		}
		g.startPanel()
		if g.decode {
			g.decodeScales()
		}
		g.LEAQ(g.table, regTable)
		g.XORL(regRun.As32(), regRun.As32())
		g.Label("run")
		g.loadEighth()
		g.unpackRun()
		groups := 8 / g.of.lines
		for j := range 8 {
			g.VMOVDQU32(g.vec(j), operand.Mem{Base: regUnpack, Disp: j/g.of.lines*g.of.bytesOfStep() + 64*(j%g.of.lines)})
		}
		for i := range groups {
			if g.decode {
				g.loadInner()
			} else {
				g.VPMOVSXBD(operand.Mem{Base: regInner, Disp: 16 * i}, g.scaleA)
			}
			g.VMOVDQU32(g.scaleA, operand.Mem{Base: regUnpack, Disp: i*g.of.bytesOfStep() + 64*g.of.lines})
		}
		g.ADDQ(operand.U32(groups*g.of.bytesOfStep()), regUnpack)
		if !g.decode {
			g.ADDQ(operand.U8(32), regInner)
		}
		g.ADDQ(operand.U8(bytesOfRun), regRun)
		g.CMPQ(regRun, operand.U32(8*bytesOfRun))
		g.JNE(operand.LabelRef("run"))
		g.unpackTail(func(i int) operand.Mem { return g.decodedAt(8 + i) })
		if g.decode {
			g.ADDQ(operand.U32(g.format256.inner), regInner)
		}
		g.endPanel(g.quantsOfBlock, g.scales)
	})
}

// generatePairsGroups generates the kernels of formats with quants in groups of 16.
func generatePairsGroups(c *build.Context, u panelUnit, shared patterns, own patternsGroups, constants patterns32) {
	sharedFolded, ownFolded := newPatterns(c, unitFolded), newPatternsGroups(c, unitFolded)
	for i := range formatsGroups {
		f := bytesOfGroups(&formatsGroups[i])
		g := newPairs256(c, u, f, shared)
		if f.folded {
			g.generateFolded(newUnpackGroups(c, unitFolded, f, sharedFolded, ownFolded, constants))
			continue
		}
		g.generateRuns(newUnpackGroups(c, u, f, shared, own, constants))
	}
}

// generateFolded generates the kernel of a format with quants that are multiplied by inner scales as they are unpacked.
func (g *tilePairs) generateFolded(groups *tileGroups) {
	g.generate(func() {
		groups.setUp()
		g.MOVQ(g.panelTo, regUnpack)
		g.unpackPanels(groups, 1)
	})
}

// generateRuns generates the kernel of a format with inner scales of runs.
func (g *tilePairs) generateRuns(groups *tileGroups) {
	groups.lines = g.of.lines
	g.generate(func() {
		groups.setUp()
		g.startPanel()
		groups.f.inner(groups)
		for step := range g.of.steps {
			for j := range g.of.lines {
				groups.unpackLine(step, j)
				g.VMOVDQU32(groups.quant(j, 0), operand.Mem{Base: regUnpack, Disp: step*g.of.bytesOfStep() + 64*j})
			}
			g.load(groups.scaleAt(step, 0), groups.t0)
			g.VMOVDQU32(groups.t0, operand.Mem{Base: regUnpack, Disp: step*g.of.bytesOfStep() + 64*g.of.lines})
		}
		g.ADDQ(operand.U32(g.of.steps*g.of.bytesOfStep()), regUnpack)
		g.unpackTail(nil)
		g.ADDQ(operand.U32(g.format256.inner), regInner)
		g.endPanel(g.quantsOfBlock, g.scales)
	})
}

// newPairs256 returns the generator of the kernel of a format with blocks of 256.
func newPairs256(c *build.Context, u panelUnit, f formatBytes256, shared patterns) *tilePairs {
	g := &tilePairs{of: pairs256(f), quants: f.quantsOfBlock, unpacker256: unpacker256{form: f, raised: f.negative, ahead: blocksPairs256}}
	g.tile256 = tile256{tile: tile{Context: c, panelUnit: u, panels: 1}, format256: f.format256, shared: shared}
	return g
}

// startPanel begins the loop that unpacks a panel's blocks.
func (g *tilePairs) startPanel() {
	g.Load(g.Param("w"), regW)
	g.Load(g.Param("scales"), regUnpackScales)
	g.Load(g.Param("inner"), regInner)
	g.MOVQ(g.panelTo, regUnpack)
	g.Load(g.Param("blocks"), regOffset)
	g.MOVQ(regOffset, g.block)
	g.Label("unpack")
}

// unpackTail unpacks the scales and minimums of a block of 256, behind its steps.
func (g *tilePairs) unpackTail(pair func(i int) operand.Mem) {
	value := g.vec(0)
	for i := range g.halvesOfRow() {
		g.VCVTPH2PS(operand.Mem{Base: regUnpackScales, Disp: 32 * i}, value)
		g.VMOVUPS(value, operand.Mem{Base: regUnpack, Disp: minimumOfBytes * i})
	}
	for i := range g.of.pairs {
		g.VMOVUPS(pair(i), value)
		g.VMOVUPS(value, operand.Mem{Base: regUnpack, Disp: innerOfBytes + 64*i})
	}
	g.SUBQ(operand.U32(g.of.steps*g.of.bytesOfStep()), regUnpack)
}

// halvesOfRow returns how many numbers of 16 bits a row's block has.
func (g *tilePairs) halvesOfRow() int {
	if g.of.minimum {
		return 2
	}
	return 1
}

// endPanel goes to the next block that is unpacked, if there is one.
func (g *tilePairs) endPanel(quants, scales int) {
	g.ADDQ(operand.U32(quants), regW)
	g.ADDQ(operand.U8(scales), regUnpackScales)
	g.ADDQ(operand.U32(g.of.bytes()), regUnpack)
	g.DECQ(g.block)
	g.JNE(operand.LabelRef("unpack"))
}

// generate generates the kernel, with what unpacks blocks of a panel to panelTo.
func (g *tilePairs) generate(unpack func()) {
	g.beginChunk(g.of.name, "Many", g.of.loop)
	panel := g.of.blocks() * g.of.bytes()
	for _, m := range []*operand.Mem{&g.sumsOf, &g.weights, &g.panelTo, &g.inPair, &g.left, &g.toDo, &g.qAt, &g.dAt, &g.outAt, &g.sumsOfTile, &g.block,
		&g.askAt, &g.askOfPanel, &g.askLeft, &g.askLast} {
		*m = g.AllocLocal(8)
	}
	if g.decode {
		g.decoded = g.AllocLocal(g.sizeOfDecoded())
	}
	memory := g.AllocLocal(64 + tokensPairs*bytesOfBegin + 2*panel)
	at := reg.RAX
	g.LEAQ(memory.Offset(63), at)
	g.ANDQ(operand.I8(-64), at) // a cache line's beginning
	g.MOVQ(at, g.sumsOf)
	g.ADDQ(operand.U32(tokensPairs*bytesOfBegin), at)
	g.MOVQ(at, g.weights)
	g.SHLQ(operand.U8(2), g.argument("stride"))
	g.Load(g.Param("panels"), at)
	g.IMULQ(g.argument("panelBytes"), at)
	g.SUBQ(g.argument("next"), at)
	g.MOVQ(at, g.askLast)
	g.convertSums()

	g.Label("pair")
	g.MOVQ(g.weights, reg.RAX)
	g.MOVQ(reg.RAX, g.panelTo)
	g.Load(g.Param("panels"), reg.RAX)
	g.MOVL(operand.U32(2), reg.ECX)
	g.CMPQ(reg.RAX, reg.RCX)
	g.CMOVQGT(reg.RCX, reg.RAX)
	g.MOVQ(reg.RAX, g.inPair)
	g.Label("panel")
	unpack()
	g.Load(g.Param("panelBytes"), reg.RAX)
	for _, argument := range []string{"w", "scales", "inner"} {
		g.ADDQ(reg.RAX, g.argument(argument))
	}
	g.ADDQ(operand.U32(panel), g.panelTo)
	g.DECQ(g.inPair)
	g.JNE(operand.LabelRef("panel"))

	g.Load(g.Param("k"), pairsK)
	g.MOVQ(pairsK, pairsStrideD)
	g.SHRQ(operand.U8(map[int]uint8{32: 3, 256: 6}[g.of.elements]), pairsStrideD)
	g.Load(g.Param("stride"), pairsStride)
	for _, a := range []struct {
		argument string
		to       operand.Mem
	}{{"tokens", g.toDo}, {"q", g.qAt}, {"d", g.dAt}, {"out", g.outAt}} {
		g.Load(g.Param(a.argument), reg.RAX)
		g.MOVQ(reg.RAX, a.to)
	}
	g.MOVQ(g.sumsOf, reg.RAX)
	g.MOVQ(reg.RAX, g.sumsOfTile)
	g.startAsking()
	g.CMPQ(g.argument("panels"), operand.U8(1))
	g.JEQ(operand.LabelRef("lastPanel"))
	g.multiply(2)
	g.ADDQ(operand.U32(2*64), g.argument("out"))
	g.SUBQ(operand.U8(2), g.argument("panels"))
	g.JNE(operand.LabelRef("pair"))
	g.JMP(operand.LabelRef("end"))
	g.Label("lastPanel")
	g.multiply(1)
	g.Label("end")
	g.VZEROUPPER()
	g.RET()
}

// The cache is asked for the blocks that will be unpacked next, those of the next panels or of the next call, while tokens are multiplied: in each step of the first
// tiles for some lines of both panels. The tiles behind these ask for the kernel's own memory, which is near.

// tilesAsking is how many tiles ask.
const tilesAsking = 3

// pairsAsk and pairsAskPanel lead to the lines that are asked for, and from a panel's to the next one's.
var pairsAsk, pairsAskPanel = reg.R14, reg.R15

// startAsking begins to ask for the next panels. Behind the last ones of the call these are those that the next call begins with: w stands behind the
// call's panels by then.
func (g *tilePairs) startAsking() {
	at := reg.RAX
	g.Load(g.Param("w"), at)
	g.CMPQ(g.argument("panels"), operand.U8(3))
	g.JGE(operand.LabelRef("asking"))
	g.SUBQ(g.askLast, at)
	g.Label("asking")
	g.MOVQ(at, g.askAt)
	g.Load(g.Param("panelBytes"), at)
	g.MOVQ(at, g.askOfPanel)
	g.MOVQ(operand.U32(tilesAsking-1), g.askLeft)
}

// ask asks for some lines of n panels.
func (g *tilePairs) ask(n int) {
	lines := (g.quants + 64*tilesAsking*g.of.steps - 1) / (64 * tilesAsking * g.of.steps)
	for line := range lines {
		g.PREFETCHT1(operand.Mem{Base: pairsAsk, Disp: 64 * line})
		if n > 1 {
			g.PREFETCHT1(operand.Mem{Base: pairsAsk, Index: pairsAskPanel, Scale: 1, Disp: 64 * line})
		}
	}
	g.ADDQ(operand.U32(64*lines), pairsAsk)
}

// stopAsking ends what a tile asks for: label is its own.
func (g *tilePairs) stopAsking(label string) {
	g.MOVQ(pairsAsk, g.askAt)
	g.DECQ(g.askLeft)
	g.JGE(operand.LabelRef(label))
	g.MOVQ(g.weights, pairsAsk)
	g.MOVQ(pairsAsk, g.askAt)
	g.MOVQ(operand.U32(0), g.askOfPanel)
	g.Label(label)
}

// convertSums converts the sums of all tokens to what a block's dot products begin with, or to what minimums are multiplied with.
func (g *tilePairs) convertSums() {
	from, at, to, line, stride, tokens, blocks := reg.RSI, reg.RDI, reg.RBX, reg.R11, reg.R8, reg.RCX, reg.RDX
	g.Load(g.Param("sums"), from)
	g.MOVQ(g.sumsOf, line)
	g.Load(g.Param("k"), stride)
	g.SHRQ(operand.U8(map[int]uint8{32: 3, 256: 2}[g.of.elements]), stride)
	g.Load(g.Param("tokens"), tokens)
	words, all := reg.Z1, reg.K1
	switch {
	case g.of.elements == 32: // all blocks of a token at once
		g.Load(g.Param("blocks"), reg.RCX)
		g.MOVL(operand.U32(1), reg.EAX)
		g.SHLL(reg.CL, reg.EAX)
		g.DECL(reg.EAX)
		g.KMOVW(reg.EAX, all)
		g.Load(g.Param("tokens"), tokens)
	case g.of.pairs == 4:
		g.constant(words, 0x00010001)
	case g.of.raised > 0:
		g.constant(words, (uint32(1<<16)-1<<g.of.raised)*0x00010001)
	}
	g.Label("sumsOfToken")
	g.MOVQ(from, at)
	g.MOVQ(line, to)
	if g.of.elements == 32 {
		g.VMOVDQU32_Z(operand.Mem{Base: at}, all, reg.Z0)
		g.negative(reg.Z0)
		g.VMOVDQU32(reg.Z0, operand.Mem{Base: to})
	} else {
		g.Load(g.Param("blocks"), blocks)
		g.Label("sums")
		g.VMOVDQU32(operand.Mem{Base: at}, reg.Z0)
		g.convertGroups(to, words)
		g.ADDQ(operand.U8(64), at)
		g.ADDQ(operand.U8(g.of.bytesOfSums()), to)
		g.DECQ(blocks)
		g.JNE(operand.LabelRef("sums"))
	}
	g.ADDQ(stride, from)
	g.ADDQ(operand.U32(bytesOfBegin), line)
	g.DECQ(tokens)
	g.JNE(operand.LabelRef("sumsOfToken"))
}

// negative multiplies sums by −2^raised, if quants are raised.
func (g *tilePairs) negative(sums reg.VecPhysical) {
	if g.of.raised == 0 {
		return
	}
	g.VPSLLD(operand.U8(g.of.raised), sums, sums)
	g.VPXORD(reg.Z2, reg.Z2, reg.Z2)
	g.VPSUBD(sums, reg.Z2, sums)
}

// convertGroups writes the sums of a block's 16 groups, in register 0, as they are needed: in pairs of words, of groups or of runs, or, times
// −2^raised, in one number for each step or for the block.
func (g *tilePairs) convertGroups(to reg.GPPhysical, words reg.VecPhysical) {
	x, y := reg.X0, reg.X2
	if g.of.steps == 16 {
		g.negative(reg.Z0)
		g.VMOVDQU32(reg.Z0, operand.Mem{Base: to})
		return
	}
	g.VPMOVDW(reg.Z0, reg.Y0)
	if g.of.pairs == 8 {
		g.VMOVDQU(reg.Y0, operand.Mem{Base: to})
		return
	}
	g.VPMADDWD(words.AsY(), reg.Y0, reg.Y0) // of runs
	switch {
	case g.of.pairs == 4:
		g.VPMOVDW(reg.Y0, x)
		g.VMOVDQU(x, operand.Mem{Base: to})
	case g.of.inner:
		g.VMOVDQU(reg.Y0, operand.Mem{Base: to})
	default:
		g.VEXTRACTI128(operand.U8(1), reg.Y0, y)
		g.VPADDD(y, x, x)
		for _, order := range []uint8{0x4e, 0xb1} {
			g.VPSHUFD(operand.U8(order), x, y)
			g.VPADDD(y, x, x)
		}
		g.VMOVD(x, operand.Mem{Base: to})
	}
}

// multiply multiplies the unpacked blocks of one panel or two with all tokens.
func (g *tilePairs) multiply(n int) {
	for _, tokens := range tilesPairs[n] {
		t := &tokensOfPairs{tilePairs: g, n: n, tokens: tokens}
		label := func(name string) string { return fmt.Sprintf("%s%dx%d", name, n, tokens) }
		g.Label(label("tile"))
		g.CMPQ(g.toDo, operand.U8(tokens))
		g.JLT(operand.LabelRef(label("done")))
		t.multiply(label)
		g.JMP(operand.LabelRef(label("tile")))
		g.Label(label("done"))
	}
}
