package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of AMX for a few tokens and formats with blocks of 32: up to 16 tokens, as many as a tile has rows, so that one pass over the
// weights serves all of them. How many there are is known only when a kernel runs. It makes the tiles as high as the tokens' number, and
// walks through the tokens in a loop, so that the tile unit and the sums take no longer than the tokens need.
//
// The weights come from memory, and are asked for ahead. They are worked through in chunks of a few blocks of two panels. A chunk
// is unpacked and multiplied before the dot products of the chunk in front of it are added to the sums, so that the processor
// can do both at the same time. The sums stand in out; within a chunk those of one token are in registers.
//
// Tried, and no faster: zeroing tiles by TILELOADD instead of TILEZERO, unpacking a chunk one more turn of the loop ahead, unpacking 32 blocks
// first and multiplying them as kernels for many tokens do, and requests as ahead.go has them. With these, 16 threads of a Sapphire Rapids read 51 in place of 43 GB/s for 16 tokens of Q4_0, but no more for 9 and 12, and
// sessions of a whole model gained nothing; with AVX-512 VNNI they read 63 GB/s for 9 tokens (here 58), 54 for 12 (48) and 40 for 16. What bounds
// these kernels are the tile registers: if both threads of a Sapphire Rapids core multiply tiles, each write to a tile takes some 30
// cycles, so that 16 tokens take about as long as with AVX-512 VNNI; next to an idle thread, half of that.
//
// A call of 10 blocks has two chunks of four blocks, and two single blocks:
//
//	multiply blocks 0 to 3
//	multiply blocks 4 to 7, add blocks 0 to 3
//	add blocks 4 to 7
//	multiply block 8, add block 8
//	multiply block 9, add block 9

const (
	tokensFewAMX = 16
	chunkFewAMX  = 1 << chunkBitsFewAMX // blocks
)

const chunkBitsFewAMX = 2

// Where things are in a chunk's buffer: for each block and panel the lines (unless the tile unit can read those of the panel
// itself), the dot products, and the scales and minimums as float32.
const (
	dotsFewAMX     = panelsAMX * chunkFewAMX * 512
	scalesFewAMX   = dotsFewAMX + panelsAMX*chunkFewAMX*64*tokensFewAMX
	minimumsFewAMX = scalesFewAMX + panelsAMX*chunkFewAMX*64
	bufferFewAMX   = minimumsFewAMX + panelsAMX*chunkFewAMX*64
)

// prefetchFewAMX is how many bytes ahead of their reads the quants and scales are asked for.
const prefetchFewAMX = 2048

// The tile registers. Blocks take turns with those of activations and of dot products.
var (
	tilesFewA = [2]int{0, 7}                      // 32 bytes for each token
	tilesFewB = [panelsAMX]int{1, 2}              // 8 rows of 64 bytes
	tilesFewC = [2][panelsAMX]int{{3, 4}, {5, 6}} // 64 bytes for each token
)

// tileFewAMX generates a kernel for a few tokens.
type tileFewAMX struct {
	tile
	formatAMX
	chunks, rest operand.Mem // chunks, and then single blocks, that are still to be added
	bytesOfOut   operand.Mem // from a token's sums to those of the next
	dotsAt, dAt  operand.Mem // fewRead and fewD while the tokens are walked through
	sumsAt       operand.Mem // the activations' sums of the chunk that is added
}

// The general registers. While the tokens are walked through, fewRead, fewD, fewOut and fewSums are at one token's row.
var (
	fewW, fewScales, fewPanel = reg.RAX, reg.RBX, reg.RDX // of the chunk that is multiplied; bytes of a panel
	fewQ, fewK                = reg.RSI, reg.R8           // likewise, and bytes from a row to the next
	fewWrite, fewRead         = reg.R10, reg.R11          // the buffers of the chunk that is multiplied, and of that which is added
	fewD, fewStride           = reg.RDI, reg.R9           // of the chunk that is added, and bytes from a row to the next
	fewSums                   = fewPanel                  // likewise
	fewOut, fewLeft           = reg.R12, reg.RCX          // the sums; how many tokens are left
)

