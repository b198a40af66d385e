package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels for a few tokens and formats with blocks of 32, in registers of 32 bytes. Eight rows of weights lie in registers,
// unpacked once for all tokens. A call first writes some blocks of the activations to its stack, each four bytes of them in all
// lanes, so that the instruction that multiplies reads them from memory, and then takes one panel after another. So a broadcast, which
// on AMD's processors takes a vector pipe, is made once for all panels of the call. How many tokens there are is known only when a
// kernel runs: it leaves the tokens' instructions behind the last one.
//
// Cycles for a token's block of eight rows as llvm-mca models them for znver3 (LLVM 14, all memory in the first-level cache), and in
// brackets those of the tiles that were here before, which cut three tokens into two and one:
//
//	tokens  2           3           4           5           6           7           8          12
//	Q4_0    8.7 (11.1)  8.7 (11.5)  7.7 (9.8)   7.5 (10.4)  7.4 (10.3)  7.0 (10.6)  6.9 (9.0)  6.7 (9.3)
//	Q8_0   10.8 (14.0) 10.7 (14.4) 10.2 (12.7)  9.7 (13.2)  9.8 (13.2)  9.8 (13.4)  9.8 (12.0) 9.6 (12.3)
//
// Writing the activations takes 10 cycles for each token's block and call: with 8 panels 0.6 for eight rows, with 2 panels 2.5, as much
// as is won. Sapphire Rapids, 8 panels, weights from memory: with AVX2 1.0 to 1.5 times as fast, with AVX-VNNI 1.1 to 1.5 times. Tried,
// and no faster on the model: two chains of sums, or a tree; more sums in registers than four. Lines asked for in the second-level cache
// instead of the first: 1.16 times the rate of 4 tokens of Q4_0 with AVX2 on two threads of a Zen 4, the same for 8.

// fewTokens is how many tokens a call takes at most. fewTokenBlocks is how many blocks of tokens it writes to its stack: what leaves
// room for weights in a first-level cache of 32 KB.
const (
	fewTokens      = 12
	fewTokenBlocks = 64
)

// Where things are in a token's block of activations on the stack.
const (
	fewOffset    = 256 // added to the integer sum, or, for minimums, the sum of the activations as a float
	fewScale     = 288
	fewUnitBytes = 320
)

// Where things are on the stack.
const (
	fewSumsAt = 0              // sums of tokens that have no register
	fewMaskAt = 32 * fewTokens // 15 in each byte
	fewActsAt = fewMaskAt + 64
)

// The general registers of a kernel for a few tokens, once the activations are written.
var (
	rowsMemory              = reg.R12
	rowsW, rowsScales       = reg.RAX, reg.RBX // of the eight rows
	rowsQuants, rowsHalves  = reg.R10, reg.R11 // cursors in them
	rowsBlocksLeft          = reg.RCX
	rowsTokens              = reg.RDX
	rowsActs, rowsActsStep  = reg.RSI, reg.R13 // of the block, and bytes of a block of all tokens
	rowsOut, rowsBytesOfOut = reg.RDI, reg.R8
	rowsAhead               = reg.R9 // from the rows' quants to the half of the next panel's that is asked for
)

// tileFew generates a kernel for a few tokens.
type tileFew struct {
	tile
	f            format32
	inRegisters  int // tokens with sums in registers
	minimumScale reg.VecPhysical
	lastAhead    operand.Mem // rowsAhead of the last panel: to what the next call reads first
}

