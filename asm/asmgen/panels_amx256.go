package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of AMX for formats with blocks of 256. A quant times its inner scale is a number of 13 bits and a sign, which is
// unpacked as 256·high + low, a signed and an unsigned byte: so a whole block of 256 adds up within the tiles, in two of them, and
// all sums are exact.

// Sizes of the tiles, all of which have 16 rows of 64 bytes.
const (
	tokensAMX256 = 16
	blocksAMX256 = 2    // the most blocks that a call multiplies
	bytesAMX256  = 1024 // bytes
)

// Where things are in a block of two panels, unpacked: for each panel four tiles of low parts and four of high ones; then for
// each its scale and minimum as float32 and the inner minimums, in pairs of words.
const (
	highAMX256    = 4 * bytesAMX256
	panelAMX256   = 2 * highAMX256
	scalesAMX256  = panelsAMX * panelAMX256
	minimumAMX256 = 64
	innerAMX256   = 128
	oneAMX256     = 384 // bytes of a panel's scales
	blockAMX256   = scalesAMX256 + panelsAMX*oneAMX256
)

// The tile registers.
var (
	tileA256  = 0
	tilesB256 = [2]int{1, 2}                      // of low and high parts
	tilesC256 = [panelsAMX][2]int{{3, 4}, {5, 6}} // of panels, low and high parts
)

// tileAMX256 generates a kernel.
type tileAMX256 struct {
	tile256
	unpacked, block operand.Mem // where the unpacked blocks begin; how many are still to be unpacked
}

// The general registers of a tile, besides those of tileAMX. The sums follow the dot products in memory.
var (
	amxSums    = reg.RDX // of the activations
	regUnpack  = reg.R9  // where a block is unpacked to
	regRunTo   = reg.R11 // and a run
	sumsAMX256 = panelsAMX * 2 * bytesAMX256
)

// panelsOfAMX256 generates the kernels for formats with blocks of 256.
func panelsOfAMX256(c *build.Context) {
	shapes := shapesOf(c, "shapes256AMX", func(int) (rows, bytesOfRow int) { return 16, 64 })
	shared := newPatterns(c, unitAMX)
	for _, f := range formats256 {
		multiplyAMX256(c, f, shared, runTable(c, unitAMX, f), shapes)
	}
}

// multiplyAMX256 generates a format's kernel.
func multiplyAMX256(c *build.Context, f format256, shared patterns, table, shapes operand.Mem) {
	g := &tileAMX256{tile256: tile256{tile: tile{Context: c, panelUnit: unitAMX, tokens: tokensAMX256, panels: panelsAMX}, format256: f, shared: shared, table: table}}
	g.registers()
	minimum := ""
	if f.decode {
		minimum = ", then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]"
	}
	g.beginAMX(f.name, "out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i]"+minimum)
	g.start()
	g.unpack()
	g.LEAQ(shapes, reg.RAX)
	configureTiles(c, operand.Mem{Base: reg.RAX})
	g.Load(g.Param("k"), cursorQ.stride)
	g.MOVQ(cursorQ.stride, cursorD.stride)
	g.SHRQ(operand.U8(6), cursorD.stride)
	g.LEAQ(operand.Mem{Base: cursorD.stride, Index: cursorD.stride, Scale: 2}, cursorD.stride3)
	g.MOVL(operand.U32(64), amxLine.As32())
	g.Label("tile")
	g.loadSums()
	g.MOVQ(g.unpacked, amxW)
	g.Load(g.Param("q"), amxQ)
	g.Load(g.Param("d"), cursorD.at)
	g.Load(g.Param("sums"), amxSums)
	g.Load(g.Param("blocks"), regBlocks)
	g.Label("block")
	g.multiply()
	if f.decode {
		g.pairSums()
	}
	for p := range panelsAMX {
		g.addDots(p)
	}
	g.ADDQ(operand.U32(blockAMX256), amxW)
	g.ADDQ(operand.U32(256), amxQ)
	g.ADDQ(operand.U8(4), cursorD.at)
	g.ADDQ(operand.U8(64), amxSums)
	g.DECQ(regBlocks)
	g.JNE(operand.LabelRef("block"))
	g.storeSums()
	g.nextTile()
	releaseTiles(c)
	g.VZEROUPPER()
	g.RET()
}

// start makes room.
func (g *tileAMX256) start() {
	dots := sumsAMX256 + 64*panelsAMX*tokensAMX256
	g.unpacked, g.block = g.AllocLocal(8), g.AllocLocal(8)
	g.groups = g.AllocLocal(16 * tokensAMX256)
	g.decoded = g.AllocLocal(g.sizeOfDecoded() * panelsAMX)
	memory := g.AllocLocal(64 + dots + blocksAMX256*blockAMX256)
	g.LEAQ(memory.Offset(63), amxDots)
	g.ANDQ(operand.I8(-64), amxDots) // a cache line's beginning
	g.LEAQ(operand.Mem{Base: amxDots, Disp: dots}, regUnpack)
	g.MOVQ(regUnpack, g.unpacked)
}

