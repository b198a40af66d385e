package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of attention to pages of Q8_0 and Q4_0, whose keys and values lie in panels. They are products like those of weights, but
// so short, of 2 to 4 blocks, that a call for each panel and each few rows costs as much as its products. So one call does all rows
// and panels. Panels come from the first-level cache, where all rows of a block meet them: so few rows share what is unpacked, but
// sums stay in registers to their end.

// integerUnits are the units of these kernels.
var integerUnits = []panelUnit{unitAVX2, unitAVXVNNI, unitAVX512, unitAVX512VNNI}

// integers generates the kernels of attention to pages of Q8_0 and Q4_0.
func integers(c *build.Context) {
	weigh(c)
	for _, u := range integerUnits {
		for _, f := range formats32(u) {
			if f.minimum {
				continue
			}
			if f.name == "q4_0" || u.vnni {
				generateIntegers(c, u, f, false)
			}
			generateIntegers(c, u, f, true)
		}
	}
}

// integerTile generates a kernel that multiplies some rows of integers with pairs of panels.
type integerTile struct {
	tile
	format format32
	values bool // the panels have no scales, and those of Q8_0 meet integers that are not negative
	dots   [][]reg.VecPhysical
	temps  []reg.VecPhysical
	mask   reg.VecPhysical // 15 in each byte
	raise  reg.VecPhysical // 128 in each byte
	ones   reg.VecPhysical // 1 in each 16 bits
}

var integerPairs = reg.R13 // not in use while a pair is multiplied

// generateIntegers generates the kernel of a format for keys, or for values.
func generateIntegers(c *build.Context, u panelUnit, f format32, values bool) {
	g := &integerTile{tile: tile{Context: c, panelUnit: u}, format: f, values: values}
	name, doc := "score", "out[r·stride+i] = Σ_b (scale[b][i]·d[r][b]) · Σ_j w[b][i][j]·q[r][b][j]"
	if values {
		name, doc = "add", "out[r·stride+i] = Σ_b d[r][b] · Σ_j w[b][i][j]·q[r][b][j]"
	}
	upper := map[string]string{"q4_0": "Q4_0", "q8_0": "Q8_0"}[f.name]
	g.Function(name + upper + u.name)
	g.SignatureExpr("func(w *byte, panelBytes, pairs, blocks int, q *int8, d *float32, sums *int32, rows int, out *float32, stride int)")
	g.Pragma("noescape")
	notes := []string{name + upper + u.name + " multiplies rows of integers with pairs of panels, which are panelBytes apart:", "", "\t" + doc}
	if values {
		notes = append(notes, "", "The panels have quants alone.")
		if f.name == "q8_0" {
			notes = append(notes, "No q is negative.")
		}
	}
	g.Doc(notes...)

	g.Load(g.Param("blocks"), reg.RAX)
	g.MOVQ(reg.RAX, cursorD.stride)
	g.SHLQ(operand.U8(2), cursorD.stride)
	g.MOVQ(reg.RAX, cursorQ.stride)
	g.SHLQ(operand.U8(5), cursorQ.stride)
	for _, c := range []*cursor{cursorQ, cursorD} {
		g.LEAQ(operand.Mem{Base: c.stride, Index: c.stride, Scale: 2}, c.stride3)
	}
	g.Load(g.Param("panelBytes"), integerPanel)
	next := 12
	if u.wide {
		next = 16
	}
	for _, r := range []*reg.VecPhysical{&g.mask, &g.raise, &g.ones} {
		next--
		*r = g.vec(next)
	}
	if f.name == "q4_0" {
		g.constant(g.mask, 0x0f0f0f0f)
	}
	if f.name == "q8_0" && !values {
		g.constant(g.raise, 0x80808080)
	}
	if !u.vnni {
		g.constant(g.ones, 0x00010001)
	}
	many := 1
	if u.wide {
		many = 4
	}
	if many > 1 {
		g.Label("many")
		g.CMPQ(g.argument("rows"), operand.U8(many))
		g.JLT(operand.LabelRef("single"))
		g.pairs(many)
		g.SUBQ(operand.U8(many), g.argument("rows"))
		g.JMP(operand.LabelRef("many"))
		g.Label("single")
		g.CMPQ(g.argument("rows"), operand.U8(0))
		g.JEQ(operand.LabelRef("done"))
	}
	g.Label("one")
	g.pairs(1)
	g.DECQ(g.argument("rows"))
	g.JNE(operand.LabelRef("one"))
	g.Label("done")
	g.VZEROUPPER()
	g.RET()
}

// The general registers beside the cursors of the rows: the quants and the scales of a block of the pair's first panel, how many blocks
// are left, and the bytes of a panel.
var (
	integerW, integerScales, integerBlocks = reg.RAX, reg.RBX, reg.RCX
	integerPanel                           = reg.R12
)

