package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of package asm that multiply with AMX. TDPBSSD multiplies a tile of activations, a row for each of 16 tokens, with a tile of
// weights (the eight lines of a panel's block with quants of one byte), and leaves the dot products of a block in a third tile, a row for
// each token and a lane for each row of weights. The dot products go through memory, the only way out of a tile, to AVX-512, which scales
// them and adds them up.
//
// Tokens are worked through in chunks of two blocks of two panels. While the tiles of a chunk are multiplied and stored, the dot products of
// the chunk before are added to the sums, and also from one tile of tokens to the next, so that a dot product is read long after it was stored:
//
//	multiply blocks 0 and 1
//	multiply blocks 2 and 3, add blocks 0 and 1
//	...
//	multiply blocks 0 and 1 of the next 16 tokens, add the last two blocks
//
// The sums of a tile stand in memory, too: a kernel that has them in registers reads dot products that were stored just before, and takes 1.4
// times as long while another thread of the core is busy, see BENCHMARKS.md. A Sapphire Rapids that multiplies tiles adds vectors on two ports,
// but multiplies and converts them on one. So conversions by additions of 1.5·2^23 were tried, and took as long.
//
// Quants are unpacked beforehand, some blocks of two panels at once, for all tokens. Asking the cache for the blocks of the next call
// meanwhile made products of 16 to 32 tokens 5 to 15 % slower.

// Sizes.
const (
	tokensAMX = 16
	panelsAMX = 2
	chunkAMX  = 2              // blocks
	tileC     = 64 * tokensAMX // bytes of a tile of dot products
	dotsAMX   = chunkAMX * panelsAMX * tileC
	blocksAMX = 32 // the most blocks that a call multiplies
)

// The tile registers. Dot products take turns.
const (
	tileA = 0 // 16 rows of 32 bytes
	tileB = 1 // 8 rows of 64 bytes
)

var tilesC = [chunkAMX * panelsAMX]int{2, 3, 4, 5} // 16 rows of 64 bytes

// unitAMX is the unit that computes besides the tiles.
var unitAMX = panelUnit{name: "AMX", wide: true}

// formatAMX describes a format with blocks of 32, as it is unpacked.
type formatAMX struct {
	name          string
	quantsOfBlock int // bytes of a block's quants in the panel
	source        source32
	scales        int    // how many scales a block of a row has
	scaleBytes    int    // of a block's scales in the panel
	powers        bool   // they are powers of two, see format32
	bytes         int    // of a block of two panels, unpacked
	offset        uint32 // subtracted from each quant
}

// Bytes of an unpacked block of two panels: the lines of the first panel, those of the second, the scales of both as float32, and,
// in formats that have them, the minimums as float32.
const (
	linesAMX        = panelsAMX * 8 * 64
	blockAMX        = linesAMX + panelsAMX*64
	blockMinimumAMX = blockAMX + panelsAMX*64
)

// formatsAMX returns the formats with blocks of 32, as AMX multiplies them.
func formatsAMX() (list []formatAMX) {
	for _, f := range formats32(unitAMX) {
		a := formatAMX{name: f.name, quantsOfBlock: f.quants, source: f.source, scales: (f.scales + 31) / 32, scaleBytes: f.scales, powers: f.powers, bytes: blockAMX}
		if f.minimum {
			a.bytes = blockMinimumAMX
		}
		if f.shift > 0 && !f.source.whole() && f.source != fromFP4 {
			a.offset = 0x01010101 << f.shift
		}
		list = append(list, a)
	}
	return list
}

// minimum reports whether the format has minimums.
func (f *formatAMX) minimum() bool { return f.scales == 2 }

// panelsOfAMX generates the kernels of AMX.
func panelsOfAMX(c *build.Context) {
	shapes := shapesAMX(c)
	constants := newPatterns32(c, unitAMX)
	for _, f := range formatsAMX() {
		multiplyAMX(c, f, constants, shapes)
	}
	few := shapesFewAMX(c)
	for _, f := range formatsAMX() {
		if f.source == fromNibbles || f.source == fromBytes { // the others are multiplied by AVX-512 VNNI where tokens are few
			multiplyFewAMX(c, f, few)
		}
	}
	panelsOfAMX256(c, constants)
}

