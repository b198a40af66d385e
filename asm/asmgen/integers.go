package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of attention to pages of Q8_0 and Q4_0, with keys and values in panels. They are products like those of weights, but so
// short, of 2 to 4 blocks, that a call for each panel and each few rows costs as much as its products. So one call does all rows and
// panels. Panels come from the first-level cache, where all rows of a block meet them: so few rows share the unpacked quants, but sums stay
// in registers to their end. With AVX2 and 64 rows the scores of Q8_0 take as long as by tiles of eight rows, with 4 rows three quarters as
// long.
//
// The quants of Q4_0 are multiplied as unsigned nibbles, 8 too great, and 8 times the sum of the integers is taken off a block's dot
// product. Two elements of a block, with the nibbles 9 and 7 for the quants 1 and −1, and the integers 5 and 3 of a row:
//
//	dot        9·5 + 7·3 = 66
//	subtract   66 − 8·(5+3) = 2, which is 1·5 − 1·3
//	scaled     the row's sum += 2 · (scale·d)

// integerUnits are the units of these kernels.
var integerUnits = []panelUnit{unitAVX2, unitAVXVNNI, unitAVX512, unitAVX512VNNI}

// integers generates the kernels of attention to pages of Q8_0 and Q4_0.
func integers(c *build.Context) {
	weigh(c)
	for _, u := range integerUnits {
		for _, f := range formats32(u) {
			if f.name != "q4_0" && f.name != "q8_0" {
				continue // what keys and values are stored in
			}
			if f.name == "q4_0" || u.vnni || !u.wide { // AVX-512 alone has no VPSIGNB: what it does is done by panels
				generateIntegers(c, u, f, false)
			}
			generateIntegers(c, u, f, true)
		}
	}
	integersAMX(c)
}

// integerTile generates a kernel that multiplies some rows of integers with pairs of panels.
type integerTile struct {
	g      *tile // not embedded: the compiler would write out all of avo's methods once more
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
	g := &tile{Context: c, panelUnit: u}
	k := &integerTile{g: g, format: f, values: values}
	g.beginIntegers(f.name, values, "")
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
	for _, r := range []*reg.VecPhysical{&k.mask, &k.raise, &k.ones} {
		next--
		*r = g.vec(next)
	}
	if f.name == "q4_0" {
		g.constant(k.mask, 0x0f0f0f0f)
	}
	if f.name == "q8_0" && !values {
		g.constant(k.raise, 0x80808080)
	}
	if !u.vnni {
		g.constant(k.ones, 0x00010001)
	}
	many := 1
	if u.wide {
		many = 4
	}
	if many > 1 {
		g.Label("many")
		g.CMPQ(g.argument("rows"), operand.U8(many))
		g.JLT(operand.LabelRef("single"))
		k.pairs(many)
		g.SUBQ(operand.U8(many), g.argument("rows"))
		g.JMP(operand.LabelRef("many"))
		g.Label("single")
		g.CMPQ(g.argument("rows"), operand.U8(0))
		g.JEQ(operand.LabelRef("done"))
	}
	g.Label("one")
	k.pairs(1)
	g.DECQ(g.argument("rows"))
	g.JNE(operand.LabelRef("one"))
	g.Label("done")
	g.VZEROUPPER()
	g.RET()
}

// beginIntegers starts the function of a format for keys, or for values, with a note.
func (g *tile) beginIntegers(format string, values bool, note string) {
	name, doc := "score", "out[r·stride+i] = Σ_b (scale[b][i]·d[r][b]) · Σ_j w[b][i][j]·q[r][b][j]"
	if values {
		name, doc = "add", "out[r·stride+i] = Σ_b d[r][b] · Σ_j w[b][i][j]·q[r][b][j]"
	}
	name += strings.ToUpper(format) + g.name
	g.Function(name)
	g.SignatureExpr("func(w *byte, panelBytes, pairs, blocks int, q *int8, d *float32, sums *int32, rows int, out *float32, stride int)")
	g.Pragma("noescape")
	lines := []string{name + " multiplies rows of integers with pairs of panels, which are panelBytes apart:", "", "\t" + doc}
	if values {
		lines = append(lines, "", "The panels have quants alone.")
		if format == "q8_0" {
			lines = append(lines, "No q is negative.")
		}
	}
	if note != "" {
		lines = append(lines, "", note)
	}
	g.Doc(lines...)
}

