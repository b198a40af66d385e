package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of package asm that multiply with AMX. TDPBSSD multiplies a tile of activations, a row for each of 12 tokens, with a tile of
// weights (the eight lines of a panel's block with quants of one byte), and leaves the dot products of a block in a third tile, a row for
// each token and a lane for each row of weights. The dot products go through memory, the only way out of a tile, to AVX-512, which scales
// them and adds them up. Multiplying, storing and adding up go on at the same time, on three neighbouring blocks: while the tiles of one
// are multiplied, those of the block before it are stored, and those of the block before that one are added up.
//
// They save little time by that, as if tiles and vectors shared ports, see BENCHMARKS.md. Kernels that multiplied three blocks ahead, from
// copies of the activations at places of their own, or that had the sums of 16 tokens and one panel, were not shown to be faster.
//
// Quants are unpacked beforehand, some blocks of two panels at once, for all tokens. Asking the cache for the blocks of the next call
// meanwhile made products of 16 to 32 tokens 5 to 15 % slower.
//
// The four blocks of a call, in the order of the code:
//
//	multiplied   stored   added up
//	0
//	1            0
//	2            1        0
//	3            2        1
//	             3        2
//	                      3

// Sizes of the tiles.
const (
	tokensAMX = 12 // with two panels, as many sums as there are registers left
	panelsAMX = 2
	tileC     = 64 * tokensAMX // bytes of a tile of dot products
	blocksAMX = 32             // the most blocks that a call multiplies
)

// The tile registers. Blocks take turns with those of activations and of dot products.
var (
	tilesA = [2]int{0, 7}                      // 12 rows of 32 bytes
	tilesB = [panelsAMX]int{1, 2}              // 8 rows of 64 bytes
	tilesC = [2][panelsAMX]int{{3, 4}, {5, 6}} // 12 rows of 64 bytes
)

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
	var rows, bytesOfRow [8]int
	for turn := range 2 {
		rows[tilesA[turn]], bytesOfRow[tilesA[turn]] = tokensAMX, 32
		for p := range panelsAMX {
			rows[tilesB[p]], bytesOfRow[tilesB[p]] = 8, 64
			rows[tilesC[turn][p]], bytesOfRow[tilesC[turn][p]] = tokensAMX, 64
		}
	}
	return shapesOf(c, "shapesAMX", func(i int) (int, int) { return rows[i], bytesOfRow[i] })
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
	unpacked operand.Mem // the first of the unpacked blocks
}

// The general registers of a tile. The weights and the activations' scales are those of the block that is added up.
var (
	amxW, amxQ         = reg.RAX, reg.RSI
	amxDots, amxBehind = reg.RBX, reg.R9 // where dot products are written, and read
	amxLine            = reg.R13         // 64
	amxOut             = reg.R12
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
	c.Label("tile")
	g.MOVQ(g.unpacked, amxW)
	g.Load(g.Param("q"), amxQ)
	g.Load(g.Param("d"), cursorD.at)
	g.Load(g.Param("sums"), cursorSums.at)
	g.Load(g.Param("blocks"), regBlocks)
	g.loadOut()
	g.multiplyBlocks()
	g.storeOut()
	g.nextTile()
	releaseTiles(c)
	g.VZEROUPPER()
	g.RET()
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
	dots := 2 * panelsAMX * tileC
	g.unpacked = g.AllocLocal(8)
	memory := g.AllocLocal(64 + dots + blocksAMX*g.bytes)
	g.LEAQ(memory.Offset(63), amxDots)
	g.ANDQ(operand.I8(-64), amxDots) // a cache line's beginning
	g.LEAQ(operand.Mem{Base: amxDots, Disp: dots}, reg.RDI)
	g.MOVQ(reg.RDI, g.unpacked)
	g.LEAQ(operand.Mem{Base: amxDots, Disp: panelsAMX * tileC}, amxBehind)
	g.unpack(reg.RDI)
	g.LEAQ(shapes, reg.RAX)
	configureTiles(g.Context, operand.Mem{Base: reg.RAX})
	g.Load(g.Param("k"), cursorQ.stride)
	g.MOVQ(cursorQ.stride, cursorD.stride)
	g.SHRQ(operand.U8(3), cursorD.stride)
	g.LEAQ(operand.Mem{Base: cursorD.stride, Index: cursorD.stride, Scale: 2}, cursorD.stride3)
	g.MOVL(operand.U32(64), amxLine.As32())
}

