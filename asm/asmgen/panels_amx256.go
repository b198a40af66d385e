package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of AMX for formats with blocks of 256. A quant times its inner scale is a number of 13 bits and a sign, which is unpacked as
// 256·high + low, a signed and an unsigned byte: so a whole block of 256 adds up within the tiles, in two of them, and all sums are exact.
// With quants of two and three bits it is a signed byte, and the two tiles add up half a block each.
//
// For example, the quant 15 of Q4_K with the inner scale 63, and the quant −5 of Q6_K with the inner scale 100, times the activation 7:
//
//	15·63 = 945 = 256·3 + 177      256·(3·7) + 177·7 = 6615 = 945·7
//	−5·100 = −500 = 256·−2 + 12    256·(−2·7) + 12·7 = −3500 = −500·7

// Sizes of the tiles. All have 16 rows of 64 bytes.
const (
	tokensAMX256 = 16
	blocksAMX256 = 2    // the most blocks that a call multiplies, if quants take two bytes
	bytesAMX256  = 1024 // bytes
)

// blocks returns how many blocks a call of AMX multiplies at most, so that the unpacked blocks stay in the first-level cache.
func (f *formatBytes256) blocks() int {
	if f.folded {
		return 2 * blocksAMX256
	}
	return blocksAMX256
}

// The tile registers.
var (
	tileA256  = 0
	tilesB256 = [2]int{1, 2}                      // of low and high parts, or of the panels
	tilesC256 = [panelsAMX][2]int{{3, 4}, {5, 6}} // of panels, low and high parts, or the even and the odd steps
)

// tileAMX256 generates a kernel.
type tileAMX256 struct {
	unpacker256
	unpacked, end operand.Mem // the first of the unpacked blocks, and the place behind the last
	qOfTile       operand.Mem // the activations of the tile that is multiplied
	tilesAhead    operand.Mem // how many tiles are still to be multiplied, that one among them
	blocksAhead   operand.Mem // and how many blocks of it
	strideOfSums  operand.Mem // from a token's sums of activations to those of the next
}

// The general registers of a tile, besides those of tileAMX. Tiles are multiplied a block ahead of the sums.
var (
	amxSums      = reg.RDX   // of the activations
	amxTotals256 = regBlocks // not in use
	amxOut       = reg.R12
	regRunTo     = reg.R11 // the place that a run is unpacked to
	dotsAMX256   = panelsAMX * 2 * bytesAMX256
)

// panelsOfAMX256 generates the kernels for formats with blocks of 256.
func panelsOfAMX256(c *build.Context, constants patterns32) {
	shapes := shapesOf(c, "shapes256AMX", func(int) (rows, bytesOfRow int) { return 16, 64 })
	shared := newPatterns(c, unitAMX)
	own := newPatternsGroups(c, unitAMX)
	for _, f := range formatsBytes256() {
		var table operand.Mem
		var groups *tileGroups
		if f.of == nil {
			table = runTable(c, unitAMX, f.format256)
		} else {
			groups = newUnpackGroups(c, unitAMX, f, shared, own, constants)
		}
		multiplyAMX256(c, f, shared, table, groups, shapes)
	}
}

// multiplyAMX256 generates a format's kernel. If groups is not nil, it unpacks the quants.
func multiplyAMX256(c *build.Context, f formatBytes256, shared patterns, table operand.Mem, groups *tileGroups, shapes operand.Mem) {
	g := &tileAMX256{unpacker256: unpacker256{form: f, ahead: f.blocks()}}
	g.tile256 = tile256{tile: tile{Context: c, panelUnit: unitAMX, tokens: tokensAMX256, panels: panelsAMX}, format256: f.format256, shared: shared, table: table}
	g.registers()
	g.beginAMX(f.name, f.loop())
	g.start()
	if groups != nil {
		groups.setUp()
		g.unpackPanels(groups, panelsAMX)
	} else {
		g.unpack()
	}
	g.LEAQ(shapes, reg.RAX)
	configureTiles(c, operand.Mem{Base: reg.RAX})
	g.Load(g.Param("k"), cursorQ.stride)
	g.MOVQ(cursorQ.stride, cursorD.stride)
	g.SHRQ(operand.U8(6), cursorD.stride)
	g.LEAQ(operand.Mem{Base: cursorD.stride, Index: cursorD.stride, Scale: 2}, cursorD.stride3)
	g.MOVL(operand.U32(64), amxLine.As32())
	g.MOVQ(cursorD.stride, amxOut)
	g.SHLQ(operand.U8(4), amxOut)
	g.MOVQ(amxOut, g.strideOfSums)
	g.multiplyTokens()
}