// The vector registers of unpacking, besides those of tile256.
var (
	lowByte, highByte = reg.Z16, reg.Z17                     // of each word, all ones
	scalesEven        = [2]reg.VecPhysical{reg.Z23, reg.Z24} // inner scales of a run's two groups, in the low byte of each word
	scalesOdd         = [2]reg.VecPhysical{reg.Z25, reg.Z26} // in the high byte
	scales32          = [2]reg.VecPhysical{reg.Z27, reg.Z28} // 32 times, as words
)

// unpack generates the loop that unpacks the blocks.
func (g *tileAMX256) unpack() {
	scales := reg.RSI
	g.Load(g.Param("w"), regW)
	g.Load(g.Param("scales"), scales)
	g.Load(g.Param("inner"), regInner)
	g.Load(g.Param("panelBytes"), strideOfPanels)
	g.Load(g.Param("blocks"), reg.RCX)
	g.MOVQ(reg.RCX, g.block)
	g.constant(g.nibble, 0x0f0f0f0f)
	g.constant(lowByte, 0x00ff00ff)
	g.constant(highByte, 0xff00ff00)
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
		g.askFor(operand.Mem{Base: regOffset, Disp: blocksAMX256 * g.quantsOfBlock}) // of the next call's blocks
		g.unpackRun()
		g.splitInner()
		for j := range 8 {
			g.multiplyInner(j)
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
		g.unpackScales(scales)
	}
	if g.decode {
		g.ADDQ(operand.U32(g.inner), regInner)
	}
	g.ADDQ(operand.U32(g.quantsOfBlock), regW)
	g.ADDQ(operand.U8(g.scales), scales)
	g.ADDQ(operand.U32(blockAMX256), regUnpack)
	g.DECQ(g.block)
	g.JNE(operand.LabelRef("unpack"))
}

// splitInner loads the inner scales of a run for multiplyInner.
func (g *tileAMX256) splitInner() {
	g.loadInner()
	for i, words := range []reg.VecPhysical{g.scaleA, g.scaleB} {
		if g.decode && i > 0 {
			break // a run is one group
		}
		g.VPANDD(lowByte, words, scalesEven[i])
		g.VPSLLW(operand.U8(8), words, scalesOdd[i])
		if !g.decode {
			g.VPSLLW(operand.U8(5), words, scales32[i])
		}
	}
}

// multiplyInner multiplies the run's line j with its inner scale and stores the products' low and high bytes. VPMADDUBSW multiplies
// every other quant, since the scale beside it is zero.
func (g *tileAMX256) multiplyInner(j int) {
	const orAnd = 0xf8 // first | second & third
	even, odd, low := reg.Z20, reg.Z21, reg.Z22
	group := 0
	if !g.decode {
		group = j / 4
	}
	g.VPMADDUBSW(scalesEven[group], g.vec(j), even)
	g.VPMADDUBSW(scalesOdd[group], g.vec(j), odd)
	if !g.decode { // the quants stand 32 too great
		g.VPSUBW(scales32[group], even, even)
		g.VPSUBW(scales32[group], odd, odd)
	}
	g.VPSLLW(operand.U8(8), odd, low)
	g.VPTERNLOGD(operand.U8(orAnd), lowByte, even, low)
	g.VPSRLW(operand.U8(8), even, even)
	g.VPTERNLOGD(operand.U8(orAnd), highByte, odd, even)
	to := operand.Mem{Base: regRunTo, Disp: g.part*panelAMX256 + 64*j}
	g.VMOVDQU32(low, to)
	g.VMOVDQU32(even, to.Offset(highAMX256))
}

// unpackScales unpacks a part's scales, minimums and inner minimums.
func (g *tileAMX256) unpackScales(scales reg.GPPhysical) {
	to := operand.Mem{Base: regUnpack, Disp: scalesAMX256 + oneAMX256*g.part}
	g.VCVTPH2PS(g.inPart(operand.Mem{Base: scales}, 2), g.t0)
	g.VMOVUPS(g.t0, to)
	if !g.decode {
		return
	}
	g.VCVTPH2PS(g.inPart(operand.Mem{Base: scales, Disp: 32}, 2), g.t0)
	g.VMOVUPS(g.t0, to.Offset(minimumAMX256))
	for i := range 4 {
		g.VMOVUPS(g.decodedAt(8+i), g.t0)
		g.VMOVUPS(g.t0, to.Offset(innerAMX256+64*i))
	}
}

// multiplyPart multiplies low parts, which are unsigned, and high ones.
var multiplyPart = [2]func(c *build.Context, a, b, sum int){multiplyTilesUnsigned, multiplyTiles}