// unpack generates the loop that unpacks the blocks to dst.
func (g *tileAMX) unpack(dst reg.GPPhysical) {
	w, scales, panel := reg.RAX, reg.RSI, reg.RDX
	g.Load(g.Param("w"), w)
	g.Load(g.Param("scales"), scales)
	g.Load(g.Param("panelBytes"), panel)
	g.Load(g.Param("blocks"), regBlocks)
	g.constant(g.vec(2), 0x0f0f0f0f)
	g.constant(g.vec(3), g.offset)
	g.Label("unpack")
	for p := range panelsAMX {
		from := func(base reg.Register, disp int) operand.Mem {
			m := operand.Mem{Base: base, Disp: disp}
			if p > 0 {
				m.Index, m.Scale = panel, 1
			}
			return m
		}
		g.unpackPanel(func(line int) operand.Mem { return from(w, 64*line) }, operand.Mem{Base: dst, Disp: 8 * 64 * p})
		for i := range g.scales {
			g.loadScales(format32{powers: g.powers}, from(scales, 32*i), g.vec(0))
			g.VMOVUPS(g.vec(0), operand.Mem{Base: dst, Disp: linesAMX + 64*(panelsAMX*i+p)})
		}
	}
	g.ADDQ(operand.U32(g.quantsOfBlock), w)
	g.ADDQ(operand.U8(g.scaleBytes), scales)
	g.ADDQ(operand.U32(g.bytes), dst)
	g.DECQ(regBlocks)
	g.JNE(operand.LabelRef("unpack"))
}

// unpackPanel unpacks a panel's quants to eight lines. The mask is in register 2, the offset in 3.
func (g *tileAMX) unpackPanel(line func(i int) operand.Mem, to operand.Mem) {
	low, high, mask, offset := g.vec(0), g.vec(1), g.vec(2), g.vec(3)
	if g.source == fromBytes {
		for j := range 8 {
			g.load(line(j), low)
			g.VMOVDQU32(low, to.Offset(64*j))
		}
		return
	}
	fifths, table, scratch := g.vec(4), g.vec(4), g.vec(5)
	switch g.source {
	case fromFive:
		g.load(line(4), fifths)
	case fromTable:
		g.load(g.constants.values, table)
	case fromFP4:
		g.load(g.constants.fp4, table)
	}
	for j := range 4 {
		g.load(line(j), low)
		g.VPSRLW(operand.U8(4), low, high)
		for half, v := range []reg.VecPhysical{low, high} {
			at := 4*half + j
			g.and(mask, v, v)
			switch g.source {
			case fromFive:
				g.VPSHUFB(g.constants.fifths[at/2], fifths, scratch)
				g.addFifth(at, scratch, scratch, v)
			case fromTable, fromFP4:
				g.VPSHUFB(v, table, v)
			}
			if g.offset > 0 {
				g.VPSUBB(offset, v, v)
			}
			g.VMOVDQU32(v, to.Offset(64*at))
		}
	}
}

// multiplyBlocks generates the loop over the blocks, and what goes before and after it.
func (g *tileAMX) multiplyBlocks() {
	g.multiply(0, 0, 0)
	g.multiply(0, 1, 0)
	g.nextBlock()
	g.JE(operand.LabelRef("one"))
	g.multiply(1, 0, g.bytes)
	g.multiply(1, 1, g.bytes)
	g.store(0)
	g.exchange()
	g.nextBlock()
	g.JE(operand.LabelRef("lastOdd"))

	g.Label("block")
	g.addDots(g.steps(0))
	g.exchange()
	g.nextBlock()
	g.JE(operand.LabelRef("lastEven"))
	g.addDots(g.steps(1))
	g.exchange()
	g.nextBlock()
	g.JNE(operand.LabelRef("block"))

	g.Label("lastOdd")
	g.store(1)
	g.JMP(operand.LabelRef("last"))
	g.Label("one")
	g.store(0)
	g.exchange()
	g.JMP(operand.LabelRef("added"))
	g.Label("lastEven")
	g.store(0)
	g.Label("last")
	g.addDots(nil)
	g.exchange()
	g.Label("added")
	g.addDots(nil)
}

// multiply makes the dot products of a panel in the tiles of a turn, of the block that lies the given number of bytes ahead of amxW.
func (g *tileAMX) multiply(turn, panel, ahead int) {
	a, b, c := tilesA[turn], tilesB[panel], tilesC[turn][panel]
	if panel == 0 {
		loadTile(g.Context, operand.Mem{Base: amxQ, Index: cursorQ.stride, Scale: 1}, a)
	}
	loadTile(g.Context, operand.Mem{Base: amxW, Index: amxLine, Scale: 1, Disp: ahead + 512*panel}, b)
	zeroTile(g.Context, c)
	multiplyTiles(g.Context, a, b, c)
}

// store stores the dot products of a turn.
func (g *tileAMX) store(turn int) {
	for p := range panelsAMX {
		g.storePanel(turn, p)
	}
}

// storePanel stores the dot products of a turn and a panel.
func (g *tileAMX) storePanel(turn, panel int) {
	storeTile(g.Context, tilesC[turn][panel], operand.Mem{Base: amxDots, Index: amxLine, Scale: 1, Disp: panel * tileC})
}

