package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels for many tokens, VPDPBUSD in registers of 64 bytes, and formats with blocks of 256 and quants that fit in a byte together
// with their inner scales. A call unpacks some blocks of one panel after another to its stack, which stays in the first-level cache, and
// multiplies them with all tokens, some at a time, with sums in registers: so a block takes nothing for a token but 64 products and one
// multiplication by its scale.
//
// VPDPBUSD multiplies unsigned bytes of the weights. Those that may be negative are raised by 128, and a token's dot product begins with
// −128 times the sum of its activations.
//
// For example, 30 tokens meet the weights as 12, 12, 4, 1 and 1. The byte 5 of a weight that is raised, and the activation 7:
//
//	begin with   −128·7 = −896
//	add          (5+128)·7 = 931
//	dot          35

// Sizes of a call, the first two as package amd64's chunks have them.
const (
	tokensFolded = 64
	blocksFolded = 4
)

// tilesFolded are how many tokens meet the weights at a time: as many as have room for an integer sum and a float each.
var tilesFolded = []int{12, 4, 1}

// unitFolded is what unpacks: it takes inner scales as words.
var unitFolded = panelUnit{name: "Folded", wide: true}

// The general registers of a tile, and cursorFolded for the tokens' scales.
var (
	foldedQ                           = [4]reg.GPPhysical{reg.RAX, reg.RBX, reg.RCX, reg.RDX} // of three tokens each
	foldedK                           = reg.R8
	cursorFolded                      = &cursor{at: reg.RSI, stride: reg.R9, stride3: reg.R10}
	foldedOut, foldedSums, foldedLine = reg.RDI, reg.R11, reg.R12
	foldedLeft                        = reg.R13
)

// tileFolded generates a kernel.
type tileFolded struct {
	unpacker256
	sumsOf, weights operand.Mem // the first of the tokens' sums, and of the unpacked blocks
	left, toDo      operand.Mem // how many blocks, and how many tokens, a loop still has
	qAt, dAt, outAt operand.Mem // the next tokens' activations, scales and results
	sumsAt          operand.Mem // and sums
}

// generateFolded generates the kernels of a unit.
func generateFolded(c *build.Context, u panelUnit, constants patterns32) {
	shared, own := newPatterns(c, unitFolded), newPatternsGroups(c, unitFolded)
	for _, f := range formatsBytes256() {
		if !f.folded {
			continue
		}
		g := &tileFolded{unpacker256: unpacker256{form: f, raised: f.negative, ahead: blocksFolded}}
		g.tile256 = tile256{tile: tile{Context: c, panelUnit: u, panels: 1, constants: constants}, format256: f.format256, shared: shared}
		g.generate(newUnpackGroups(c, unitFolded, f, shared, own, constants))
	}
}

// bytesOfSums returns how many bytes the sums of a token's block take.
func (g *tileFolded) bytesOfSums() int {
	if g.form.pairs > 0 {
		return sumsOfToken
	}
	return 4
}

// generate generates the kernel.
func (g *tileFolded) generate(groups *tileGroups) {
	g.beginChunk(g.form.name, "Many", g.form.loop())
	sums := tokensFolded * blocksFolded * g.bytesOfSums()
	room := (sums+63)/64*64 + blocksFolded*(g.form.panelBytes()+bytesOfScales)
	for _, m := range []*operand.Mem{&g.sumsOf, &g.weights, &g.left, &g.toDo, &g.qAt, &g.dAt, &g.outAt, &g.sumsAt, &g.block} {
		*m = g.AllocLocal(8)
	}
	memory := g.AllocLocal(64 + room)
	at := reg.RAX
	g.LEAQ(memory.Offset(63), at)
	g.ANDQ(operand.I8(-64), at) // a cache line's beginning
	g.MOVQ(at, g.sumsOf)
	g.ADDQ(operand.U32((sums+63)/64*64), at)
	g.MOVQ(at, g.weights)
	g.convertAll()

	g.Label("panel")
	g.MOVQ(g.weights, regUnpack)
	groups.setUp()
	g.unpackPanels(groups, 1)
	g.Load(g.Param("k"), foldedK)
	g.MOVQ(foldedK, cursorFolded.stride)
	g.SHRQ(operand.U8(6), cursorFolded.stride)
	g.LEAQ(operand.Mem{Base: cursorFolded.stride, Index: cursorFolded.stride, Scale: 2}, cursorFolded.stride3)
	for argument, to := range g.arguments() {
		g.Load(g.Param(argument), reg.RAX)
		g.MOVQ(reg.RAX, to)
	}
	g.MOVQ(g.sumsOf, reg.RAX)
	g.MOVQ(reg.RAX, g.sumsAt)
	for _, g.tokens = range tilesFolded {
		label := func(name string) string { return fmt.Sprintf("%s%d", name, g.tokens) }
		g.Label(label("tile"))
		g.CMPQ(g.toDo, operand.U8(uint8(g.tokens)))
		g.JLT(operand.LabelRef(label("done")))
		g.multiplyTokens(label)
		g.JMP(operand.LabelRef(label("tile")))
		g.Label(label("done"))
	}
	for _, argument := range []string{"w", "scales", "inner"} {
		g.Load(g.Param("panelBytes"), reg.RAX)
		g.ADDQ(reg.RAX, g.argument(argument))
	}
	g.ADDQ(operand.U8(64), g.argument("out"))
	g.DECQ(g.argument("panels"))
	g.JNE(operand.LabelRef("panel"))
	g.VZEROUPPER()
	g.RET()
}