// The vector registers that stay: by what low and high nibbles are unpacked.
var nibblesFewAMX = [2]reg.VecPhysical{reg.Z30, reg.Z31}

// shapesFewAMX writes the shapes of the tile registers, but for the number of tokens.
func shapesFewAMX(c *build.Context) operand.Mem {
	return shapesOf(c, "shapesFewAMX", func(i int) (int, int) {
		switch i {
		case tilesFewA[0], tilesFewA[1]:
			return 0, 32
		case tilesFewB[0], tilesFewB[1]:
			return 8, 64
		}
		return 0, 64
	})
}

// multiplyFewAMX generates a format's kernel.
func multiplyFewAMX(c *build.Context, f formatAMX, shapes operand.Mem) {
	g := &tileFewAMX{tile: tile{Context: c, panelUnit: unitAMX, tokens: tokensFewAMX, panels: 1}, formatAMX: f}
	term := ""
	if f.minimum() {
		term = ", then + (m[b][r]·d[t][b])·sums[t][b]"
	}
	name := f.name + "FewAMX"
	g.Function(name)
	g.SignatureExpr("func(w, scales *byte, panelBytes, blocks int, q *int8, d *float32, sums *int32, tokens, k int, out *float32, stride, first int)")
	g.Pragma("noescape")
	g.Doc(name+" multiplies some blocks of 2 panels with up to 16 rows of activations, see amxFewKernel:", "",
		"\tout[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]"+term)
	g.start(shapes)

	g.CMPQ(g.chunks, operand.U8(0))
	g.JEQ(operand.LabelRef("blocks"))
	g.multiply(chunkFewAMX)
	g.Label("chunk")
	g.XCHGQ(fewWrite, fewRead)
	g.DECQ(g.chunks)
	g.JEQ(operand.LabelRef("add"))
	g.multiply(chunkFewAMX)
	g.Label("add")
	g.addDots(chunkFewAMX, "token")
	g.CMPQ(g.chunks, operand.U8(0))
	g.JNE(operand.LabelRef("chunk"))

	g.Label("blocks")
	g.CMPQ(g.rest, operand.U8(0))
	g.JEQ(operand.LabelRef("end"))
	g.multiply(1)
	g.XCHGQ(fewWrite, fewRead)
	g.addDots(1, "tokenOfBlock")
	g.DECQ(g.rest)
	g.JMP(operand.LabelRef("blocks"))
	g.Label("end")
	releaseTiles(c)
	g.VZEROUPPER()
	g.RET()
}