// start makes room.
func (g *tileAMX256) start() {
	dots := 2*dotsAMX256 + 64*panelsAMX*tokensAMX256
	for _, m := range []*operand.Mem{&g.unpacked, &g.end, &g.block, &g.qOfTile, &g.tilesAhead, &g.blocksAhead, &g.strideOfSums} {
		*m = g.AllocLocal(8)
	}
	g.groups = g.AllocLocal(4 * g.form.pairs * tokensAMX256)
	if g.decode {
		g.decoded = g.AllocLocal(g.sizeOfDecoded() * panelsAMX)
	}
	memory := g.AllocLocal(64 + dots + g.form.blocks()*g.form.bytes(g.panels))
	g.LEAQ(memory.Offset(63), amxDots)
	g.ANDQ(operand.I8(-64), amxDots) // a cache line's beginning
	g.LEAQ(operand.Mem{Base: amxDots, Disp: dots}, regUnpack)
	g.MOVQ(regUnpack, g.unpacked)
}

// unpack generates the loop that unpacks the blocks.
func (g *tileAMX256) unpack() {
	g.startUnpacking()
	g.constant(g.nibble, 0x0f0f0f0f)
	if g.high != 0 {
		g.constant(g.highMask, g.high)
	}
	g.Label("unpack")
	if g.decode {
		for g.part = range panelsAMX {
			g.decodeScales()
		}
	}
	g.LEAQ(g.table, regTable)
	g.XORL(regRun.As32(), regRun.As32())
	g.MOVQ(regUnpack, regRunTo)
	g.Label("run")
	for g.part = range panelsAMX {
		g.loadEighth()
		for at := 0; at < g.quantsOfBlock/8; at += 64 { // of the next call's blocks
			g.PREFETCHT0(g.inPart(operand.Mem{Base: regOffset, Disp: g.form.blocks()*g.quantsOfBlock + at}, 0))
		}
		g.unpackRun()
		g.loadInner()
		g.splitInner(0, g.scaleA)
		group := func(j int) int { return 0 } // a run is one group
		if !g.decode {
			g.splitInner(1, g.scaleB)
			group = func(j int) int { return j / 4 }
		}
		for j := range 8 {
			g.multiplyInner(g.vec(j), group(j), operand.Mem{Base: regRunTo, Disp: g.part*g.form.panelBytes() + 64*j})
		}
	}
	g.ADDQ(operand.U32(512), regRunTo)
	if !g.decode {
		g.ADDQ(operand.U8(32), regInner)
	}
	g.ADDQ(operand.U8(bytesOfRun), regRun)
	g.CMPQ(regRun, operand.U32(8*bytesOfRun))
	g.JNE(operand.LabelRef("run"))
	for g.part = range panelsAMX {
		g.unpackScales(g.part)
		for i := range g.form.pairs {
			g.storePair(g.part, i, g.decodedAt(8+i))
		}
	}
	if g.decode {
		g.ADDQ(operand.U32(g.inner), regInner)
	}
	g.endUnpacking()
}

// multiplyPart multiplies low parts, which are unsigned, and high ones.
var multiplyPart = [2]func(c Context, a, b, sum int){multiplyTilesUnsigned, multiplyTiles}

