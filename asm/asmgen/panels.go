package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of package asm that multiply panels of weights with rows of activations. A panel has 16 rows of weights, each
// in a 32-bit lane of its own; a cache line of quants has four bytes of each row, and meets four bytes of an activation
// broadcast to all lanes. A tile is a panel and some rows of activations ("tokens"): each block of weights is unpacked once
// for all of them.
//
// For example, q4_0AVX512VNNIx8 is the tile of Q4_0 for 8 tokens. Register j has the unpacked quants 4j to 4j+3 of all rows:
//
//	register j          4 bytes of row 0, 4 bytes of row 1, … 4 bytes of row 15
//	token t's operand   its activations 4j to 4j+3, sixteen times
//	VPDPBUSD            lane r of a sum += w[r][4j]·q[t][4j] + … + w[r][4j+3]·q[t][4j+3]

// panelUnit says which instructions a tile may use.
type panelUnit struct {
	name string
	wide bool // 32 registers of 64 bytes, with operands broadcast from memory, rather than 16 of 32 bytes
	vnni bool // VPDPBUSD: that of AVX-512, or, without wide, that of AVX-VNNI
	near bool // tiles for a single token ask the first-level cache, see runBytes
}

var (
	unitAVX2       = panelUnit{name: "AVX2"}
	unitAVXVNNI    = panelUnit{name: "AVXVNNI", vnni: true}
	unitAVX512     = panelUnit{name: "AVX512", wide: true}
	unitAVX512VNNI = panelUnit{name: "AVX512VNNI", wide: true, vnni: true}
	unitNear       = panelUnit{name: "Near", wide: true, vnni: true, near: true}
)

// The general registers of a tile. Rows of activations are reached through cursors, one for each of their three arrays,
// that move three rows at a time: a cursor and a stride address three rows.
var (
	regW, regScales, regBlocks = reg.RAX, reg.RBX, reg.RCX
	cursorQ                    = &cursor{at: reg.RSI, stride: reg.R8, stride3: reg.R9}
	cursorD                    = &cursor{at: reg.RDI, stride: reg.R10, stride3: reg.R11}
	// With several panels there is one token, and its cursors need no strides.
	strideOfPanels, stride3OfPanels = cursorQ.stride, cursorQ.stride3

	cursorSums = &cursor{at: reg.RDX, stride: reg.R10, stride3: reg.R11}
)

// cursor addresses the rows of an array.
type cursor struct {
	at, stride, stride3 reg.GPPhysical
	ahead               int // bytes between the register and the block that code is being generated for
}

// row returns the address of byte disp of row t, after the cursor was moved to the three rows that t belongs to.
func (c *cursor) row(t, disp int) operand.Mem {
	m := operand.Mem{Base: c.at, Disp: c.ahead + disp}
	if t%3 > 0 {
		m.Index, m.Scale = c.stride, uint8(t%3)
	}
	return m
}

// tile generates one kernel.
type tile struct {
	Context
	panelUnit
	tokens int
	panels int         // 1; a tile for one token may take more, and so read memory in several places at once
	both   bool        // of a single panel it takes all rows, also if they are more than a registerful
	part   int         // which registerful of rows, of those of all panels, code is being generated for
	block  int         // which block behind the registers: not 0 in a run only
	spill  bool        // the tokens' sums are in memory: there are too few registers
	sums   operand.Mem // where
	vectors32
	constants patterns32
}

// vec returns vector register i.
func (g *tile) vec(i int) reg.VecPhysical {
	if g.wide {
		return zmm[i]
	}
	return ymm[i]
}

var (
	zmm = [...]reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}
	ymm = [...]reg.VecPhysical{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
	}
)

// constant puts a 32-bit value into all lanes of a register.
func (g *tile) constant(r reg.VecPhysical, v uint32) {
	g.MOVL(operand.U32(v), reg.R13L)
	g.VMOVD(reg.R13L, r.AsX())
	g.VPBROADCASTD(r.AsX(), r)
}

// and sets dst = a & b.
func (g *tile) and(a, b operand.Op, dst reg.Register) {
	if g.wide {
		g.VPANDD(a, b, dst)
		return
	}
	g.VPAND(a, b, dst)
}

