package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of AMX for a few tokens and formats with blocks of 32: from 9 up to 16 tokens, as many as a tile has rows, so that one pass over
// the weights serves all of them. How many there are is known only when a kernel runs. It makes the tiles as high as the tokens' number, and
// leaves out the sums of those that are missing.
//
// The weights come from memory, and are asked for ahead. They are worked through in chunks of two blocks of two panels. While a chunk is unpacked,
// multiplied and stored, the dot products of the chunk in front of it are added to the sums, as in the kernels for many tokens. The sums stand
// in out; within a chunk those of one token are in registers.
//
// Tried, and no faster: zeroing tiles by TILELOADD instead of TILEZERO, unpacking a chunk one more turn of the loop ahead, unpacking 32 blocks
// first and multiplying them as kernels for many tokens do, and requests as ahead.go has them.
//
// A call of 5 blocks:
//
//	multiply blocks 0 and 1
//	multiply blocks 2 and 3, add blocks 0 and 1
//	add blocks 2 and 3
//	multiply block 4, add block 4

const (
	fewestAMX    = 9 // tokens
	tokensFewAMX = 16
	chunkFewAMX  = 2 // blocks
)

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
	tilesFewA = [2]int{0, 7}                             // 32 bytes for each token
	tilesFewB = [panelsAMX]int{1, 2}                     // 8 rows of 64 bytes
	tilesFewC = [panelsAMX * chunkFewAMX]int{3, 4, 5, 6} // 64 bytes for each token
)

// tileFewAMX generates a kernel for a few tokens.
type tileFewAMX struct {
	tile
	formatAMX
	chunks, rest operand.Mem // chunks, and then a single block, that are still to be added
	bytesOfOut   operand.Mem // from a token's sums to those of the next
	dAt          operand.Mem // fewD while the tokens are walked through
	sumsAt       operand.Mem // the activations' sums of the chunk that is added
}

// The general registers. While the tokens are walked through, fewD, fewOut and fewSums are at one token's row.
var (
	fewW, fewScales, fewPanel = reg.RAX, reg.RBX, reg.RDX // of the chunk that is multiplied; bytes of a panel
	fewSecond                 = reg.RCX                   // the same weights in the second panel
	fewQ, fewK                = reg.RSI, reg.R8           // of the chunk that is multiplied, and bytes from a row to the next
	fewWrite, fewRead         = reg.R10, reg.R11          // the buffers of the chunk that is multiplied, and of that which is added
	fewD, fewStride           = reg.RDI, reg.R9           // of the chunk that is added, and bytes from a row to the next
	fewSums, fewOut           = reg.R15, reg.R12          // likewise; the sums
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
	g.JEQ(operand.LabelRef("rest"))
	g.multiply(chunkFewAMX)
	g.Label("chunk")
	g.XCHGQ(fewWrite, fewRead)
	g.DECQ(g.chunks)
	g.JEQ(operand.LabelRef("last"))
	g.addDots(chunkFewAMX, g.products(chunkFewAMX), "added")
	g.next(chunkFewAMX)
	g.JMP(operand.LabelRef("chunk"))
	g.Label("last")
	g.addDots(chunkFewAMX, nil, "lastAdded")

	g.Label("rest")
	g.CMPQ(g.rest, operand.U8(0))
	g.JEQ(operand.LabelRef("end"))
	g.multiply(1)
	g.XCHGQ(fewWrite, fewRead)
	g.addDots(1, nil, "restAdded")
	g.Label("end")
	releaseTiles(c)
	g.VZEROUPPER()
	g.RET()
}