// multiplyTokens generates the loop over the blocks of all tokens, and the function's end.
func (g *tileAMX256) multiplyTokens() {
	left := amxOut // not in use
	g.LEAQ(operand.Mem{Base: amxDots, Disp: dotsAMX256}, amxBehind)
	g.LEAQ(operand.Mem{Base: amxDots, Disp: 2 * dotsAMX256}, amxTotals256)
	g.Load(g.Param("tiles"), left)
	g.MOVQ(left, g.tilesAhead)
	g.Load(g.Param("blocks"), left)
	g.MOVQ(left, g.blocksAhead)
	g.IMUL3Q(operand.U32(g.form.bytes(panelsAMX)), left, left)
	g.ADDQ(g.unpacked, left)
	g.MOVQ(left, g.end)
	g.Load(g.Param("q"), amxQ)
	g.MOVQ(amxQ, g.qOfTile)
	g.MOVQ(g.unpacked, amxAhead)
	for _, do := range g.products() {
		do()
	}
	g.loadSums("")

	g.Label("block")
	g.XCHGQ(amxDots, amxBehind)
	g.ADDQ(operand.U32(256), amxQ)
	g.ADDQ(operand.U32(g.form.bytes(panelsAMX)), amxAhead)
	g.DECQ(g.blocksAhead)
	g.JNE(operand.LabelRef("multiply"))
	g.DECQ(g.tilesAhead)
	g.JEQ(operand.LabelRef("last"))
	g.Load(g.Param("blocks"), left)
	g.MOVQ(left, g.blocksAhead)
	g.IMUL3Q(operand.U8(tokensAMX256), cursorQ.stride, amxQ)
	g.ADDQ(g.qOfTile, amxQ)
	g.MOVQ(amxQ, g.qOfTile)
	g.MOVQ(g.unpacked, amxAhead)
	g.Label("multiply")
	g.addDots(g.products())
	g.CMPQ(amxW, g.end)
	g.JNE(operand.LabelRef("block"))
	g.JMP(operand.LabelRef("tokens"))
	g.Label("last")
	g.addDots(nil)

	g.Label("tokens")
	g.storeSums()
	g.DECQ(g.argument("tiles"))
	g.JEQ(operand.LabelRef("end"))
	g.nextTile()
	g.loadSums("Next")
	g.JMP(operand.LabelRef("block"))
	g.Label("end")
	releaseTiles(g.Context)
	g.VZEROUPPER()
	g.RET()
}

// products returns what makes a block's dot products, in parts. Of a sum in one tile each product would wait for the one before, so that
// products of whole bytes take turns with two. Each sum is stored after the next product began.
func (g *tileAMX256) products() (parts []func()) {
	var stores []func()
	for step := range 4 {
		for p := range panelsAMX {
			weights := operand.Mem{Base: amxAhead, Index: amxLine, Scale: 1, Disp: p*g.form.panelBytes() + bytesAMX256*step}
			for part, b := range tilesB256 {
				multiply, turn, first := multiplyPart[part], part, step == 0
				if g.form.folded {
					if part > 0 {
						continue
					}
					multiply, turn, first, b = multiplyTiles, step%2, step < 2, tilesB256[p]
				}
				sum := tilesC256[p][turn]
				parts = append(parts, func() {
					if p == 0 && part == 0 {
						loadTile(g.Context, operand.Mem{Base: amxQ, Index: cursorQ.stride, Scale: 1, Disp: 64 * step}, tileA256)
					}
					loadTile(g.Context, weights.Offset(part*highOfBytes), b)
					if first {
						zeroTile(g.Context, sum)
					}
					multiply(g.Context, tileA256, b, sum)
				})
				if n := len(stores); n > 0 {
					parts = append(parts, stores[n-1])
				}
				if step == 3 || g.form.folded && step == 2 {
					stores = append(stores, func() {
						storeTile(g.Context, sum, operand.Mem{Base: amxDots, Index: amxLine, Scale: 1, Disp: (2*p + turn) * bytesAMX256})
					})
				}
			}
		}
	}
	return append(parts, stores[len(stores)-1])
}

// pairSums stores the tokens' sums of 32 activations, or, with eight pairs, of 16, in pairs of words.
func (g *tileAMX256) pairSums() {
	at, ones := amxOut, reg.Y1
	g.MOVQ(amxSums, at)
	if g.form.pairs == 4 {
		g.VPCMPEQW(ones, ones, ones)
		g.VPSRLW(operand.U8(15), ones, ones)
	}
	for t := range g.tokens {
		g.VMOVDQU32(operand.Mem{Base: at}, reg.Z0)
		if g.form.pairs == 4 {
			g.VPMOVDW(reg.Z0, reg.Y0)
			g.VPMADDWD(ones, reg.Y0, reg.Y0)
			g.VPMOVDW(reg.Y0, g.groups.Offset(16*t))
		} else {
			g.VPMOVDW(reg.Z0, g.groups.Offset(32*t))
		}
		if t+1 < g.tokens {
			g.ADDQ(g.strideOfSums, at)
		}
	}
}

// sumAt returns the place of a token's sum with a panel.
func (g *tileAMX256) sumAt(t, panel int) operand.Mem {
	return operand.Mem{Base: amxTotals256, Disp: 64 * (tokensAMX256*panel + t)}
}