// or sets dst = a | b.
func (g *tile) or(a, b operand.Op, dst reg.Register) {
	if g.wide {
		g.VPORD(a, b, dst)
		return
	}
	g.VPOR(a, b, dst)
}

// exclusiveOr sets dst = a ^ b.
func (g *tile) exclusiveOr(a, b operand.Op, dst reg.Register) {
	if g.wide {
		g.VPXORD(a, b, dst)
		return
	}
	g.VPXOR(a, b, dst)
}

// zero clears a register.
func (g *tile) zero(r reg.VecPhysical) { g.exclusiveOr(r, r, r) }

// sum returns the register of a token's sum, where those are registers.
func (g *tile) sum(t int) reg.VecPhysical {
	if g.wide {
		return g.vec(31 - t)
	}
	return g.vec(15 - t)
}

// width returns the bytes of a vector register.
func (g *tile) width() int {
	if g.wide {
		return 64
	}
	return 32
}

// rows returns how many rows of weights a register has.
func (g *tile) rows() int { return g.width() / 4 }

// clearSums sets the sums to zero: one for each token, or for each part.
func (g *tile) clearSums() {
	if !g.spill {
		for t := range g.tokens * g.parts() {
			g.zero(g.sum(t))
		}
		return
	}
	g.sums = g.AllocLocal(g.width() * g.tokens * g.parts())
	g.zero(g.vec(0))
	for t := range g.tokens * g.parts() {
		g.VMOVUPS(g.vec(0), g.sums.Offset(g.width()*t))
	}
}

// addProduct adds a·b to sum i, fused.
func (g *tile) addProduct(i int, a, b reg.VecPhysical) {
	if !g.spill {
		g.VFMADD231PS(a, b, g.sum(i))
		return
	}
	g.VFMADD213PS(g.sums.Offset(g.width()*i), a, b)
	g.VMOVUPS(b, g.sums.Offset(g.width()*i))
}

// halves returns how many vectors the rows of a panel take.
func (g *tile) halves() int { return 16 / g.rows() }

// parts returns how many vectors of rows the tile has. Of a single panel it may have one only: the callers see to the other.
func (g *tile) parts() int {
	if g.panels == 1 && !g.both {
		return 1
	}
	return g.panels * g.halves()
}

// inPart returns an address in the part that code is being generated for, given the address in the first part. A row has rowBytes bytes.
func (g *tile) inPart(m operand.Mem, rowBytes int) operand.Mem {
	m.Disp += g.part % g.halves() * g.rows() * rowBytes
	switch panel := g.part / g.halves(); panel {
	case 1, 2:
		m.Index, m.Scale = strideOfPanels, uint8(panel)
	case 3:
		m.Index, m.Scale = stride3OfPanels, 1
	}
	return m
}

// storeSums writes the sums to the rows of out, one for each token, or to one row, side by side.
func (g *tile) storeSums() {
	out, stride := reg.RSI, reg.R8
	g.Load(g.Param("out"), out)
	if g.panels == 1 {
		g.Load(g.Param("stride"), stride)
	}
	for t := range g.tokens {
		for part := range g.parts() {
			i, sum := t*g.parts()+part, g.vec(0)
			if !g.spill {
				sum = g.sum(i)
			} else {
				g.VMOVUPS(g.sums.Offset(g.width()*i), sum)
			}
			g.VMOVUPS(sum, operand.Mem{Base: out, Disp: g.width() * part})
		}
		if t+1 < g.tokens {
			g.LEAQ(operand.Mem{Base: out, Index: stride, Scale: 4}, out)
		}
	}
	g.VZEROUPPER()
	g.RET()
}

// loadArguments fills the general registers. The strides of the scales and the sums are k/scaleDiv bytes.
func (g *tile) loadArguments(scaleDiv int) {
	g.Load(g.Param("w"), regW)
	g.Load(g.Param("scales"), regScales)
	g.Load(g.Param("blocks"), regBlocks)
	g.Load(g.Param("q"), cursorQ.at)
	g.Load(g.Param("d"), cursorD.at)
	g.Load(g.Param("sums"), cursorSums.at)
	g.loadPanelStride()
	if g.tokens == 1 {
		return
	}
	g.Load(g.Param("k"), cursorQ.stride)
	g.MOVQ(cursorQ.stride, cursorD.stride)
	shift := 0
	for 1<<shift < scaleDiv {
		shift++
	}
	g.SHRQ(operand.U8(shift), cursorD.stride)
	for _, c := range []*cursor{cursorQ, cursorD} {
		if g.tokens > 3 {
			g.LEAQ(operand.Mem{Base: c.stride, Index: c.stride, Scale: 2}, c.stride3)
		}
	}
}

