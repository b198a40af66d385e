package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of attention to pages of Q8_0 by AMX, for rows by sixteen. The tile unit reads panels as they lie in the page, a block of
// 32 at a time, since each has a scale of its own. Its dot products go through memory to AVX-512, which adds those of one block
// while the tiles of the next are multiplied. Nibbles would have to be unpacked: VPDPBUSD, which multiplies them as they are, does Q4_0.

const (
	rowsIntegersAMX = 16
	dotsIntegersAMX = 64 * rowsIntegersAMX // bytes of a tile of dot products
)

// The tile registers: 16 rows of 32 bytes, 8 rows of 64 bytes, and 16 rows of 64 bytes.
const tileOfRows, tileOfPanel, tileOfDots = 0, 1, 2

// The general registers besides those of integerTile: the places at which dot products are written and read, and the number of panels left.
var dotsWritten, dotsRead, panelsLeft = reg.R12, reg.R9, reg.RDX

// integersAMX generates the kernels.
func integersAMX(c *build.Context) {
	shapes := shapesOf(c, "shapesIntegersAMX", func(i int) (int, int) {
		return [8]int{tileOfRows: rowsIntegersAMX, tileOfPanel: 8, tileOfDots: rowsIntegersAMX}[i], [8]int{tileOfRows: 32, tileOfPanel: 64, tileOfDots: 64}[i]
	})
	for _, values := range []bool{false, true} {
		generateIntegersAMX(c, values, shapes)
	}
}

// generateIntegersAMX generates the kernel for keys, or for values.
func generateIntegersAMX(c *build.Context, values bool, shapes operand.Mem) {
	g := &tile{Context: c, panelUnit: unitAMX, tokens: rowsIntegersAMX, panels: 1}
	g.beginIntegers("q8_0", values, "How many rows there are is a multiple of 16.")
	memory := g.AllocLocal(64 + 2*dotsIntegersAMX)
	g.LEAQ(memory.Offset(63), dotsWritten)
	g.ANDQ(operand.I8(-64), dotsWritten) // a cache line's beginning
	g.LEAQ(operand.Mem{Base: dotsWritten, Disp: dotsIntegersAMX}, dotsRead)
	g.LEAQ(shapes, reg.RAX)
	configureTiles(c, operand.Mem{Base: reg.RAX})
	g.Load(g.Param("blocks"), cursorD.stride)
	g.MOVQ(cursorD.stride, cursorQ.stride)
	g.SHLQ(operand.U8(5), cursorQ.stride)
	g.SHLQ(operand.U8(2), cursorD.stride)
	g.LEAQ(operand.Mem{Base: cursorD.stride, Index: cursorD.stride, Scale: 2}, cursorD.stride3)
	g.MOVL(operand.U32(64), amxLine.As32())

	multiply := func() {
		loadTile(c, operand.Mem{Base: cursorQ.at, Index: cursorQ.stride, Scale: 1}, tileOfRows)
		loadTile(c, operand.Mem{Base: integerW, Index: amxLine, Scale: 1}, tileOfPanel)
		zeroTile(c, tileOfDots)
		multiplyTiles(c, tileOfRows, tileOfPanel, tileOfDots)
		storeTile(c, tileOfDots, operand.Mem{Base: dotsWritten, Index: amxLine, Scale: 1})
		g.ADDQ(operand.U32(512), integerW)
		g.ADDQ(operand.U8(32), cursorQ.at)
	}
	add := func() {
		scale := g.vec(0)
		if !values {
			g.VCVTPH2PS(operand.Mem{Base: integerScales}, scale)
		}
		g.forTokens([]*cursor{cursorD}, func(t int) {
			dot, product := g.vec(1+t%4), g.vec(5+t%4)
			g.VCVTDQ2PS(operand.Mem{Base: dotsRead, Disp: 64 * t}, dot)
			if values {
				g.VFMADD231PS_BCST(cursorD.row(t, 0), dot, g.sum(t))
				return
			}
			g.VMULPS_BCST(cursorD.row(t, 0), scale, product)
			g.VFMADD231PS(product, dot, g.sum(t))
		})
	}

	g.Label("rows")
	g.Load(g.Param("w"), integerW)
	g.Load(g.Param("pairs"), panelsLeft)
	g.SHLQ(operand.U8(1), panelsLeft)
	g.Label("panel")
	g.Load(g.Param("q"), cursorQ.at)
	g.Load(g.Param("d"), cursorD.at)
	g.Load(g.Param("blocks"), integerBlocks)
	if !values {
		g.MOVQ(integerBlocks, integerScales)
		g.SHLQ(operand.U8(9), integerScales)
		g.ADDQ(integerW, integerScales)
	}
	for t := range g.tokens {
		g.zero(g.sum(t))
	}
	multiply()
	g.XCHGQ(dotsWritten, dotsRead)
	g.Label("block")
	g.DECQ(integerBlocks)
	g.JEQ(operand.LabelRef("last"))
	multiply()
	add()
	g.XCHGQ(dotsWritten, dotsRead)
	g.ADDQ(operand.U8(32), integerScales)
	g.ADDQ(operand.U8(4), cursorD.at)
	g.JMP(operand.LabelRef("block"))
	g.Label("last")
	add()

	out, stride := cursorQ.at, cursorD.at // which are loaded again
	g.Load(g.Param("out"), out)
	g.Load(g.Param("stride"), stride)
	for t := range g.tokens {
		g.VMOVUPS(g.sum(t), operand.Mem{Base: out})
		if t+1 < g.tokens {
			g.LEAQ(operand.Mem{Base: out, Index: stride, Scale: 4}, out)
		}
	}
	g.ADDQ(operand.U8(64), g.argument("out"))
	g.Load(g.Param("blocks"), integerBlocks)
	g.SHLQ(operand.U8(9), integerBlocks)
	g.SUBQ(integerBlocks, integerW)
	g.ADDQ(g.argument("panelBytes"), integerW)
	g.DECQ(panelsLeft)
	g.JNE(operand.LabelRef("panel"))

	g.Load(g.Param("pairs"), integerBlocks)
	g.SHLQ(operand.U8(7), integerBlocks)
	g.SUBQ(integerBlocks, g.argument("out"))
	g.advanceIntegers("q", cursorQ.stride, rowsIntegersAMX)
	g.advanceIntegers("d", cursorD.stride, rowsIntegersAMX)
	g.advanceIntegers("out", stride, 4*rowsIntegersAMX)
	g.SUBQ(operand.U8(rowsIntegersAMX), g.argument("rows"))
	g.JNE(operand.LabelRef("rows"))
	releaseTiles(c)
	g.VZEROUPPER()
	g.RET()
}