// generateFew generates the kernel of a format.
func generateFew(c *build.Context, u panelUnit, f format32, constants patterns32) {
	g := &tileFew{tile: tile{Context: c, panelUnit: u, constants: constants, tokens: fewTokens, panels: 1}, f: f}
	next := 8
	for _, r := range []*reg.VecPhysical{&g.t0, &g.t1, &g.t2, &g.scale, &g.ones, &g.minimumScale} {
		if r == &g.t2 && (u.vnni || f.source.madds() != 4) || r == &g.ones && u.vnni || r == &g.minimumScale && !f.minimum {
			continue
		}
		*r = g.vec(next)
		next++
	}
	g.inRegisters = 16 - next
	g.beginChunk(f.name, "Few", f.loop())
	g.lastAhead = g.AllocLocal(8)
	size := fewActsAt + fewTokenBlocks*fewUnitBytes + 64
	if f.source == fromTable && !u.vnni {
		size += 8 * 32 // signed quants
	}
	memory := g.AllocLocal(size)
	g.LEAQ(memory.Offset(63), rowsMemory)
	g.ANDQ(operand.I8(-64), rowsMemory) // a cache line's beginning
	g.constant(g.t0, 0x0f0f0f0f)
	g.VMOVDQU(g.t0, operand.Mem{Base: rowsMemory, Disp: fewMaskAt})
	if !u.vnni {
		g.constant(g.ones, 0x00010001)
	}
	g.writeActivations()
	g.start()

	g.Label("rows")
	g.loadOut()
	g.MOVQ(rowsW, rowsQuants)
	g.MOVQ(rowsScales, rowsHalves)
	g.MOVQ(g.argument("blocks"), rowsBlocksLeft)
	g.LEAQ(operand.Mem{Base: rowsMemory, Disp: fewActsAt}, rowsActs)
	g.Label("block")
	for at := 0; at < f.quants/2; at += 64 {
		g.PREFETCHT1(operand.Mem{Base: rowsQuants, Index: rowsAhead, Scale: 1, Disp: at})
	}
	g.unpack()
	g.each("tokensDone", g.addBlock)
	g.ADDQ(operand.U32(f.quants), rowsQuants)
	g.ADDQ(operand.U8(f.scales), rowsHalves)
	g.ADDQ(rowsActsStep, rowsActs)
	g.DECQ(rowsBlocksLeft)
	g.JNE(operand.LabelRef("block"))
	g.storeOut()
	g.nextRows()
	g.VZEROUPPER()
	g.RET()
}

// each calls do for each token (at least two), and has the code end at a label behind the last.
func (g *tileFew) each(label string, do func(t int)) {
	for t := range g.tokens {
		do(t)
		if t > 0 && t+1 < g.tokens {
			g.CMPQ(rowsTokens, operand.U8(t+1))
			g.JEQ(operand.LabelRef(label))
		}
	}
	g.Label(label)
}

// writeActivations writes the activations: blocks of all tokens, one after another.
func (g *tileFew) writeActivations() {
	q, d, sums, k := reg.RAX, reg.RBX, reg.R9, reg.R8
	to, left, block := reg.RDI, reg.R11, reg.R10
	g.Load(g.Param("q"), q)
	g.Load(g.Param("d"), d)
	g.Load(g.Param("sums"), sums)
	g.Load(g.Param("k"), k)
	g.Load(g.Param("tokens"), rowsTokens)
	g.Load(g.Param("blocks"), rowsBlocksLeft)
	g.MOVQ(rowsTokens, left)
	g.IMUL3Q(operand.U32(fewUnitBytes), rowsTokens, rowsActsStep)
	g.LEAQ(operand.Mem{Base: rowsMemory, Disp: fewActsAt}, to)
	g.Label("token")
	g.XORL(block.As32(), block.As32())
	g.MOVQ(to, rowsActs)
	g.Label("write")
	for j := range 8 {
		g.VPBROADCASTD(operand.Mem{Base: q, Disp: 4 * j}, g.vec(j))
		g.VMOVDQU(g.vec(j), operand.Mem{Base: rowsActs, Disp: 32 * j})
	}
	sum := g.vec(0)
	if g.f.minimum || g.offsets() {
		g.VPBROADCASTD(operand.Mem{Base: sums, Index: block, Scale: 4}, sum)
	}
	switch {
	case g.f.minimum:
		g.VCVTDQ2PS(sum, sum)
		g.VMOVUPS(sum, operand.Mem{Base: rowsActs, Disp: fewOffset})
	case g.offsets():
		g.VPSLLD(operand.U8(g.f.shift), sum, sum)
		g.zero(g.vec(1))
		g.VPSUBD(sum, g.vec(1), sum)
		g.VMOVDQU(sum, operand.Mem{Base: rowsActs, Disp: fewOffset})
	}
	g.VBROADCASTSS(operand.Mem{Base: d, Index: block, Scale: 4}, sum)
	g.VMOVUPS(sum, operand.Mem{Base: rowsActs, Disp: fewScale})
	g.ADDQ(operand.U8(32), q)
	g.ADDQ(rowsActsStep, rowsActs)
	g.INCQ(block)
	g.CMPQ(block, rowsBlocksLeft)
	g.JNE(operand.LabelRef("write"))
	g.SHLQ(operand.U8(5), block)
	g.SUBQ(block, q)
	g.ADDQ(k, q)
	g.MOVQ(k, block)
	g.SHRQ(operand.U8(3), block)
	g.ADDQ(block, d)
	g.ADDQ(block, sums)
	g.ADDQ(operand.U32(fewUnitBytes), to)
	g.DECQ(left)
	g.JNE(operand.LabelRef("token"))
}