// argument returns an argument's place in memory.
func (g *tile) argument(name string) operand.Mem {
	b, err := g.Param(name).Resolve()
	if err != nil {
		panic(err) // a mistake in this program
	}
	return b.Addr
}

// loadPanelStride fills the registers that lead to further panels.
func (g *tile) loadPanelStride() {
	if g.panels > 1 {
		g.Load(g.Param("panelBytes"), strideOfPanels)
		g.LEAQ(operand.Mem{Base: strideOfPanels, Index: strideOfPanels, Scale: 2}, stride3OfPanels)
	}
}

// forTokens calls do for each token, with the cursors at its three rows, and puts the cursors back.
func (g *tile) forTokens(cursors []*cursor, do func(t int)) {
	g.forTriples(cursors, func(first, n int) {
		for t := range n {
			do(first + t)
		}
	})
}

// forTriples calls do for each three tokens, or the last ones, with the cursors at their rows, and puts the cursors back.
func (g *tile) forTriples(cursors []*cursor, do func(first, n int)) {
	for first := 0; first < g.tokens; first += 3 {
		if first > 0 {
			for _, c := range cursors {
				g.ADDQ(c.stride3, c.at)
			}
		}
		do(first, min(3, g.tokens-first))
	}
	for range (g.tokens - 1) / 3 {
		for _, c := range cursors {
			g.SUBQ(c.stride3, c.at)
		}
	}
}