// advanceIntegers adds a stride, some times, to an argument.
func (g *tile) advanceIntegers(argument string, stride reg.GPPhysical, times int) {
	g.IMUL3Q(operand.U8(times), stride, integerBlocks)
	g.ADDQ(integerBlocks, g.argument(argument))
}

// The general registers besides the cursors of the rows: the quants and the scales of a block of the pair's first panel, how many blocks
// are left, and the bytes of a panel.
var (
	integerW, integerScales, integerBlocks = reg.RAX, reg.RBX, reg.RCX
	integerPanel                           = reg.R12
)

// vectors returns how many registers the sums of a row with a pair take.
func (k *integerTile) vectors() int { return 2 * k.g.halves() }

// at returns an address in part v of a pair, given the address in the first part. An element of a panel's lanes has `bytes` bytes.
func (k *integerTile) at(base reg.Register, v, disp, bytes int) operand.Mem {
	g := k.g
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
func (k *integerTile) pairs(rows int) {
	g := k.g
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
	k.dots = make([][]reg.VecPhysical, rows)
	for t := range rows {
		for range k.vectors() {
			sums[t] = append(sums[t], take())
		}
	}
	if !g.wide { // the constants lie between
		last = 8
	}
	for t := range rows {
		for range k.vectors() {
			k.dots[t] = append(k.dots[t], take())
		}
	}
	k.temps = nil
	for i := range 5 {
		k.temps = append(k.temps, g.vec(i))
	}
	g.Load(g.Param("pairs"), integerPairs)
	g.Load(g.Param("w"), integerW)
	pair, block := fmt.Sprintf("pair%d", rows), fmt.Sprintf("block%d", rows)
	g.Label(pair)
	g.Load(g.Param("q"), cursorQ.at)
	g.Load(g.Param("d"), cursorD.at)
	g.Load(g.Param("sums"), cursorSums.at)
	g.Load(g.Param("blocks"), integerBlocks)
	if !k.values {
		shift := 8
		if k.format.quants == 512 {
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
	k.dot()
	k.scaled(sums)
	g.ADDQ(operand.U32(k.format.quants), integerW)
	if !k.values {
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
	g.IMUL3Q(operand.U32(k.format.quants), integerBlocks, integerBlocks)
	g.SUBQ(integerBlocks, integerW)
	g.DECQ(integerPairs)
	g.JNE(operand.LabelRef(pair))

	g.Load(g.Param("pairs"), integerPairs)
	g.SHLQ(operand.U8(7), integerPairs)
	g.SUBQ(integerPairs, g.argument("out"))
	g.advanceIntegers("q", cursorQ.stride, rows)
	g.advanceIntegers("d", cursorD.stride, rows)
	g.advanceIntegers("sums", cursorD.stride, rows)
	g.advanceIntegers("out", stride, 4*rows)
}

// dot leaves in dots the sums of products of a block.
func (k *integerTile) dot() {
	g := k.g
	if g.vnni {
		for t := range k.dots {
			for _, dot := range k.dots[t] {
				g.zero(dot)
			}
		}
	}
	switch {
	case k.format.name == "q4_0":
		k.dotNibbles()
		k.subtract(3)
	case k.values:
		k.dotBytes()
	case g.vnni:
		k.dotRaised()
		k.subtract(7)
	default:
		k.dotSigned()
	}
}

// dotNibbles multiplies unsigned quants of four bits, see tile.dotNibbles.
func (k *integerTile) dotNibbles() {
	g := k.g
	low, high, scratch := k.temps[0], k.temps[1], k.temps[2]
	acts := [2]reg.VecPhysical{k.temps[3], k.temps[4]}
	for j := range 4 {
		for v := range k.vectors() {
			g.load(k.at(integerW, v, 64*j, 4), low)
			g.VPSRLW(operand.U8(4), low, high)
			g.and(k.mask, low, low)
			g.and(k.mask, high, high)
			for t := range k.dots {
				for half, quants := range []reg.VecPhysical{low, high} {
					from, dot := rowOf(cursorQ, t, 4*j+16*half), k.dots[t][v]
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
	for t := range k.dots {
		for _, dot := range k.dots[t] {
			g.VPMADDWD(k.ones, dot, dot)
		}
	}
}

// dotBytes multiplies signed quants with integers that are not negative. A pair of products stays within 16 bits: 2·127·128 = 32512.
func (k *integerTile) dotBytes() {
	g := k.g
	for j := range 8 {
		for t := range k.dots {
			acts, product := k.temps[t%2], k.temps[2+t%2]
			g.VPBROADCASTD(rowOf(cursorQ, t, 4*j), acts)
			for v, dot := range k.dots[t] {
				quants := k.at(integerW, v, 64*j, 4)
				switch {
				case g.wide && g.vnni:
					g.VPDPBUSD(quants, acts, dot)
				case g.vnni:
					multiplyUnsignedFrom(g.Context, quants, acts, dot)
				case j == 0:
					g.VPMADDUBSW(quants, acts, dot)
					g.VPMADDWD(k.ones, dot, dot)
				default:
					g.VPMADDUBSW(quants, acts, product)
					g.VPMADDWD(k.ones, product, product)
					g.VPADDD(product, dot, dot)
				}
			}
		}
	}
}

// dotSigned multiplies signed quants, of one row, see tile.dotSigned.
func (k *integerTile) dotSigned() {
	g := k.g
	acts, magnitude := k.temps[0], k.temps[1]
	for j := range 8 {
		g.VPBROADCASTD(rowOf(cursorQ, 0, 4*j), acts)
		for v, dot := range k.dots[0] {
			product := k.temps[2+v%2]
			if j == 0 {
				product = dot
			}
			g.VPABSB(k.at(integerW, v, 64*j, 4), magnitude)
			g.VPSIGNB(k.at(integerW, v, 64*j, 4), acts, product)
			g.VPMADDUBSW(product, magnitude, product)
			g.VPMADDWD(k.ones, product, product)
			if j > 0 {
				g.VPADDD(product, dot, dot)
			}
		}
	}
}

// dotRaised multiplies signed quants, raised by 128, by VPDPBUSD.
func (k *integerTile) dotRaised() {
	g := k.g
	raised, acts := k.temps[0], k.temps[1]
	for j := range 8 {
		for v := range k.vectors() {
			g.exclusiveOr(k.at(integerW, v, 64*j, 4), k.raise, raised)
			for t := range k.dots {
				if g.wide {
					g.VPDPBUSD_BCST(rowOf(cursorQ, t, 4*j), raised, k.dots[t][v])
					continue
				}
				if v == 0 || g.tokens > 1 {
					g.VPBROADCASTD(rowOf(cursorQ, t, 4*j), acts)
				}
				multiplyUnsigned(g.Context, acts, raised, k.dots[t][v])
			}
		}
	}
}

// subtract takes 2^shift times the sums of the rows' integers off the dot products.
func (k *integerTile) subtract(shift int) {
	g := k.g
	for t := range k.dots {
		sum := k.temps[t%2]
		g.VPBROADCASTD(rowOf(cursorSums, t, 0), sum)
		g.VPSLLD(operand.U8(shift), sum, sum)
		for _, dot := range k.dots[t] {
			g.VPSUBD(sum, dot, dot)
		}
	}
}

// scaled adds the dot products of a block, scaled, to the sums.
func (k *integerTile) scaled(sums [][]reg.VecPhysical) {
	g := k.g
	d, scale := k.temps[0], k.temps[1]
	for t := range k.dots {
		for _, dot := range k.dots[t] {
			g.VCVTDQ2PS(dot, dot)
		}
		if k.values {
			g.VBROADCASTSS(rowOf(cursorD, t, 0), d)
			for v, dot := range k.dots[t] {
				g.VFMADD231PS(d, dot, sums[t][v])
			}
		}
	}
	for v := range k.vectors() {
		if k.values {
			break
		}
		g.VCVTPH2PS(k.at(integerScales, v, 0, 2), scale)
		for t := range k.dots {
			product := k.temps[2+t%2]
			g.scaleBy(rowOf(cursorD, t, 0), scale, product)
			g.VFMADD231PS(product, k.dots[t][v], sums[t][v])
		}
	}
}