// offsets reports whether something is added to the integer sums, because the quants in the registers are too great.
func (g *tileFew) offsets() bool { return g.f.shift > 0 }

// start fills the general registers.
func (g *tileFew) start() {
	g.Load(g.Param("w"), rowsW)
	g.Load(g.Param("scales"), rowsScales)
	g.Load(g.Param("out"), rowsOut)
	g.Load(g.Param("stride"), rowsBytesOfOut)
	g.SHLQ(operand.U8(2), rowsBytesOfOut)
	g.Load(g.Param("panels"), rowsAhead)
	g.DECQ(rowsAhead)
	g.IMULQ(g.argument("panelBytes"), rowsAhead)
	g.Load(g.Param("next"), rowsBlocksLeft)
	g.SUBQ(rowsAhead, rowsBlocksLeft)
	g.MOVQ(rowsBlocksLeft, g.lastAhead)
	g.SHLQ(operand.U8(1), g.argument("panels"))
	g.Load(g.Param("panelBytes"), rowsAhead)
	g.CMPQ(g.argument("panels"), operand.U8(2))
	g.JNE(operand.LabelRef("rows"))
	g.MOVQ(g.lastAhead, rowsAhead)
}

// nextRows goes to the other half of the panel or to the next panel, and leaves the loop behind the last one. While the first half
// of a panel is multiplied, half of the next panel's lines are asked for, and then the others.
func (g *tileFew) nextRows() {
	lines := g.f.quants/2 - 32
	g.ADDQ(operand.U8(32), rowsOut)
	g.DECQ(g.argument("panels"))
	g.JEQ(operand.LabelRef("end"))
	g.BTQ(operand.U8(0), g.argument("panels"))
	g.JCC(operand.LabelRef("nextPanel"))
	g.ADDQ(operand.U8(32), rowsW)
	g.ADDQ(operand.U8(8*g.f.scaleBytes()), rowsScales)
	g.ADDQ(operand.U32(lines), rowsAhead)
	g.JMP(operand.LabelRef("rows"))
	g.Label("nextPanel")
	g.Load(g.Param("panelBytes"), rowsAhead)
	g.LEAQ(operand.Mem{Base: rowsW, Index: rowsAhead, Scale: 1, Disp: -32}, rowsW)
	g.LEAQ(operand.Mem{Base: rowsScales, Index: rowsAhead, Scale: 1, Disp: -8 * g.f.scaleBytes()}, rowsScales)
	g.CMPQ(g.argument("panels"), operand.U8(2))
	g.JNE(operand.LabelRef("rows"))
	g.MOVQ(g.lastAhead, rowsAhead)
	g.JMP(operand.LabelRef("rows"))
	g.Label("end")
}