// start fills the registers, sets the shapes of the tiles, and clears the sums before the first chunk.
func (g *tileFewAMX) start(shapes operand.Mem) {
	for _, m := range []*operand.Mem{&g.chunks, &g.rest, &g.bytesOfOut, &g.dotsAt, &g.dAt, &g.sumsAt} {
		*m = g.AllocLocal(8)
	}
	memory := g.AllocLocal(64 + 2*bufferFewAMX)
	g.LEAQ(memory.Offset(63), fewWrite)
	g.ANDQ(operand.I8(-64), fewWrite) // a cache line's beginning
	g.LEAQ(operand.Mem{Base: fewWrite, Disp: bufferFewAMX}, fewRead)

	g.VMOVDQU32(shapes, g.vec(0))
	g.VMOVDQU32(g.vec(0), operand.Mem{Base: fewWrite})
	g.Load(g.Param("tokens"), reg.RAX)
	for _, t := range []int{tilesFewA[0], tilesFewA[1], tilesFewC[0][0], tilesFewC[0][1], tilesFewC[1][0], tilesFewC[1][1]} {
		g.MOVB(reg.AL, operand.Mem{Base: fewWrite, Disp: 48 + t})
	}
	configureTiles(g.Context, operand.Mem{Base: fewWrite})

	g.Load(g.Param("blocks"), fewLeft)
	g.MOVQ(fewLeft, reg.RAX)
	g.ANDQ(operand.U8(chunkFewAMX-1), fewLeft)
	g.MOVQ(fewLeft, g.rest)
	g.SHRQ(operand.U8(chunkBitsFewAMX), reg.RAX)
	g.MOVQ(reg.RAX, g.chunks)
	g.Load(g.Param("stride"), reg.RAX)
	g.SHLQ(operand.U8(2), reg.RAX)
	g.MOVQ(reg.RAX, g.bytesOfOut)
	g.Load(g.Param("sums"), reg.RAX)
	g.MOVQ(reg.RAX, g.sumsAt)
	g.Load(g.Param("w"), fewW)
	g.Load(g.Param("scales"), fewScales)
	g.Load(g.Param("q"), fewQ)
	g.Load(g.Param("d"), fewD)
	g.Load(g.Param("k"), fewK)
	g.MOVQ(fewK, fewStride)
	g.SHRQ(operand.U8(3), fewStride)

	g.CMPQ(g.argument("first"), operand.U8(0))
	g.JEQ(operand.LabelRef("begun"))
	g.Load(g.Param("tokens"), fewLeft)
	g.Load(g.Param("out"), fewOut)
	g.zero(g.vec(0))
	g.Label("clear")
	for p := range panelsAMX {
		g.VMOVUPS(g.vec(0), operand.Mem{Base: fewOut, Disp: 64 * p})
	}
	g.ADDQ(g.bytesOfOut, fewOut)
	g.DECQ(fewLeft)
	g.JNE(operand.LabelRef("clear"))
	g.Label("begun")
	if g.nibbles() {
		g.loadNibbleBits(&g.tile, nibblesFewAMX[0], nibblesFewAMX[1])
	}
	g.MOVL(operand.U32(64), amxLine.As32())
}

// nibbles reports whether quants are unpacked: the tile unit reads whole bytes from the panel.
func (g *tileFewAMX) nibbles() bool { return g.quantsOfBlock == 256 }

// inPanel returns an address in panel p, given that in the first.
func (g *tileFewAMX) inPanel(base reg.Register, p, disp int) operand.Mem {
	m := operand.Mem{Base: base, Disp: disp}
	if p > 0 {
		m.Index, m.Scale = fewPanel, 1
	}
	return m
}

// multiply unpacks some blocks, makes their dot products and stores them.
func (g *tileFewAMX) multiply(blocks int) {
	g.Load(g.Param("panelBytes"), fewPanel)
	for b := range blocks {
		for p := range panelsAMX {
			for line := 0; line < g.quantsOfBlock; line += 64 {
				g.PREFETCHT0(g.inPanel(fewW, p, prefetchFewAMX+g.quantsOfBlock*b+line))
			}
			if b%(2/g.scales) == 0 { // a line has the scales of two blocks, or with minimums of one
				g.PREFETCHT0(g.inPanel(fewScales, p, prefetchFewAMX/4+32*g.scales*b))
			}
			g.unpack(b, p)
		}
	}
	lines := [panelsAMX]reg.Register{fewW, fewPanel} // in the panels, for quants that are not unpacked
	if !g.nibbles() {
		g.ADDQ(fewW, fewPanel)
	}
	for b := range blocks {
		a := tilesFewA[b%2]
		loadTile(g.Context, operand.Mem{Base: fewQ, Index: fewK, Scale: 1, Disp: 32 * b}, a)
		for p := range panelsAMX {
			i, c := panelsAMX*b+p, tilesFewC[b%2][p]
			from := operand.Mem{Base: fewWrite, Index: amxLine, Scale: 1, Disp: 512 * i}
			if !g.nibbles() {
				from.Base, from.Disp = lines[p], g.quantsOfBlock*b
			}
			loadTile(g.Context, from, tilesFewB[p])
			zeroTile(g.Context, c)
			multiplyTiles(g.Context, a, tilesFewB[p], c)
			storeTile(g.Context, c, operand.Mem{Base: fewWrite, Index: amxLine, Scale: 1, Disp: dotsFewAMX + 64*tokensFewAMX*i})
		}
	}
	g.ADDQ(operand.U32(g.quantsOfBlock*blocks), fewW)
	g.ADDQ(operand.U32(32*g.scales*blocks), fewScales)
	g.ADDQ(operand.U32(32*blocks), fewQ)
}