// arguments returns what a panel's tiles begin with, in order.
func (g *tileFolded) arguments() func(yield func(argument string, to operand.Mem) bool) {
	return func(yield func(string, operand.Mem) bool) {
		_ = yield("tokens", g.toDo) && yield("q", g.qAt) && yield("d", g.dAt) && yield("out", g.outAt)
	}
}

// convertAll converts the sums of all tokens: to words, or, where weights are raised, to −128 times that of a block.
func (g *tileFolded) convertAll() {
	from, at, to, stride, tokens, blocks := reg.RSI, reg.RDI, reg.RBX, reg.R8, reg.RCX, reg.RDX
	g.Load(g.Param("sums"), from)
	g.MOVQ(g.sumsOf, to)
	g.Load(g.Param("k"), stride)
	g.SHRQ(operand.U8(2), stride)
	g.Load(g.Param("tokens"), tokens)
	if g.raised {
		g.constant(reg.Z1, 0xff80ff80)
	}
	g.Label("sumsOfToken")
	g.MOVQ(from, at)
	g.Load(g.Param("blocks"), blocks)
	g.MOVQ(to, foldedLine)
	g.Label("sums")
	g.VMOVDQU32(operand.Mem{Base: at}, reg.Z0)
	g.VPMOVDW(reg.Z0, reg.Y0)
	if g.raised {
		x, y := reg.X0, reg.X2
		g.VPMADDWD(reg.Y1, reg.Y0, reg.Y0)
		g.VEXTRACTI128(operand.U8(1), reg.Y0, y)
		g.VPADDD(y, x, x)
		for _, order := range []uint8{0x4e, 0xb1} {
			g.VPSHUFD(operand.U8(order), x, y)
			g.VPADDD(y, x, x)
		}
		g.VMOVD(x, operand.Mem{Base: foldedLine})
	} else {
		g.VMOVDQU(reg.Y0, operand.Mem{Base: foldedLine})
	}
	g.ADDQ(operand.U8(64), at)
	g.ADDQ(operand.U8(uint8(g.bytesOfSums())), foldedLine)
	g.DECQ(blocks)
	g.JNE(operand.LabelRef("sums"))
	g.ADDQ(stride, from)
	g.ADDQ(operand.U32(blocksFolded*g.bytesOfSums()), to)
	g.DECQ(tokens)
	g.JNE(operand.LabelRef("sumsOfToken"))
}

// dot and total return the registers of a token's dot product and of its sum, weight and product two for other things.
func (g *tileFolded) dot(t int) reg.VecPhysical   { return g.vec(8 + t) }
func (g *tileFolded) total(t int) reg.VecPhysical { return g.vec(20 + t) }

// q returns the address of a token's activations.
func (g *tileFolded) q(t, disp int) operand.Mem {
	return (&cursor{at: foldedQ[t/3], stride: foldedK}).row(t, disp)
}

// sumOfToken returns the place of a token's sums of the block.
func (g *tileFolded) sumOfToken(t, disp int) operand.Mem {
	return operand.Mem{Base: foldedSums, Disp: blocksFolded*g.bytesOfSums()*t + disp}
}

