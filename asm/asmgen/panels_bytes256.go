package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Quants of blocks of 256, times their inner scales, as bytes, one or two of them, for the kernels of AMX and of panels_pairs.go. Nothing
// is left to do for a block then but one multiplication by its scale. The extreme products:
//
//	Q2_K   3·15 = 45         one byte: 45
//	Q3_K   −4·−32 = 128      one byte: its negative, −128, which the multiplication by the scale takes off instead of adding
//	Q4_K   15·63 = 945       two bytes: 177 and 3, since 945 = 256·3 + 177

// Where things are in a block of some panels, unpacked: for each panel four tiles of low parts, or of all bits, and four of high ones; then
// for each its scale and minimum as float32 and the inner minimums, in pairs of words.
const (
	highOfBytes    = 4 * 1024 // also the bytes of a panel of single bytes
	minimumOfBytes = 64
	innerOfBytes   = 128
	bytesOfScales  = 128 + 64*8 // bytes of a panel's scales
)

// formatBytes256 describes a format as it is unpacked to bytes.
type formatBytes256 struct {
	format256
	of       *formatGroups // nil for those of formats256
	offset   int           // quants are unpacked 2^offset too great; 0: they are not
	pairs    int           // pairs of inner minimums
	folded   bool          // a quant times its inner scale fits in a signed byte
	negative bool          // if it is the negative that fits: −32·−4 is 128, and 31·−4 and −32·3 stand below
}

// formatsBytes256 returns the formats with blocks of 256.
func formatsBytes256() (list []formatBytes256) {
	for _, f := range formats256 {
		list = append(list, bytes256(f))
	}
	for i := range formatsGroups {
		list = append(list, bytesOfGroups(&formatsGroups[i]))
	}
	return list
}

// bytes256 returns how Q4_K, Q5_K or Q6_K is unpacked.
func bytes256(f format256) formatBytes256 {
	if f.decode {
		return formatBytes256{format256: f, pairs: 4}
	}
	return formatBytes256{format256: f, offset: 5}
}

// bytesOfGroups returns how a format with quants in groups of 16 is unpacked.
func bytesOfGroups(of *formatGroups) formatBytes256 {
	f := formatBytes256{format256: of.format256, of: of, offset: of.offset, folded: !of.table, negative: !of.table && !of.minimum}
	if of.minimum {
		f.pairs = 8
	}
	return f
}

// loop returns what a kernel computes.
func (f *formatBytes256) loop() string {
	minimum := ""
	if f.pairs > 0 {
		minimum = ", then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]"
	}
	return "out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i]" + minimum
}

// panelBytes returns the bytes of a panel's block, unpacked, without its scales.
func (f *formatBytes256) panelBytes() int {
	if f.folded {
		return highOfBytes
	}
	return 2 * highOfBytes
}

// bytes returns the bytes of a block of some panels.
func (f *formatBytes256) bytes(panels int) int { return panels * (f.panelBytes() + bytesOfScales) }

// unpacker256 unpacks a format's blocks to bytes. It is a tile of one panel or two.
type unpacker256 struct {
	tile256
	form   formatBytes256
	raised bool        // bytes are raised by 128, which makes them unsigned
	ahead  int         // how many blocks ahead the cache is asked for quants: those of the next call
	block  operand.Mem // how many blocks are still to be unpacked
}

// The general registers of unpacking: the unpacked block, and its scales.
var regUnpack, regUnpackScales = reg.R9, reg.RSI

// The vector registers of unpacking, besides those of tile256.
var (
	lowByte, highByte = reg.Z16, reg.Z17                     // of each word, all ones
	scalesEven        = [2]reg.VecPhysical{reg.Z23, reg.Z24} // inner scales of a run's two groups, in the low byte of each word
	scalesOdd         = [2]reg.VecPhysical{reg.Z25, reg.Z26} // in the high byte
	scalesOffset      = [2]reg.VecPhysical{reg.Z27, reg.Z28} // times what the quants are too great, as words
	oneTwentyEight    = reg.Z29
)

// newUnpackGroups returns what unpacks a format's lines one by one.
func newUnpackGroups(c *build.Context, u panelUnit, f formatBytes256, shared patterns, own patternsGroups, constants patterns32) *tileGroups {
	g := &tileGroups{f: *f.of, own: own, unrolled: true, lines: 4, digits: 1}
	g.tile256 = tile256{tile: tile{Context: c, panelUnit: u, constants: constants, tokens: 1, panels: 1}, format256: f.format256, shared: shared}
	return g
}

// startUnpacking fills the registers that all formats have, and begins the loop over the blocks.
func (g *unpacker256) startUnpacking() {
	g.Load(g.Param("w"), regW)
	g.Load(g.Param("scales"), regUnpackScales)
	g.Load(g.Param("inner"), regInner)
	g.Load(g.Param("panelBytes"), strideOfPanels)
	g.Load(g.Param("blocks"), reg.RCX)
	g.MOVQ(reg.RCX, g.block)
	g.constant(lowByte, 0x00ff00ff)
	g.constant(highByte, 0xff00ff00)
}