// vectors returns how many registers the sums of a row with a pair take.
func (g *integerTile) vectors() int { return 2 * g.halves() }

// at returns an address in part v of a pair, given that in the first, where an element of a panel's lanes has so many bytes.
func (g *integerTile) at(base reg.Register, v, disp, bytes int) operand.Mem {
	m := operand.Mem{Base: base, Disp: disp + v%g.halves()*g.rows()*bytes}
	if v/g.halves() > 0 {
		m.Index, m.Scale = integerPanel, 1
	}
	return m
}

// rowOf returns the address of byte disp of row t, which is below four.
func rowOf(c *cursor, t, disp int) operand.Mem {
	if t == 3 {
		return operand.Mem{Base: c.at, Index: c.stride3, Scale: 1, Disp: disp}
	}
	return c.row(t, disp)
}

// pairs generates the loop over the pairs for some rows, and goes to the next rows.
func (g *integerTile) pairs(rows int) {
	g.tokens = rows
	last := 15
	if g.wide {
		last = 31
	}
	take := func() (r reg.VecPhysical) {
		r = g.vec(last)
		last--
		return r
	}
	sums := make([][]reg.VecPhysical, rows)
	g.dots = make([][]reg.VecPhysical, rows)
	for t := range rows {
		for range g.vectors() {
			sums[t] = append(sums[t], take())
		}
	}
	if !g.wide { // the constants lie between
		last = 8
	}
	for t := range rows {
		for range g.vectors() {
			g.dots[t] = append(g.dots[t], take())
		}
	}
	g.temps = nil
	for i := range 5 {
		g.temps = append(g.temps, g.vec(i))
	}
	g.Load(g.Param("pairs"), integerPairs)
	g.Load(g.Param("w"), integerW)
	pair, block := fmt.Sprintf("pair%d", rows), fmt.Sprintf("block%d", rows)
	g.Label(pair)
	g.Load(g.Param("q"), cursorQ.at)
	g.Load(g.Param("d"), cursorD.at)
	g.Load(g.Param("sums"), cursorSums.at)
	g.Load(g.Param("blocks"), integerBlocks)
	if !g.values {
		shift := 8
		if g.format.quants == 512 {
			shift = 9
		}
		g.MOVQ(integerBlocks, integerScales)
		g.SHLQ(operand.U8(shift), integerScales)
		g.ADDQ(integerW, integerScales)
	}
	for t := range rows {
		for _, s := range sums[t] {
			g.zero(s)
		}
	}
	g.Label(block)
	g.dot()
	g.scaled(sums)
	g.ADDQ(operand.U32(g.format.quants), integerW)
	if !g.values {
		g.ADDQ(operand.U8(32), integerScales)
	}
	g.ADDQ(operand.U8(32), cursorQ.at)
	g.ADDQ(operand.U8(4), cursorD.at)
	g.ADDQ(operand.U8(4), cursorSums.at)
	g.DECQ(integerBlocks)
	g.JNE(operand.LabelRef(block))

	// What the cursors were is loaded again.
	out, stride := cursorQ.at, cursorD.at
	g.Load(g.Param("out"), out)
	g.Load(g.Param("stride"), stride)
	for t := range rows {
		for v, s := range sums[t] {
			g.VMOVUPS(s, operand.Mem{Base: out, Disp: g.width() * v})
		}
		if t+1 < rows {
			g.LEAQ(operand.Mem{Base: out, Index: stride, Scale: 4}, out)
		}
	}
	g.ADDQ(operand.U32(2*64), g.argument("out"))
	// From behind the quants of the first panel to the next pair.
	g.LEAQ(operand.Mem{Base: integerW, Index: integerPanel, Scale: 2}, integerW)
	g.Load(g.Param("blocks"), integerBlocks)
	g.IMUL3Q(operand.U32(g.format.quants), integerBlocks, integerBlocks)
	g.SUBQ(integerBlocks, integerW)
	g.DECQ(integerPairs)
	g.JNE(operand.LabelRef(pair))

	g.Load(g.Param("pairs"), integerPairs)
	g.SHLQ(operand.U8(7), integerPairs)
	g.SUBQ(integerPairs, g.argument("out"))
	for _, a := range []struct {
		argument string
		stride   reg.GPPhysical
		shift    int
	}{{"q", cursorQ.stride, 0}, {"d", cursorD.stride, 0}, {"sums", cursorD.stride, 0}, {"out", stride, 2}} {
		g.IMUL3Q(operand.U8(rows<<a.shift), a.stride, integerBlocks)
		g.ADDQ(integerBlocks, g.argument(a.argument))
	}
}