// steps returns what multiplies the tiles of a turn and stores those of the other, in four parts.
func (g *tileAMX) steps(turn int) []func() {
	return []func(){
		func() { g.multiply(turn, 0, 2*g.bytes) },
		func() { g.multiply(turn, 1, 2*g.bytes) },
		func() { g.storePanel(1-turn, 0) },
		func() { g.storePanel(1-turn, 1) },
	}
}

// nextBlock goes to the next block of activations, and sets the flags for whether there is one.
func (g *tileAMX) nextBlock() {
	g.ADDQ(operand.U8(32), amxQ)
	g.DECQ(regBlocks)
}

// exchange exchanges the memory that was written last and the memory that is read next.
func (g *tileAMX) exchange() { g.XCHGQ(amxDots, amxBehind) }

// addDots adds a block to the sums and goes to the next, and does a step before each three tokens.
func (g *tileAMX) addDots(steps []func()) {
	scales, minimums := [2]reg.VecPhysical{g.vec(0), g.vec(1)}, [2]reg.VecPhysical{g.vec(6), g.vec(7)}
	d, dot, scale := g.vec(2), g.vec(3), g.vec(4)
	cursors := []*cursor{cursorD}
	for p := range panelsAMX {
		g.VMOVUPS(operand.Mem{Base: amxW, Disp: linesAMX + 64*p}, scales[p])
		if g.minimum() {
			g.VMOVUPS(operand.Mem{Base: amxW, Disp: linesAMX + 64*(panelsAMX+p)}, minimums[p])
			cursors = []*cursor{cursorD, cursorSums}
		}
	}
	g.forTriples(cursors, func(first, n int) {
		if steps != nil {
			steps[first/3]()
		}
		for t := first; t < first+n; t++ {
			g.VBROADCASTSS(cursorD.row(t, 0), d)
			for p := range panelsAMX {
				g.VCVTDQ2PS(operand.Mem{Base: amxBehind, Disp: p*tileC + 64*t}, dot)
				g.VMULPS(scales[p], d, scale)
				g.VFMADD231PS(scale, dot, g.sumOf(t, p))
			}
			if !g.minimum() {
				continue
			}
			g.VCVTDQ2PS_BCST(cursorSums.row(t, 0), dot)
			for p := range panelsAMX {
				g.VMULPS(minimums[p], d, scale)
				g.VFMADD231PS(scale, dot, g.sumOf(t, p))
			}
		}
	})
	g.ADDQ(operand.U32(g.bytes), amxW)
	for _, c := range cursors {
		g.ADDQ(operand.U8(4), c.at)
	}
}

// sumOf returns the register of a token's sums with a panel.
func (g *tileAMX) sumOf(t, panel int) reg.VecPhysical { return g.sum(panelsAMX*t + panel) }

// forOut calls do for each token, with amxOut at its row.
func (g *tile) forOut(do func(t int)) {
	stride := amxW // not in use
	g.Load(g.Param("out"), amxOut)
	g.Load(g.Param("stride"), stride)
	for t := range g.tokens {
		do(t)
		if t+1 < g.tokens {
			g.LEAQ(operand.Mem{Base: amxOut, Index: stride, Scale: 4}, amxOut)
		}
	}
}

// loadOut loads the sums, zeros at first.
func (g *tileAMX) loadOut() {
	g.CMPQ(g.argument("first"), operand.U8(0))
	g.JEQ(operand.LabelRef("goOn"))
	for i := range panelsAMX * g.tokens {
		g.zero(g.sum(i))
	}
	g.JMP(operand.LabelRef("begun"))
	g.Label("goOn")
	g.forOut(func(t int) {
		for p := range panelsAMX {
			g.VMOVUPS(operand.Mem{Base: amxOut, Disp: 64 * p}, g.sumOf(t, p))
		}
	})
	g.MOVQ(g.unpacked, amxW)
	g.Label("begun")
}

// storeOut stores the sums.
func (g *tileAMX) storeOut() {
	g.forOut(func(t int) {
		for p := range panelsAMX {
			g.VMOVUPS(g.sumOf(t, p), operand.Mem{Base: amxOut, Disp: 64 * p})
		}
	})
}

// nextTile goes to the next tokens, if there are any.
func (g *tileAMX) nextTile() {
	g.advance("q", cursorQ.stride, tokensAMX)
	g.advance("d", cursorD.stride, tokensAMX)
	g.advance("sums", cursorD.stride, tokensAMX)
	g.Load(g.Param("stride"), reg.RAX)
	g.advance("out", reg.RAX, 4*tokensAMX)
	g.DECQ(g.argument("tiles"))
	g.JNE(operand.LabelRef("tile"))
}

// advance adds a stride, some times, to an argument.
func (g *tile) advance(argument string, stride reg.GPPhysical, times int) {
	step := amxQ // not in use
	g.IMUL3Q(operand.U8(times), stride, step)
	g.ADDQ(step, g.argument(argument))
}