// multiply makes a block's dot products and stores them.
func (g *tileAMX256) multiply() {
	for p := range panelsAMX {
		for part := range 2 {
			zeroTile(g.Context, tilesC256[p][part])
		}
	}
	for step := range 4 {
		loadTile(g.Context, operand.Mem{Base: amxQ, Index: cursorQ.stride, Scale: 1, Disp: 64 * step}, tileA256)
		for p := range panelsAMX {
			for part, b := range tilesB256 {
				loadTile(g.Context, operand.Mem{Base: amxW, Index: amxLine, Scale: 1, Disp: p*panelAMX256 + part*highAMX256 + bytesAMX256*step}, b)
				multiplyPart[part](g.Context, tileA256, b, tilesC256[p][part])
			}
		}
	}
	for p := range panelsAMX {
		for part, c := range tilesC256[p] {
			storeTile(g.Context, c, operand.Mem{Base: amxDots, Index: amxLine, Scale: 1, Disp: (2*p + part) * bytesAMX256})
		}
	}
}

// pairSums stores the tokens' sums of 32 activations, in pairs of words.
func (g *tileAMX256) pairSums() {
	at, stride, ones := reg.R9, amxOut, reg.Y1
	g.MOVQ(amxSums, at)
	g.MOVQ(cursorQ.stride, stride)
	g.SHRQ(operand.U8(2), stride)
	g.VPCMPEQW(ones, ones, ones)
	g.VPSRLW(operand.U8(15), ones, ones)
	for t := range g.tokens {
		g.VMOVDQU32(operand.Mem{Base: at}, reg.Z0)
		g.VPMOVDW(reg.Z0, reg.Y0)
		g.VPMADDWD(ones, reg.Y0, reg.Y0)
		g.VPMOVDW(reg.Y0, g.groups.Offset(16*t))
		if t+1 < g.tokens {
			g.ADDQ(stride, at)
		}
	}
}

// sumAt returns the place of a token's sum with a panel.
func (g *tileAMX256) sumAt(t, panel int) operand.Mem {
	return operand.Mem{Base: amxDots, Disp: sumsAMX256 + 64*(tokensAMX256*panel+t)}
}

// addDots adds a block of a panel to the sums.
func (g *tileAMX256) addDots(p int) {
	scale, minimum := g.vec(0), g.vec(1)
	scales := operand.Mem{Base: amxW, Disp: scalesAMX256 + oneAMX256*p}
	g.VMOVUPS(scales, scale)
	if g.decode {
		g.VMOVUPS(scales.Offset(minimumAMX256), minimum)
		for i := range 4 {
			g.VMOVUPS(scales.Offset(innerAMX256+64*i), g.vec(2+i))
		}
	}
	g.forTokens([]*cursor{cursorD}, func(t int) {
		dot, product, least := g.vec(6), g.vec(7), g.vec(8)
		low := operand.Mem{Base: amxDots, Disp: 2*p*bytesAMX256 + 64*t}
		g.VPSLLD(operand.U8(8), low.Offset(bytesAMX256), dot)
		g.VPADDD(low, dot, dot)
		g.VCVTDQ2PS(dot, dot)
		g.scaleBy(cursorD.row(t, 0), scale, product)
		g.VFMADD213PS(g.sumAt(t, p), product, dot)
		if g.decode {
			g.zero(least)
			for i := range 4 {
				g.VPDPWSSD_BCST(g.groups.Offset(16*t+4*i), g.vec(2+i), least)
			}
			g.VCVTDQ2PS(least, least)
			g.scaleBy(cursorD.row(t, 0), minimum, product)
			g.VFNMADD231PS(least, product, dot)
		}
		g.VMOVUPS(dot, g.sumAt(t, p))
	})
}

// loadSums loads the sums, zeros at first.
func (g *tileAMX256) loadSums() {
	g.CMPQ(g.argument("first"), operand.U8(0))
	g.JEQ(operand.LabelRef("goOn"))
	g.zero(g.vec(0))
	for p := range panelsAMX {
		for t := range g.tokens {
			g.VMOVUPS(g.vec(0), g.sumAt(t, p))
		}
	}
	g.JMP(operand.LabelRef("begun"))
	g.Label("goOn")
	g.forOut(func(t int) {
		for p := range panelsAMX {
			g.VMOVUPS(operand.Mem{Base: amxOut, Disp: 64 * p}, g.vec(0))
			g.VMOVUPS(g.vec(0), g.sumAt(t, p))
		}
	})
	g.Label("begun")
}

// storeSums stores the sums.
func (g *tileAMX256) storeSums() {
	g.forOut(func(t int) {
		for p := range panelsAMX {
			g.VMOVUPS(g.sumAt(t, p), g.vec(0))
			g.VMOVUPS(g.vec(0), operand.Mem{Base: amxOut, Disp: 64 * p})
		}
	})
}

// nextTile goes to the next tokens, if there are any.
func (g *tileAMX256) nextTile() {
	g.advance("q", cursorQ.stride, g.tokens)
	g.advance("d", cursorD.stride, g.tokens)
	g.MOVQ(cursorQ.stride, reg.RAX)
	g.SHRQ(operand.U8(2), reg.RAX)
	g.advance("sums", reg.RAX, g.tokens)
	g.Load(g.Param("stride"), reg.RAX)
	g.advance("out", reg.RAX, 4*g.tokens)
	g.DECQ(g.argument("tiles"))
	g.JNE(operand.LabelRef("tile"))
}