// dot leaves in dots the sums of products of a block.
func (g *integerTile) dot() {
	if g.vnni {
		for t := range g.dots {
			for _, dot := range g.dots[t] {
				g.zero(dot)
			}
		}
	}
	switch {
	case g.format.name == "q4_0":
		g.dotNibbles()
		g.subtract(3)
	case g.values:
		g.dotBytes()
	default:
		g.dotRaised()
		g.subtract(7)
	}
}

// dotNibbles multiplies unsigned quants of four bits, see tile.dotNibbles.
func (g *integerTile) dotNibbles() {
	low, high, scratch := g.temps[0], g.temps[1], g.temps[2]
	acts := [2]reg.VecPhysical{g.temps[3], g.temps[4]}
	for j := range 4 {
		for v := range g.vectors() {
			g.load(g.at(integerW, v, 64*j, 4), low)
			g.VPSRLW(operand.U8(4), low, high)
			g.and(g.mask, low, low)
			g.and(g.mask, high, high)
			for t := range g.dots {
				for half, quants := range []reg.VecPhysical{low, high} {
					from, dot := rowOf(cursorQ, t, 4*j+16*half), g.dots[t][v]
					if g.wide && g.vnni {
						g.VPDPBUSD_BCST(from, quants, dot)
						continue
					}
					if v == 0 || g.tokens > 1 {
						g.VPBROADCASTD(from, acts[half])
					}
					if g.vnni {
						multiplyUnsigned(g.Context, acts[half], quants, dot)
					} else {
						g.addPairs(2*j+half, acts[half], quants, scratch, dot)
					}
				}
			}
		}
	}
	if g.vnni {
		return
	}
	for t := range g.dots {
		for _, dot := range g.dots[t] {
			g.VPMADDWD(g.ones, dot, dot)
		}
	}
}

// dotBytes multiplies signed quants with integers that are not negative. A pair of products stays within 16 bits: 2·127·128 = 32512.
func (g *integerTile) dotBytes() {
	for j := range 8 {
		for t := range g.dots {
			acts, product := g.temps[t%2], g.temps[2+t%2]
			g.VPBROADCASTD(rowOf(cursorQ, t, 4*j), acts)
			for v, dot := range g.dots[t] {
				quants := g.at(integerW, v, 64*j, 4)
				switch {
				case g.wide && g.vnni:
					g.VPDPBUSD(quants, acts, dot)
				case g.vnni:
					multiplyUnsignedFrom(g.Context, quants, acts, dot)
				case j == 0:
					g.VPMADDUBSW(quants, acts, dot)
					g.VPMADDWD(g.ones, dot, dot)
				default:
					g.VPMADDUBSW(quants, acts, product)
					g.VPMADDWD(g.ones, product, product)
					g.VPADDD(product, dot, dot)
				}
			}
		}
	}
}

// dotRaised multiplies signed quants, raised by 128, by VPDPBUSD.
func (g *integerTile) dotRaised() {
	raised, acts := g.temps[0], g.temps[1]
	for j := range 8 {
		for v := range g.vectors() {
			g.exclusiveOr(g.at(integerW, v, 64*j, 4), g.raise, raised)
			for t := range g.dots {
				if g.wide {
					g.VPDPBUSD_BCST(rowOf(cursorQ, t, 4*j), raised, g.dots[t][v])
					continue
				}
				if v == 0 || g.tokens > 1 {
					g.VPBROADCASTD(rowOf(cursorQ, t, 4*j), acts)
				}
				multiplyUnsigned(g.Context, acts, raised, g.dots[t][v])
			}
		}
	}
}

// subtract takes 2^shift times the sums of the rows' integers off the dot products.
func (g *integerTile) subtract(shift int) {
	for t := range g.dots {
		sum := g.temps[t%2]
		g.VPBROADCASTD(rowOf(cursorSums, t, 0), sum)
		g.VPSLLD(operand.U8(shift), sum, sum)
		for _, dot := range g.dots[t] {
			g.VPSUBD(sum, dot, dot)
		}
	}
}

// scaled adds the dot products of a block, scaled, to the sums.
func (g *integerTile) scaled(sums [][]reg.VecPhysical) {
	d, scale := g.temps[0], g.temps[1]
	for t := range g.dots {
		for _, dot := range g.dots[t] {
			g.VCVTDQ2PS(dot, dot)
		}
		if g.values {
			g.VBROADCASTSS(rowOf(cursorD, t, 0), d)
			for v, dot := range g.dots[t] {
				g.VFMADD231PS(d, dot, sums[t][v])
			}
		}
	}
	for v := range g.vectors() {
		if g.values {
			break
		}
		g.VCVTPH2PS(g.at(integerScales, v, 0, 2), scale)
		for t := range g.dots {
			product := g.temps[2+t%2]
			g.scaleBy(rowOf(cursorD, t, 0), scale, product)
			g.VFMADD231PS(product, g.dots[t][v], sums[t][v])
		}
	}
}
