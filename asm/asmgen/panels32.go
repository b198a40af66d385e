package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// format32 describes a format with blocks of 32: its quants are unsigned after unpack, and offset/2^… was added to them.
type format32 struct {
	name    string
	quants  int  // bytes of a block's quants in the panel
	scales  int  // bytes of a block's scales
	shift   int  // 2^shift was added to each quant to make it unsigned
	minimum bool // a second half scales the sum of the activations
}

var (
	formatQ4_0 = format32{name: "q4_0", quants: 256, scales: 32, shift: 3}
	formatQ4_1 = format32{name: "q4_1", quants: 256, scales: 64, minimum: true}
	formatQ8_0 = format32{name: "q8_0", quants: 512, scales: 32, shift: 7}
)

// prefetchAhead is how many bytes ahead of a single token's reads the quants are asked for: the processor's own
// prefetchers stop at each page's end.
const prefetchAhead = 2048

// The vector registers of a tile for blocks of 32. Eight have the quants of the block, four bytes of each row in each; the
// sums of the tokens come down from the last register.
const (
	vecScale = 8 + iota
	vecMin
	vecOnes // 1 in each 16 bits
	vecMask // 15 in each byte
	vecT0
	vecT1
	vecT2
)

// generate32 generates a tile for a format with blocks of 32:
//
//	for each block: sum[t] += (w.d · a[t].d) · Σ w.q·a[t].q, and the minimum's part
func generate32(c *build.Context, u panelUnit, f format32, tokens int) {
	g := &tile{Context: c, panelUnit: u, tokens: tokens}
	g.begin(f.name, "	out[t·stride + r] = Σ (w[r].d·d[t]) · Σ w[r].q·q[t]   over the blocks, in order")
	g.loadArguments(8)
	g.clearSums()
	g.constant(g.vec(vecOnes), 0x00010001)
	g.constant(g.vec(vecMask), 0x0f0f0f0f)
	loop := f.name + "block"
	g.Label(loop)
	if tokens == 1 {
		for line := 0; line < f.quants; line += 64 {
			g.PREFETCHT0(operand.Mem{Base: regW, Disp: prefetchAhead + line})
		}
	}
	g.nibbles()
	g.VCVTPH2PS(operand.Mem{Base: regScales}, g.vec(vecScale))
	if f.minimum {
		g.VCVTPH2PS(operand.Mem{Base: regScales, Disp: 32}, g.vec(vecMin))
	}
	cursors := []*cursor{cursorQ, cursorD, cursorSums}
	g.forTokens(cursors, func(t int) {
		g.dot32(t)
		g.subtractOffset(t, f.shift)
		g.addBlock(t)
	})
	g.ADDQ(operand.U32(f.quants), regW)
	g.ADDQ(operand.U8(f.scales), regScales)
	g.ADDQ(operand.U8(32), cursorQ.at)
	g.ADDQ(operand.U8(4), cursorD.at)
	g.ADDQ(operand.U8(4), cursorSums.at)
	g.DECQ(regBlocks)
	g.JNE(operand.LabelRef(loop))
	g.storeSums()
}

// nibbles unpacks four lines of nibbles: register j has elements 4j … 4j+3.
func (g *tile) nibbles() {
	for j := range 4 {
		low, high := g.vec(j), g.vec(4+j)
		g.load(operand.Mem{Base: regW, Disp: 64 * j}, low)
		g.VPSRLW(operand.U8(4), low, high)
		g.and(g.vec(vecMask), low, low)
		g.and(g.vec(vecMask), high, high)
	}
}

// load reads a vector.
func (g *tile) load(m operand.Mem, r reg.VecPhysical) {
	if g.wide {
		g.VMOVDQU32(m, r)
		return
	}
	g.VMOVDQU(m, r)
}

// dot32 leaves Σ of the eight registers of quants with a token's in T0. Pairs of products of quants below 16 and eight of
// their sums stay within 16 bits: 16·15·127 = 30480.
func (g *tile) dot32(t int) {
	sum, product := g.vec(vecT0), g.vec(vecT1)
	for j := range 8 {
		g.VPBROADCASTD(cursorQ.row(t, 4*j), product)
		if j == 0 {
			g.VPMADDUBSW(product, g.vec(j), sum)
			continue
		}
		g.VPMADDUBSW(product, g.vec(j), product)
		g.VPADDW(product, sum, sum)
	}
	g.VPMADDWD(g.vec(vecOnes), sum, sum)
}

// subtractOffset subtracts 2^shift times the sum of the activations from T0.
func (g *tile) subtractOffset(t, shift int) {
	if shift == 0 {
		return
	}
	offset := g.vec(vecT1)
	if g.wide {
		g.VPSLLD_BCST(operand.U8(shift), cursorSums.row(t, 0), offset)
	} else {
		g.VPBROADCASTD(cursorSums.row(t, 0), offset)
		g.VPSLLD(operand.U8(shift), offset, offset)
	}
	g.VPSUBD(offset, g.vec(vecT0), g.vec(vecT0))
}

// addBlock adds a token's integer sum T0, scaled, to its sum.
func (g *tile) addBlock(t int) {
	isum, scale := g.vec(vecT0), g.vec(vecT1)
	g.VCVTDQ2PS(isum, isum)
	if g.wide {
		g.VMULPS_BCST(cursorD.row(t, 0), g.vec(vecScale), scale)
	} else {
		g.VBROADCASTSS(cursorD.row(t, 0), scale)
		g.VMULPS(g.vec(vecScale), scale, scale)
	}
	g.addProduct(t, scale, isum)
}