// dotTriple leaves in dots the sums of products of eight registers of unsigned bytes with the quants of tokens, from first on, one
// token for each register of dots. A token's instructions wait for each other, so the tokens take turns.
func (g *tile) dotTriple(dots []reg.VecPhysical, first int) {
	for j := range 8 {
		for i, dot := range dots {
			q := cursorQ.row(first+i, 4*j)
			if g.wide {
				g.VPDPBUSD_BCST(q, g.vec(j), dot)
				continue
			}
			g.VPBROADCASTD(q, g.t1)
			multiplyUnsigned(g.Context, g.t1, g.vec(j), dot)
		}
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

// scaleBy sets dst to x times a float in memory.
func (g *tile) scaleBy(m operand.Mem, x, dst reg.VecPhysical) {
	if g.wide {
		g.VMULPS_BCST(m, x, dst)
		return
	}
	g.VBROADCASTSS(m, dst)
	g.VMULPS(x, dst, dst)
}

// begin starts the function of a format.
func (g *tile) begin(format, loop string) {
	rows := fmt.Sprintf("%d rows of weights", g.rows()*g.parts())
	name, form := fmt.Sprintf("%s%sx%d", format, g.name, g.tokens), "panels.BlockKernel"
	signature := "func(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)"
	if g.panels > 1 {
		name, form = fmt.Sprintf("%sx%d", name, g.panels), "singleKernel"
		rows = fmt.Sprintf("%d panels", g.panels)
		signature = "func(w, scales, inner *byte, panelBytes, next, blocks int, q *int8, d *float32, sums *int32, out *float32)"
	}
	g.Function(name)
	g.SignatureExpr(signature)
	g.Pragma("noescape")
	g.Doc(fmt.Sprintf("%s multiplies %s with %d of activations, see %s:", name, rows, g.tokens, form), "", "\t"+loop)
}

// beginChunk starts the function of a format that multiplies some blocks of several panels.
func (g *tile) beginChunk(format, kind, loop string) {
	name := format + kind + g.name
	g.Function(name)
	g.SignatureExpr("func(w, scales, inner *byte, panelBytes, panels, blocks int, q *int8, d *float32, sums *int32, tokens, k int, out *float32, stride, first, next, nextScales int)")
	g.Pragma("noescape")
	g.Doc(name+" multiplies some blocks of several panels with several rows of activations, see chunkKernel:", "", "\t"+loop)
}

// loop returns what a chunk of the format computes.
func (f *format32) loop() string {
	term := ""
	if f.minimum {
		term = ", then + (m[b][r]·d[t][b])·sums[t][b]"
	}
	return "out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]" + term
}

// panelsAVX2 generates the tiles of AVX2, FMA and F16C.
func panelsAVX2(c *build.Context) { generatePanels(c, unitAVX2) }

// panelsAVXVNNI generates the tiles of AVX-VNNI.
func panelsAVXVNNI(c *build.Context) { generatePanels(c, unitAVXVNNI) }

// panelsAVX512 generates the tiles of AVX-512 F, BW, VL and DQ.
func panelsAVX512(c *build.Context) { generatePanels(c, unitAVX512) }

// panelsAVX512VNNI generates the tiles of AVX-512 VNNI.
func panelsAVX512VNNI(c *build.Context) { generatePanels(c, unitAVX512VNNI) }

// panelsOfSingle is how many panels a tile for a single token takes: one core reads memory a fifth faster in four places
// than in one.
const panelsOfSingle = 4

// generatePanels generates the tiles of a unit.
func generatePanels(c *build.Context, u panelUnit) {
	constants := newPatterns32(c, u)
	for _, f := range formats32(u) {
		tiles := tokensOf(u)
		if !u.wide {
			generateMany(c, u, f, constants)
			generateFew(c, u, f, constants)
			tiles = []int{1}
		}
		for _, tokens := range tiles {
			if tokens == 12 && f.vectors > 8 {
				continue // there are too few registers
			}
			generate32(c, u, f, constants, 1, tokens)
		}
		if u == unitAVX512VNNI {
			generatePairs32(c, u, f, constants)
		}
		generate32(c, u, f, constants, panelsOfSingle, 1)
	}
	if !u.vnni {
		generateFloats(c, u) // VNNI adds nothing
	}
	shared := newPatterns(c, u)
	var bits operand.Mem
	if both256(u) {
		bits = bitTable(c, u)
	}
	for _, f := range formats256 {
		if u == unitAVXVNNI && !f.decode {
			continue // that adds nothing
		}
		var table operand.Mem
		if !both256(u) {
			table = runTable(c, u, f)
		}
		for _, tokens := range tokensOf256(u) {
			if both256(u) {
				generateNarrow256(c, u, f, shared, bits, tokens)
			} else {
				generate256(c, u, f, shared, table, tokens)
			}
		}
		if u == unitAVX512VNNI {
			generatePairs256(c, u, bytes256(f), shared, table)
		}
		generateSingle256(c, u, f, shared, 1)
		generateSingle256(c, u, f, shared, panelsOfSingle)
	}
	own := newPatternsGroups(c, u)
	for _, f := range formatsGroups {
		if u == unitAVXVNNI && !f.table {
			continue // a slow multiplication for each group takes what VPDPBUSD saves
		}
		generateGroups(c, u, f, shared, own, constants)
	}
	if u == unitAVX512VNNI {
		generatePairsGroups(c, u, shared, own, constants)
	}
}

// generateFloats generates the tiles of a unit for the float formats.
func generateFloats(c *build.Context, u panelUnit) {
	tokens := []int{6, 4, 2, 1}
	if u.wide {
		tokens = []int{16, 12, 8, 4, 2, 1}
	}
	for _, f := range formatsFloat {
		for _, n := range tokens {
			generateFloat(c, u, f, 1, n)
		}
		generateFloat(c, u, f, panelsOfSingle, 1)
	}
}

// tokensOf returns the sizes of a unit's tiles.
func tokensOf(u panelUnit) []int {
	if u.wide {
		return []int{12, 8, 6, 4, 3, 2, 1}
	}
	return []int{8, 4, 2, 1}
}

// tokensOf256 returns the sizes of a unit's tiles for blocks of 256, but for those of a single token. Unpacking takes as long as some
// tokens' products, so that few tokens are not cut in pieces.
func tokensOf256(u panelUnit) []int {
	few := []int{8, 7, 6, 5, 4, 3, 2}
	if u.wide {
		return append([]int{12}, few...)
	}
	return few
}