// act returns an address in token t's block of activations.
func (g *tileFew) act(t, disp int) operand.Mem {
	return operand.Mem{Base: rowsActs, Disp: fewUnitBytes*t + disp}
}

// line returns the address of the rows' part of a line.
func (g *tileFew) line(j int) operand.Mem { return operand.Mem{Base: rowsQuants, Disp: 64 * j} }

// sumInMemory returns the place of a token's sum that has no register.
func (g *tileFew) sumInMemory(t int) operand.Mem {
	return operand.Mem{Base: rowsMemory, Disp: fewSumsAt + 32*t}
}

// loadOut loads the sums, zeros at first.
func (g *tileFew) loadOut() {
	at := rowsQuants // not in use
	g.CMPQ(g.argument("first"), operand.U8(0))
	g.JEQ(operand.LabelRef("goOn"))
	g.zero(g.t0)
	for t := range g.tokens {
		if t < g.inRegisters {
			g.zero(g.sum(t))
		} else {
			g.VMOVUPS(g.t0, g.sumInMemory(t))
		}
	}
	g.JMP(operand.LabelRef("begun"))
	g.Label("goOn")
	g.MOVQ(rowsOut, at)
	g.each("begun", func(t int) {
		if t < g.inRegisters {
			g.VMOVUPS(operand.Mem{Base: at}, g.sum(t))
		} else {
			g.VMOVUPS(operand.Mem{Base: at}, g.t0)
			g.VMOVUPS(g.t0, g.sumInMemory(t))
		}
		g.ADDQ(rowsBytesOfOut, at)
	})
}

// storeOut stores the sums.
func (g *tileFew) storeOut() {
	at := rowsQuants // not in use
	g.MOVQ(rowsOut, at)
	g.each("stored", func(t int) {
		sum := g.t0
		if t < g.inRegisters {
			sum = g.sum(t)
		} else {
			g.VMOVUPS(g.sumInMemory(t), sum)
		}
		g.VMOVUPS(sum, operand.Mem{Base: at})
		g.ADDQ(rowsBytesOfOut, at)
	})
}

// unpack unpacks the rows' quants and scales.
func (g *tileFew) unpack() {
	switch {
	case g.f.source != fromBytes:
		mask := g.t0
		g.VMOVDQU(operand.Mem{Base: rowsMemory, Disp: fewMaskAt}, mask)
		for j := range 4 {
			low, high := g.vec(j), g.vec(4+j)
			g.VMOVDQU(g.line(j), low)
			g.VPSRLW(operand.U8(4), low, high)
			g.VPAND(mask, low, low)
			g.VPAND(mask, high, high)
		}
	case g.vnni:
		upper := g.t0
		g.VPCMPEQB(upper, upper, upper)
		g.VPSLLW(operand.U8(15), upper, upper)
		g.VPACKSSWB(upper, upper, upper) // 128 in each byte
		for j := range 8 {
			g.VPXOR(g.line(j), upper, g.vec(j))
		}
	default:
		for j := range 8 {
			g.VPABSB(g.line(j), g.vec(j))
		}
	}
	switch g.f.source {
	case fromFive:
		g.VMOVDQU(g.line(4), g.t0)
		for j := range 8 {
			if j%2 == 0 {
				g.VPSHUFB(g.constants.fifths[j/2], g.t0, g.t1)
			}
			g.addFifth(j, g.t1, g.scale, g.vec(j))
		}
	case fromTable:
		g.lookUpRows()
	case fromFP4:
		g.VMOVDQU(g.constants.raisedFP4, g.t1)
		for j := range 8 {
			g.VPSHUFB(g.vec(j), g.t1, g.vec(j))
		}
	}
	g.loadScales(g.f, operand.Mem{Base: rowsHalves}, g.scale)
	if g.f.minimum {
		g.VCVTPH2PS(operand.Mem{Base: rowsHalves, Disp: 32}, g.minimumScale)
	}
}