// shapesAMX writes the shapes of the tile registers.
func shapesAMX(c *build.Context) operand.Mem {
	return shapesOf(c, "shapesAMX", func(i int) (int, int) {
		switch i {
		case tileA:
			return tokensAMX, 32
		case tileB:
			return 8, 64
		}
		return tokensAMX, 64
	})
}

// shapesOf writes the shapes of the tile registers as LDTILECFG reads them.
func shapesOf(c *build.Context, name string, shape func(i int) (rows, bytesOfRow int)) operand.Mem {
	m := c.StaticGlobal(name)
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	c.AddDatum(0, operand.U8(1)) // the palette
	for i := range 8 {
		_, n := shape(i)
		c.AddDatum(16+2*i, operand.U16(n))
	}
	for i := range 8 {
		n, _ := shape(i)
		c.AddDatum(48+i, operand.U8(n))
	}
	c.AddDatum(63, operand.U8(0))
	return m
}

// tileAMX generates a kernel of tiles.
type tileAMX struct {
	tile
	formatAMX
	unpacked, end operand.Mem // the first of the unpacked blocks, and the place behind the last
	qOfTile       operand.Mem // the activations of the tile that is multiplied
	tilesAhead    operand.Mem // how many tiles are still to be multiplied, that one among them
	chunks        operand.Mem // of a tile
	chunk         int         // blocks of a chunk
}

// The general registers. Tiles are multiplied a chunk ahead of the sums, to which cursorD and cursorSums belong.
var (
	amxW, amxAhead     = reg.RAX, reg.R15 // the weights of the sums, and of the tiles
	amxQ               = reg.RSI
	amxDots, amxBehind = reg.RBX, reg.R9 // where dot products are written, and read
	amxLine            = reg.R13         // 64
	amxTotals          = reg.R12         // the tokens' sums
)

// multiplyAMX generates a format's kernel.
func multiplyAMX(c *build.Context, f formatAMX, constants patterns32, shapes operand.Mem) {
	g := &tileAMX{tile: tile{Context: c, panelUnit: unitAMX, constants: constants, tokens: tokensAMX, panels: 1}, formatAMX: f}
	term := ""
	if f.minimum() {
		term = ", then + (m[b][r]·d[t][b])·sums[t][b]"
	}
	g.beginAMX(f.name, "out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]"+term)
	g.start(shapes)
	g.Load(g.Param("blocks"), regBlocks)
	g.TESTQ(operand.U32(chunkAMX-1), regBlocks)
	g.JNE(operand.LabelRef("odd"))
	g.multiplyTokens(chunkAMX, "")
	g.Label("odd") // many blocks, one after the other
	g.multiplyTokens(1, "Odd")
}

// beginAMX starts the function of a format.
func (g *tile) beginAMX(format, loop string) {
	g.Function(format + "AMX")
	g.SignatureExpr("func(w, scales, inner *byte, panelBytes, blocks int, q *int8, d *float32, sums *int32, tiles, k int, out *float32, stride, first int)")
	g.Pragma("noescape")
	g.Doc(format+"AMX multiplies some blocks of 2 panels with rows of activations, see amxKernel:", "", "\t"+loop)
}