// endUnpacking goes to the next block, if there is one.
func (g *unpacker256) endUnpacking() {
	g.ADDQ(operand.U32(g.quantsOfBlock), regW)
	g.ADDQ(operand.U8(g.scales), regUnpackScales)
	g.ADDQ(operand.U32(g.form.bytes(g.panels)), regUnpack)
	g.DECQ(g.block)
	g.JNE(operand.LabelRef("unpack"))
}

// unpackPanels is unpack for a format with quants in groups of 16. A tile unpacks the groups' lines, of one panel or two.
func (g *unpacker256) unpackPanels(groups *tileGroups, panels int) {
	g.startUnpacking()
	if g.raised {
		g.constant(oneTwentyEight, 0x80808080)
	}
	g.Label("unpack")
	for p := range panels {
		groups.f.inner(groups)
		for step := range groups.stepsOfBlock() {
			words := groups.t0
			g.load(groups.scaleAt(step, 0), words)
			g.splitInner(0, words)
			for j := range groups.lines {
				groups.unpackLine(step, j)
				line := groups.lines*step + j
				g.multiplyInner(groups.quant(j, 0), 0, operand.Mem{Base: regUnpack, Disp: p*g.form.panelBytes() + 64*line})
			}
		}
		for at := 0; at < g.quantsOfBlock; at += 64 {
			g.PREFETCHT0(operand.Mem{Base: regW, Disp: g.ahead*g.quantsOfBlock + at}) // of the next call's blocks
		}
		for i := range g.form.pairs {
			g.storePair(p, i, groups.leastAt(i))
		}
		if panels == 1 {
			break
		}
		move := g.ADDQ // to the other panel, and back
		if p > 0 {
			move = g.SUBQ
		}
		move(strideOfPanels, regW)
		move(strideOfPanels, regInner)
	}
	for g.part = range panels {
		g.unpackScales(g.part)
	}
	g.ADDQ(operand.U32(g.format256.inner), regInner)
	g.endUnpacking()
}

// splitInner brings the inner scales of a group, words, in the form in which multiplyInner takes them.
func (g *unpacker256) splitInner(group int, words reg.VecPhysical) {
	g.VPANDD(lowByte, words, scalesEven[group])
	g.VPSLLW(operand.U8(8), words, scalesOdd[group])
	if g.form.offset > 0 {
		g.VPSLLW(operand.U8(uint8(g.form.offset)), words, scalesOffset[group])
	}
}

// multiplyInner multiplies a line with a group's inner scales and stores the products' low and high bytes, or, if the products fit in a
// byte, that. VPMADDUBSW multiplies every other quant, since the scale next to it is zero.
func (g *unpacker256) multiplyInner(quants reg.VecPhysical, group int, to operand.Mem) {
	const orAnd = 0xf8 // first | second & third
	even, odd, low := reg.Z20, reg.Z21, reg.Z22
	g.VPMADDUBSW(scalesEven[group], quants, even)
	g.VPMADDUBSW(scalesOdd[group], quants, odd)
	for _, products := range []reg.VecPhysical{even, odd} {
		switch {
		case g.form.offset == 0:
		case g.form.negative:
			g.VPSUBW(products, scalesOffset[group], products)
		default:
			g.VPSUBW(scalesOffset[group], products, products)
		}
	}
	g.VPSLLW(operand.U8(8), odd, low)
	g.VPTERNLOGD(operand.U8(orAnd), lowByte, even, low)
	if g.raised {
		g.VPXORD(oneTwentyEight, low, low)
	}
	g.VMOVDQU32(low, to)
	if g.form.folded {
		return
	}
	g.VPSRLW(operand.U8(8), even, even)
	g.VPTERNLOGD(operand.U8(orAnd), highByte, odd, even)
	g.VMOVDQU32(even, to.Offset(highOfBytes))
}

// unpackScales unpacks a panel's scales and minimums.
func (g *unpacker256) unpackScales(panel int) {
	g.VCVTPH2PS(g.inPart(operand.Mem{Base: regUnpackScales}, 2), reg.Z20)
	g.VMOVUPS(reg.Z20, g.scalesOf(regUnpack, panel))
	if g.form.pairs > 0 {
		g.VCVTPH2PS(g.inPart(operand.Mem{Base: regUnpackScales, Disp: 32}, 2), reg.Z20)
		g.VMOVUPS(reg.Z20, g.scalesOf(regUnpack, panel).Offset(minimumOfBytes))
	}
}

// storePair copies a pair of a panel's inner minimums.
func (g *unpacker256) storePair(panel, pair int, from operand.Mem) {
	g.VMOVUPS(from, reg.Z20)
	g.VMOVUPS(reg.Z20, g.scalesOf(regUnpack, panel).Offset(innerOfBytes+64*pair))
}

// scalesOf returns the place of a panel's scales in the unpacked block at base.
func (g *unpacker256) scalesOf(base reg.GPPhysical, panel int) operand.Mem {
	return operand.Mem{Base: base, Disp: g.panels*g.form.panelBytes() + bytesOfScales*panel}
}