// unpack unpacks block b of panel p: its nibbles, scales and minimums.
func (g *tileFewAMX) unpack(b, p int) {
	i := panelsAMX*b + p
	for line := range 4 {
		if !g.nibbles() {
			break
		}
		nibbles, quants := g.vec(0), g.vec(1)
		g.load(g.inPanel(fewW, p, 256*b+64*line), nibbles)
		for half, bits := range nibblesFewAMX {
			g.takeNibbles(&g.tile, bits, nibbles, quants)
			g.VMOVDQU32(quants, operand.Mem{Base: fewWrite, Disp: 512*i + 64*(4*half+line)})
		}
	}
	for j, at := range []int{scalesFewAMX, minimumsFewAMX}[:g.scales] {
		g.VCVTPH2PS(g.inPanel(fewScales, p, 32*(g.scales*b+j)), g.vec(0))
		g.VMOVUPS(g.vec(0), operand.Mem{Base: fewWrite, Disp: at + 64*i})
	}
}

// addDots adds the dot products of some blocks to the sums, in a loop over the tokens with the given label.
func (g *tileFewAMX) addDots(blocks int, label string) {
	scale := func(i int) reg.VecPhysical { return g.vec(8 + i) }
	minimum := func(i int) reg.VecPhysical { return g.vec(16 + i) }
	sum := [panelsAMX]reg.VecPhysical{g.vec(0), g.vec(1)}
	d, product, dot := g.vec(2), g.vec(3), g.vec(4)
	for i := range panelsAMX * blocks {
		g.VMOVUPS(operand.Mem{Base: fewRead, Disp: scalesFewAMX + 64*i}, scale(i))
		if g.minimum() {
			g.VMOVUPS(operand.Mem{Base: fewRead, Disp: minimumsFewAMX + 64*i}, minimum(i))
		}
	}
	g.MOVQ(fewRead, g.dotsAt)
	g.MOVQ(fewD, g.dAt)
	if g.minimum() {
		g.MOVQ(g.sumsAt, fewSums)
	}
	g.Load(g.Param("out"), fewOut)
	g.Load(g.Param("tokens"), fewLeft)
	g.Label(label)
	for p := range panelsAMX {
		g.VMOVUPS(operand.Mem{Base: fewOut, Disp: 64 * p}, sum[p])
	}
	for b := range blocks {
		g.VBROADCASTSS(operand.Mem{Base: fewD, Disp: 4 * b}, d)
		for p := range panelsAMX {
			i := panelsAMX*b + p
			g.VMULPS(scale(i), d, product)
			g.VCVTDQ2PS(operand.Mem{Base: fewRead, Disp: dotsFewAMX + 64*tokensFewAMX*i}, dot)
			g.VFMADD231PS(product, dot, sum[p])
		}
		if !g.minimum() {
			continue
		}
		g.VCVTDQ2PS_BCST(operand.Mem{Base: fewSums, Disp: 4 * b}, dot)
		for p := range panelsAMX {
			g.VMULPS(minimum(panelsAMX*b+p), d, product)
			g.VFMADD231PS(product, dot, sum[p])
		}
	}
	for p := range panelsAMX {
		g.VMOVUPS(sum[p], operand.Mem{Base: fewOut, Disp: 64 * p})
	}
	g.ADDQ(operand.U8(64), fewRead)
	g.ADDQ(fewStride, fewD)
	if g.minimum() {
		g.ADDQ(fewStride, fewSums)
	}
	g.ADDQ(g.bytesOfOut, fewOut)
	g.DECQ(fewLeft)
	g.JNE(operand.LabelRef(label))
	g.MOVQ(g.dotsAt, fewRead)
	g.MOVQ(g.dAt, fewD)
	g.ADDQ(operand.U8(4*blocks), fewD)
	if g.minimum() {
		g.ADDQ(operand.U8(4*blocks), g.sumsAt)
	}
}