// start unpacks the weights and fills the general registers that all tiles have.
func (g *tileAMX) start(shapes operand.Mem) {
	for _, m := range []*operand.Mem{&g.unpacked, &g.end, &g.qOfTile, &g.tilesAhead, &g.chunks} {
		*m = g.AllocLocal(8)
	}
	totals := panelsAMX * 64 * tokensAMX
	memory := g.AllocLocal(64 + 2*dotsAMX + totals + blocksAMX*g.bytes)
	g.LEAQ(memory.Offset(63), amxDots)
	g.ANDQ(operand.I8(-64), amxDots) // a cache line's beginning
	g.LEAQ(operand.Mem{Base: amxDots, Disp: dotsAMX}, amxBehind)
	g.LEAQ(operand.Mem{Base: amxDots, Disp: 2 * dotsAMX}, amxTotals)
	g.LEAQ(operand.Mem{Base: amxDots, Disp: 2*dotsAMX + totals}, reg.RDI)
	g.MOVQ(reg.RDI, g.unpacked)
	g.unpack(reg.RDI)
	g.MOVQ(reg.RDI, g.end)
	g.LEAQ(shapes, reg.RAX)
	configureTiles(g.Context, operand.Mem{Base: reg.RAX})
	g.Load(g.Param("k"), cursorQ.stride)
	g.MOVQ(cursorQ.stride, cursorD.stride)
	g.SHRQ(operand.U8(3), cursorD.stride)
	g.LEAQ(operand.Mem{Base: cursorD.stride, Index: cursorD.stride, Scale: 2}, cursorD.stride3)
	g.MOVL(operand.U32(64), amxLine.As32())
	g.Load(g.Param("q"), amxQ)
	g.MOVQ(amxQ, g.qOfTile)
	g.Load(g.Param("tiles"), reg.RAX)
	g.MOVQ(reg.RAX, g.tilesAhead)
}

// multiplyTokens generates the loop over the chunks of all tokens, with some blocks a chunk, and the function's end.
func (g *tileAMX) multiplyTokens(blocks int, name string) {
	g.chunk = blocks
	label := func(s string) operand.LabelRef { return operand.LabelRef(s + name) }
	if blocks > 1 {
		g.SHRQ(operand.U8(blocks/2), regBlocks)
	}
	g.MOVQ(regBlocks, g.chunks)
	g.MOVQ(g.unpacked, amxAhead)
	for _, do := range g.products() {
		do()
	}
	g.loadTotals(name)

	g.Label("chunk" + name)
	g.XCHGQ(amxDots, amxBehind)
	g.ADDQ(operand.U8(32*blocks), amxQ)
	g.ADDQ(operand.U32(blocks*g.bytes), amxAhead)
	g.DECQ(regBlocks)
	g.JNE(label("multiply"))
	g.DECQ(g.tilesAhead)
	g.JEQ(label("last"))
	g.IMUL3Q(operand.U8(tokensAMX), cursorQ.stride, amxQ)
	g.ADDQ(g.qOfTile, amxQ)
	g.MOVQ(amxQ, g.qOfTile)
	g.MOVQ(g.unpacked, amxAhead)
	g.MOVQ(g.chunks, regBlocks)
	g.Label("multiply" + name)
	g.addDots(g.products())
	g.CMPQ(amxW, g.end)
	g.JNE(label("chunk"))
	g.JMP(label("tokens"))
	g.Label("last" + name)
	g.addDots(nil)

	g.Label("tokens" + name)
	g.storeTotals()
	g.DECQ(g.argument("tiles"))
	g.JEQ(label("end"))
	g.nextTokens()
	g.loadTotals(name + "Next")
	g.JMP(label("chunk"))
	g.Label("end" + name)
	releaseTiles(g.Context)
	g.VZEROUPPER()
	g.RET()
}

// products returns what makes a chunk's dot products, in parts. Each is stored after the next one's multiplication began.
func (g *tileAMX) products() (parts []func()) {
	n := panelsAMX * g.chunk
	for i := range n {
		parts = append(parts, func() { g.multiply(i) })
		if i > 0 {
			parts = append(parts, func() { g.store(i - 1) })
		}
	}
	return append(parts, func() { g.store(n - 1) })
}

// multiply makes dot products i of a chunk: those of a block and a panel.
func (g *tileAMX) multiply(i int) {
	block, panel, sum := i/panelsAMX, i%panelsAMX, tilesC[i]
	if panel == 0 {
		loadTile(g.Context, operand.Mem{Base: amxQ, Index: cursorQ.stride, Scale: 1, Disp: 32 * block}, tileA)
	}
	loadTile(g.Context, operand.Mem{Base: amxAhead, Index: amxLine, Scale: 1, Disp: block*g.bytes + 512*panel}, tileB)
	zeroTile(g.Context, sum)
	multiplyTiles(g.Context, tileA, tileB, sum)
}

// store stores dot products i of a chunk.
func (g *tileAMX) store(i int) {
	storeTile(g.Context, tilesC[i], operand.Mem{Base: amxDots, Index: amxLine, Scale: 1, Disp: i * tileC})
}