// addDots adds a block to the sums and goes to the next. The tokens take turns with parts of something else.
func (g *tileAMX256) addDots(parts []func()) {
	if g.form.pairs > 0 {
		g.pairSums()
	}
	done := 0
	for p := range panelsAMX {
		g.addPanel(p, func(t int) {
			for ; done < len(parts) && done*panelsAMX*g.tokens < len(parts)*(g.tokens*p+t+1); done++ {
				parts[done]()
			}
		})
	}
	g.ADDQ(operand.U32(g.form.bytes(panelsAMX)), amxW)
	g.ADDQ(operand.U8(4), cursorD.at)
	g.ADDQ(operand.U8(64), amxSums)
}

// addPanel adds a block of a panel to the sums, and does something before each token.
func (g *tileAMX256) addPanel(p int, before func(t int)) {
	scale, minimum := g.vec(0), g.vec(1)
	inner := func(i int) reg.VecPhysical { return g.vec(2 + i) }
	dot, product, least := g.vec(10), g.vec(11), g.vec(12)
	scales := g.scalesOf(amxW, p)
	g.VMOVUPS(scales, scale)
	if g.form.pairs > 0 {
		g.VMOVUPS(scales.Offset(minimumOfBytes), minimum)
		for i := range g.form.pairs {
			g.VMOVUPS(scales.Offset(innerOfBytes+64*i), inner(i))
		}
	}
	g.forTokens([]*cursor{cursorD}, func(t int) {
		before(t)
		first := operand.Mem{Base: amxBehind, Disp: 2*p*bytesAMX256 + 64*t}
		second := first.Offset(bytesAMX256)
		if g.form.folded {
			g.VMOVDQU32(second, dot)
		} else {
			g.VPSLLD(operand.U8(8), second, dot)
		}
		g.VPADDD(first, dot, dot)
		g.VCVTDQ2PS(dot, dot)
		g.scaleBy(cursorD.row(t, 0), scale, product)
		if g.form.negative {
			g.VFNMADD213PS(g.sumAt(t, p), product, dot)
		} else {
			g.VFMADD213PS(g.sumAt(t, p), product, dot)
		}
		if g.form.pairs > 0 {
			g.zero(least)
			for i := range g.form.pairs {
				g.VPDPWSSD_BCST(g.groups.Offset(4*g.form.pairs*t+4*i), inner(i), least)
			}
			g.VCVTDQ2PS(least, least)
			g.scaleBy(cursorD.row(t, 0), minimum, product)
			g.VFNMADD231PS(least, product, dot)
		}
		g.VMOVUPS(dot, g.sumAt(t, p))
	})
}

// loadSums loads the sums of a tile of tokens, zeros at first, and goes to its first block.
func (g *tileAMX256) loadSums(label string) {
	g.CMPQ(g.argument("first"), operand.U8(0))
	g.JEQ(operand.LabelRef("goOn" + label))
	g.zero(g.vec(0))
	for p := range panelsAMX {
		for t := range g.tokens {
			g.VMOVUPS(g.vec(0), g.sumAt(t, p))
		}
	}
	g.JMP(operand.LabelRef("begun" + label))
	g.Label("goOn" + label)
	g.forOut(amxOut, amxW, func(t int, out operand.Mem) {
		for p := range panelsAMX {
			g.VMOVUPS(out.Offset(64*p), g.vec(0))
			g.VMOVUPS(g.vec(0), g.sumAt(t, p))
		}
	})
	g.Label("begun" + label)
	g.MOVQ(g.unpacked, amxW)
	g.Load(g.Param("d"), cursorD.at)
	g.Load(g.Param("sums"), amxSums)
}

// storeSums stores the sums.
func (g *tileAMX256) storeSums() {
	g.forOut(amxOut, amxW, func(t int, out operand.Mem) {
		for p := range panelsAMX {
			g.VMOVUPS(g.sumAt(t, p), g.vec(0))
			g.VMOVUPS(g.vec(0), out.Offset(64*p))
		}
	})
}

// nextTile goes to the next tokens.
func (g *tileAMX256) nextTile() {
	for _, a := range []struct {
		name   string
		stride operand.Mem
		shift  uint8
	}{{"sums", g.strideOfSums, 4}, {"out", g.argument("stride"), 6}} {
		g.MOVQ(a.stride, amxOut)
		g.SHLQ(operand.U8(a.shift), amxOut)
		g.ADDQ(amxOut, g.argument(a.name))
	}
	g.MOVQ(cursorD.stride, amxOut)
	g.SHLQ(operand.U8(4), amxOut)
	g.ADDQ(amxOut, g.argument("d"))
}