// multiplyTokens multiplies the unpacked blocks with the next tokens.
func (g *tileFolded) multiplyTokens(label func(name string) string) {
	g.forTotals(label("clear"), func(t int, m operand.Mem) { g.VMOVUPS(m, g.total(t)) }, func(t int) { g.zero(g.total(t)) })
	g.MOVQ(g.qAt, foldedQ[0])
	for i := 1; 3*i < g.tokens; i++ {
		g.LEAQ(operand.Mem{Base: foldedQ[i-1], Index: foldedK, Scale: 2}, foldedQ[i])
		g.ADDQ(foldedK, foldedQ[i])
	}
	g.MOVQ(g.dAt, cursorFolded.at)
	g.MOVQ(g.sumsAt, foldedSums)
	g.MOVQ(g.weights, foldedLine)
	g.Load(g.Param("blocks"), foldedLeft)
	g.MOVQ(foldedLeft, g.left)
	g.Label(label("block"))
	for t := range g.tokens {
		if g.raised {
			g.VPBROADCASTD(g.sumOfToken(t, 0), g.dot(t))
		} else {
			g.zero(g.dot(t))
		}
	}
	const lines = 8
	g.MOVL(operand.U32(64/lines), foldedLeft.As32())
	g.Label(label("lines"))
	for j := range lines {
		weight := g.vec(j % 4)
		g.VMOVDQU32(operand.Mem{Base: foldedLine, Disp: 64 * j}, weight)
		for t := range g.tokens {
			g.VPDPBUSD_BCST(g.q(t, 4*j), weight, g.dot(t))
		}
	}
	for i := 0; 3*i < g.tokens; i++ {
		g.ADDQ(operand.U8(4*lines), foldedQ[i])
	}
	g.ADDQ(operand.U32(64*lines), foldedLine)
	g.DECQ(foldedLeft)
	g.JNE(operand.LabelRef(label("lines")))
	g.addDots()
	g.ADDQ(operand.U32(bytesOfScales), foldedLine)
	g.ADDQ(operand.U8(4), cursorFolded.at)
	g.ADDQ(operand.U8(uint8(g.bytesOfSums())), foldedSums)
	g.DECQ(g.left)
	g.JNE(operand.LabelRef(label("block")))

	g.forTotals("", func(t int, m operand.Mem) { g.VMOVUPS(g.total(t), m) }, nil)
	g.MOVQ(foldedOut, g.outAt) // behind the last token
	times := func(stride reg.GPPhysical, to operand.Mem) {
		g.IMUL3Q(operand.U8(uint8(g.tokens)), stride, reg.RAX)
		g.ADDQ(reg.RAX, to)
	}
	times(foldedK, g.qAt)
	times(cursorFolded.stride, g.dAt)
	g.ADDQ(operand.U32(g.tokens*blocksFolded*g.bytesOfSums()), g.sumsAt)
	g.SUBQ(operand.U8(uint8(g.tokens)), g.toDo)
}

// addDots scales the dot products and adds them to the sums.
func (g *tileFolded) addDots() {
	scale, product, pair := g.vec(0), g.vec(1), g.vec(2)
	g.VMOVUPS(operand.Mem{Base: foldedLine}, scale)
	add := func(negative bool) {
		g.forTokens([]*cursor{cursorFolded}, func(t int) {
			g.VCVTDQ2PS(g.dot(t), g.dot(t))
			g.scaleBy(cursorFolded.row(t, 0), scale, product)
			if negative {
				g.VFNMADD231PS(g.dot(t), product, g.total(t))
			} else {
				g.VFMADD231PS(g.dot(t), product, g.total(t))
			}
		})
	}
	add(g.form.negative)
	if g.form.pairs == 0 {
		return
	}
	for t := range g.tokens {
		g.zero(g.dot(t))
	}
	for i := range g.form.pairs {
		g.VMOVUPS(operand.Mem{Base: foldedLine, Disp: innerOfBytes + 64*i}, pair)
		for t := range g.tokens {
			g.VPDPWSSD_BCST(g.sumOfToken(t, 4*i), pair, g.dot(t))
		}
	}
	g.VMOVUPS(operand.Mem{Base: foldedLine, Disp: minimumOfBytes}, scale)
	add(true)
}

// forTotals calls do for each token with its place in out, and ends behind the last one's; or, in the call that begins with zero, calls
// begin, if there is such.
func (g *tileFolded) forTotals(label string, do func(t int, m operand.Mem), begin func(t int)) {
	stride := reg.RAX // not in use
	if begin != nil {
		g.CMPQ(g.argument("first"), operand.U8(0))
		g.JEQ(operand.LabelRef(label + "Not"))
		for t := range g.tokens {
			begin(t)
		}
		g.JMP(operand.LabelRef(label))
		g.Label(label + "Not")
	}
	g.MOVQ(g.outAt, foldedOut)
	g.Load(g.Param("stride"), stride)
	for t := range g.tokens {
		do(t, operand.Mem{Base: foldedOut})
		g.LEAQ(operand.Mem{Base: foldedOut, Index: stride, Scale: 4}, foldedOut)
	}
	if begin != nil {
		g.Label(label)
	}
}