// addDots adds a chunk to the sums and goes to the next. The tokens take turns with parts of something else.
func (g *tileAMX) addDots(parts []func()) {
	cursors := []*cursor{cursorD}
	if g.minimum() {
		cursors = append(cursors, cursorSums)
	}
	scales := func(kind int) func(i int) operand.Mem {
		return func(i int) operand.Mem {
			return operand.Mem{Base: amxW, Disp: i/panelsAMX*g.bytes + linesAMX + 64*(panelsAMX*kind+i%panelsAMX)}
		}
	}
	g.loadScalesAMX(&g.tile, g.chunk, scales(0), scales(1))
	done := 0
	g.forTokens(cursors, func(t int) {
		for ; done < len(parts)*(t+1)/g.tokens; done++ {
			parts[done]()
		}
		g.addChunk(&g.tile, g.chunk, chunkOfToken{
			total:  func(p int) operand.Mem { return g.total(t, p) },
			d:      func(b int) operand.Mem { return cursorD.row(t, 4*b) },
			quants: func(b int) operand.Mem { return cursorSums.row(t, 4*b) },
			dot:    func(i int) operand.Mem { return operand.Mem{Base: amxBehind, Disp: i*tileC + 64*t} },
		})
	})
	g.ADDQ(operand.U32(g.chunk*g.bytes), amxW)
	for _, c := range cursors {
		g.ADDQ(operand.U8(4*g.chunk), c.at)
	}
}

// total returns the place of a token's sums with a panel.
func (g *tileAMX) total(t, panel int) operand.Mem {
	return operand.Mem{Base: amxTotals, Disp: 64 * (panelsAMX*t + panel)}
}

// forOut calls do for each token, with an address in its row of out. It uses two registers.
func (g *tile) forOut(at, stride reg.GPPhysical, do func(t int, out operand.Mem)) {
	g.Load(g.Param("out"), at)
	g.Load(g.Param("stride"), stride)
	for t := range g.tokens {
		do(t, operand.Mem{Base: at})
		if t+1 < g.tokens {
			g.LEAQ(operand.Mem{Base: at, Index: stride, Scale: 4}, at)
		}
	}
}

// loadTotals loads the sums of a tile of tokens, zeros at first, and goes to its first chunk.
func (g *tileAMX) loadTotals(label string) {
	sum := g.vec(0)
	g.CMPQ(g.argument("first"), operand.U8(0))
	g.JEQ(operand.LabelRef("goOn" + label))
	g.zero(sum)
	for t := range g.tokens {
		for p := range panelsAMX {
			g.VMOVUPS(sum, g.total(t, p))
		}
	}
	g.JMP(operand.LabelRef("begun" + label))
	g.Label("goOn" + label)
	g.forOut(amxW, cursorD.at, func(t int, out operand.Mem) {
		for p := range panelsAMX {
			g.VMOVUPS(out.Offset(64*p), sum)
			g.VMOVUPS(sum, g.total(t, p))
		}
	})
	g.Label("begun" + label)
	g.MOVQ(g.unpacked, amxW)
	g.Load(g.Param("d"), cursorD.at)
	if g.minimum() {
		g.Load(g.Param("sums"), cursorSums.at)
	}
}

// storeTotals stores the sums.
func (g *tileAMX) storeTotals() {
	sum := g.vec(0)
	g.forOut(amxW, cursorD.at, func(t int, out operand.Mem) {
		for p := range panelsAMX {
			g.VMOVUPS(g.total(t, p), sum)
			g.VMOVUPS(sum, out.Offset(64*p))
		}
	})
}

// nextTokens goes to the next tile of tokens.
func (g *tileAMX) nextTokens() {
	step := amxW // not in use
	g.IMUL3Q(operand.U8(tokensAMX), cursorD.stride, step)
	g.ADDQ(step, g.argument("d"))
	if g.minimum() {
		g.ADDQ(step, g.argument("sums"))
	}
	g.Load(g.Param("stride"), step)
	g.SHLQ(operand.U8(6), step) // 4 bytes, 16 tokens
	g.ADDQ(step, g.argument("out"))
}