// start fills the registers, sets the shapes of the tiles, and clears the sums before the first chunk.
func (g *tileFewAMX) start(shapes operand.Mem) {
	for _, m := range []*operand.Mem{&g.chunks, &g.rest, &g.bytesOfOut, &g.dAt, &g.sumsAt} {
		*m = g.AllocLocal(8)
	}
	memory := g.AllocLocal(64 + 2*bufferFewAMX)
	g.LEAQ(memory.Offset(63), fewWrite)
	g.ANDQ(operand.I8(-64), fewWrite) // a cache line's beginning
	g.LEAQ(operand.Mem{Base: fewWrite, Disp: bufferFewAMX}, fewRead)

	g.VMOVDQU32(shapes, g.vec(0))
	g.VMOVDQU32(g.vec(0), operand.Mem{Base: fewWrite})
	g.Load(g.Param("tokens"), reg.RAX)
	for _, t := range append(tilesFewC[:], tilesFewA[:]...) {
		g.MOVB(reg.AL, operand.Mem{Base: fewWrite, Disp: 48 + t})
	}
	configureTiles(g.Context, operand.Mem{Base: fewWrite})

	rest, chunks := reg.RCX, reg.RAX
	g.Load(g.Param("blocks"), chunks)
	g.MOVQ(chunks, rest)
	g.ANDQ(operand.U8(chunkFewAMX-1), rest)
	g.MOVQ(rest, g.rest)
	g.SHRQ(operand.U8(chunkFewAMX/2), chunks)
	g.MOVQ(chunks, g.chunks)
	g.Load(g.Param("stride"), reg.RAX)
	g.SHLQ(operand.U8(2), reg.RAX)
	g.MOVQ(reg.RAX, g.bytesOfOut)
	g.Load(g.Param("sums"), reg.RAX)
	g.MOVQ(reg.RAX, g.sumsAt)
	g.Load(g.Param("w"), fewW)
	g.Load(g.Param("scales"), fewScales)
	g.Load(g.Param("panelBytes"), fewPanel)
	g.LEAQ(operand.Mem{Base: fewW, Index: fewPanel, Scale: 1}, fewSecond)
	g.Load(g.Param("q"), fewQ)
	g.Load(g.Param("d"), fewD)
	g.Load(g.Param("k"), fewK)
	g.MOVQ(fewK, fewStride)
	g.SHRQ(operand.U8(3), fewStride)

	g.CMPQ(g.argument("first"), operand.U8(0))
	g.JEQ(operand.LabelRef("begun"))
	tokens := fewSums // not in use
	g.Load(g.Param("tokens"), tokens)
	g.Load(g.Param("out"), fewOut)
	g.zero(g.vec(0))
	g.Label("clear")
	for p := range panelsAMX {
		g.VMOVUPS(g.vec(0), operand.Mem{Base: fewOut, Disp: 64 * p})
	}
	g.ADDQ(g.bytesOfOut, fewOut)
	g.DECQ(tokens)
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

// multiply makes the dot products of some blocks, and goes to the next ones.
func (g *tileFewAMX) multiply(blocks int) {
	for _, do := range g.products(blocks) {
		do()
	}
	g.next(blocks)
}

// next goes to the blocks behind some that were multiplied.
func (g *tileFewAMX) next(blocks int) {
	g.ADDQ(operand.U32(g.quantsOfBlock*blocks), fewW)
	g.ADDQ(operand.U32(g.quantsOfBlock*blocks), fewSecond)
	g.ADDQ(operand.U32(32*g.scales*blocks), fewScales)
	g.ADDQ(operand.U32(32*blocks), fewQ)
}

// products returns what unpacks some blocks, makes their dot products and stores them, in parts: a block of a panel is unpacked before the one in
// front of it is multiplied, and stored after the one behind it is.
func (g *tileFewAMX) products(blocks int) (parts []func()) {
	n := panelsAMX * blocks
	for i := range n + 2 {
		if i < n {
			parts = append(parts, func() { g.ask(i) }, func() { g.unpack(i) })
		}
		if 0 < i && i <= n {
			parts = append(parts, func() { g.product(i - 1) })
		}
		if i > 1 {
			parts = append(parts, func() { g.store(i - 2) })
		}
	}
	return parts
}

// product makes dot products i of a chunk: those of a block and a panel.
func (g *tileFewAMX) product(i int) {
	b, p := i/panelsAMX, i%panelsAMX
	if p == 0 {
		loadTile(g.Context, operand.Mem{Base: fewQ, Index: fewK, Scale: 1, Disp: 32 * b}, tilesFewA[b])
	}
	from := operand.Mem{Base: fewWrite, Index: amxLine, Scale: 1, Disp: 512 * i}
	if !g.nibbles() {
		from.Base, from.Disp = []reg.Register{fewW, fewSecond}[p], g.quantsOfBlock*b
	}
	loadTile(g.Context, from, tilesFewB[p])
	zeroTile(g.Context, tilesFewC[i])
	multiplyTiles(g.Context, tilesFewA[b], tilesFewB[p], tilesFewC[i])
}

// store stores dot products i of a chunk.
func (g *tileFewAMX) store(i int) {
	storeTile(g.Context, tilesFewC[i], operand.Mem{Base: fewWrite, Index: amxLine, Scale: 1, Disp: dotsFewAMX + 64*tokensFewAMX*i})
}

// ask asks the cache for blocks to come.
func (g *tileFewAMX) ask(i int) {
	b, p := i/panelsAMX, i%panelsAMX
	for line := 0; line < g.quantsOfBlock; line += 64 {
		g.PREFETCHT0(g.inPanel(fewW, p, prefetchFewAMX+g.quantsOfBlock*b+line))
	}
	if b%(2/g.scales) == 0 { // a line has the scales of two blocks, or with minimums of one
		g.PREFETCHT0(g.inPanel(fewScales, p, prefetchFewAMX/4+32*g.scales*b))
	}
}

// unpack unpacks a block of a panel: its nibbles, scales and minimums.
func (g *tileFewAMX) unpack(i int) {
	b, p := i/panelsAMX, i%panelsAMX
	nibbles, quants := g.vec(5), g.vec(6)
	for line := range 4 {
		if !g.nibbles() {
			break
		}
		g.load(g.inPanel(fewW, p, 256*b+64*line), nibbles)
		for half, bits := range nibblesFewAMX {
			g.takeNibbles(&g.tile, bits, nibbles, quants)
			g.VMOVDQU32(quants, operand.Mem{Base: fewWrite, Disp: 512*i + 64*(4*half+line)})
		}
	}
	for j, at := range []int{scalesFewAMX, minimumsFewAMX}[:g.scales] {
		g.VCVTPH2PS(g.inPanel(fewScales, p, 32*(g.scales*b+j)), nibbles)
		g.VMOVUPS(nibbles, operand.Mem{Base: fewWrite, Disp: at + 64*i})
	}
}

// addDots adds the dot products of some blocks to the sums. The tokens that are always there take turns with parts of something else. The label
// is that of the place behind.
func (g *tileFewAMX) addDots(blocks int, parts []func(), label string) {
	from := func(at int) func(i int) operand.Mem {
		return func(i int) operand.Mem { return operand.Mem{Base: fewRead, Disp: at + 64*i} }
	}
	g.loadScalesAMX(&g.tile, blocks, from(scalesFewAMX), from(minimumsFewAMX))
	g.MOVQ(fewD, g.dAt)
	if g.minimum() {
		g.MOVQ(g.sumsAt, fewSums)
	}
	g.Load(g.Param("out"), fewOut)
	done := 0
	for t := range tokensFewAMX {
		for ; done < len(parts) && done*fewestAMX < len(parts)*(t+1); done++ {
			parts[done]()
		}
		if t >= fewestAMX {
			g.CMPQ(g.argument("tokens"), operand.U8(t))
			g.JEQ(operand.LabelRef(label))
		}
		g.addChunk(&g.tile, blocks, chunkOfToken{
			total:  func(p int) operand.Mem { return operand.Mem{Base: fewOut, Disp: 64 * p} },
			d:      func(b int) operand.Mem { return operand.Mem{Base: fewD, Disp: 4 * b} },
			quants: func(b int) operand.Mem { return operand.Mem{Base: fewSums, Disp: 4 * b} },
			dot:    func(i int) operand.Mem { return from(dotsFewAMX + 64*t)(tokensFewAMX * i) },
		})
		if t+1 == tokensFewAMX {
			break
		}
		g.ADDQ(fewStride, fewD)
		if g.minimum() {
			g.ADDQ(fewStride, fewSums)
		}
		g.ADDQ(g.bytesOfOut, fewOut)
	}
	g.Label(label)
	g.MOVQ(g.dAt, fewD)
	g.ADDQ(operand.U8(4*blocks), fewD)
	if g.minimum() {
		g.ADDQ(operand.U8(4*blocks), g.sumsAt)
	}
}