// lookUpRows replaces nibbles by the bytes of a table: raised by 128 for VPDPBUSD, or their magnitudes, with the signed bytes in memory.
func (g *tileFew) lookUpRows() {
	table := g.t1
	if g.vnni {
		g.VMOVDQU(g.constants.raised, table)
	} else {
		g.VMOVDQU(g.constants.values, table)
	}
	for j := range 8 {
		g.VPSHUFB(g.vec(j), table, g.vec(j))
		if !g.vnni {
			g.VMOVDQU(g.vec(j), g.signed(j))
			g.VPABSB(g.vec(j), g.vec(j))
		}
	}
}

// signed returns where signed quants are, four of each row: in the panel, or, if they are looked up, on the stack.
func (g *tileFew) signed(j int) operand.Mem {
	if g.f.source == fromBytes {
		return g.line(j)
	}
	return operand.Mem{Base: rowsMemory, Disp: fewActsAt + fewTokenBlocks*fewUnitBytes + 32*j}
}

// addBlock adds a block to a token's sum.
func (g *tileFew) addBlock(t int) {
	switch {
	case g.vnni:
		g.dotVNNI(t)
	case !g.f.source.whole():
		g.dotNibblesOf(t)
	default:
		g.dotSignedOf(t)
	}
	g.VCVTDQ2PS(g.t0, g.t0)
	g.VMULPS(g.act(t, fewScale), g.scale, g.t1)
	g.addProductOf(t)
	if g.f.minimum {
		g.VMOVUPS(g.act(t, fewOffset), g.t0)
		g.VMULPS(g.act(t, fewScale), g.minimumScale, g.t1)
		g.addProductOf(t)
	}
}

// dotVNNI leaves a token's dot product in t0.
func (g *tileFew) dotVNNI(t int) {
	if g.offsets() {
		g.VMOVDQU(g.act(t, fewOffset), g.t0)
	} else {
		g.zero(g.t0)
	}
	for j := range 8 {
		multiplyUnsignedFrom(g.Context, g.act(t, 32*j), g.vec(j), g.t0)
	}
}

// dotNibblesOf is tile.dotNibbles, or tile.dotFives.
func (g *tileFew) dotNibblesOf(t int) {
	madds := g.f.source.madds()
	for j := range 8 {
		sum := g.t0
		if j >= madds {
			sum = g.t2
		}
		if j%madds == 0 {
			g.VPMADDUBSW(g.act(t, 32*j), g.vec(j), sum)
			continue
		}
		g.VPMADDUBSW(g.act(t, 32*j), g.vec(j), g.t1)
		g.VPADDW(g.t1, sum, sum)
	}
	g.VPMADDWD(g.ones, g.t0, g.t0)
	if madds < 8 {
		g.VPMADDWD(g.ones, g.t2, g.t2)
		g.VPADDD(g.t2, g.t0, g.t0)
	}
	if g.offsets() {
		g.VPADDD(g.act(t, fewOffset), g.t0, g.t0)
	}
}

// dotSignedOf is tile.dotSigned.
func (g *tileFew) dotSignedOf(t int) {
	for j := range 8 {
		product := g.t1
		if j == 0 {
			product = g.t0
		}
		g.VMOVDQU(g.act(t, 32*j), product)
		g.VPSIGNB(g.signed(j), product, product)
		g.VPMADDUBSW(product, g.vec(j), product)
		g.VPMADDWD(g.ones, product, product)
		if j > 0 {
			g.VPADDD(product, g.t0, g.t0)
		}
	}
}

// addProductOf adds t0·t1 to a token's sum.
func (g *tileFew) addProductOf(t int) {
	if t < g.inRegisters {
		g.VFMADD231PS(g.t0, g.t1, g.sum(t))
		return
	}
	g.VFMADD213PS(g.sumInMemory(t), g.t1, g.t0)
	g.VMOVUPS(g.t0, g.sumInMemory(t))
}
