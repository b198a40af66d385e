package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The products of formats with blocks of 256 and quants in groups of 16: Q2_K, Q3_K and IQ4_XS. Whatever stands between a file's block and
// its sum is made uniform first: a block's inner scales are decoded to the stack, once for all tokens, in the form in which they are
// multiplied, one vector for each step; and the part that is added or taken off by groups is one sum of products of words, Σ least·sums: of
// the minimums of Q2_K; of the inner scales of the others, with quants that are 2^offset too great. A step is a group, or, with VPDPBUSD
// and inner scales for 32, a run. Quants that take all bits of a byte would saturate the sums of 16 bits that there are without VPDPBUSD:
// they are looked up as two digits of four bits, the second with an inner scale 16 times as great.
//
// For example, the value 113 of IQ4_XS, unpacked 128 too great, with the inner scale 3 and the activation 1, without VPDPBUSD:
//
//	241 = 1 + 16·15     the digits 1 and 15
//	inner scales        3 and 16·3 = 48
//	step                1·3 + 15·48 = 723
//	take off            128·3·1 = 384, which leaves 339 = 113·3

// formatGroups describes such a format.
type formatGroups struct {
	format256
	group   func(i int) runBits // where group i is: its four lines, and those of its high bits
	mask    uint32              // the low bits of a quant, in each byte
	highAt  int                 // which bit of a quant comes from the lines behind, if high says so
	table   bool                // quants are places in a table
	runs    bool                // inner scales are those of runs
	minimum bool                // the groups have minimums
	offset  int                 // without minimums: quants are unpacked 2^offset too great
	inner   func(g *tileGroups)
}

// formatsGroups are the formats.
var formatsGroups = []formatGroups{
	{format256: sized(format256{name: "q2_K", inner: 256, innerUnit: 4}),
		mask: 0x03030303, minimum: true, inner: (*tileGroups).nibblesAndMinimums, group: func(i int) runBits {
			run, half := i/2, i%2
			return runBits{low: run/4*512 + half*256, lowBit: run % 4 * 2}
		}},
	{format256: sized(format256{name: "q3_K", inner: 192, innerUnit: 4, high: 0x04040404}),
		mask: 0x03030303, highAt: 2, offset: 2, inner: (*tileGroups).signedOfGroups, group: func(i int) runBits {
			run, half := i/2, i%2
			return runBits{low: run/4*512 + half*256, lowBit: run % 4 * 2, high: 1024 + half*256, highBit: run}
		}},
	{format256: sized(format256{name: "iq4_xs", inner: 96, innerUnit: 2}),
		mask: 0x0f0f0f0f, table: true, runs: true, offset: 7, inner: (*tileGroups).signedOfRuns, group: func(i int) runBits {
			return runBits{low: i / 2 * 256, lowBit: i % 2 * 4}
		}},
}

// patternsGroups are constants in memory, of 64 bytes.
type patternsGroups struct {
	signed      [4]operand.Mem // for VPSHUFB: byte g of each 32 bits into the upper byte of both words, or, with VNNI, of all 32 bits
	signedPairs [2]operand.Mem // bytes 2g and 2g+1 of each 32 bits, into the upper bytes of words

	twice, evenBytes, oddBytes operand.Mem // both bytes of the lower word of each 32 bits, twice; 15 in the even and in the odd bytes
	lowerFour                  operand.Mem // 15 in each byte
	evenFirst                  operand.Mem // of eight words: the even ones, and then the odd ones
}

// newPatternsGroups writes the constants of a file.
func newPatternsGroups(c *build.Context, u panelUnit) (p patternsGroups) {
	const zero = 0x80
	constant := func(name string, at func(i int) byte) operand.Mem { return bytesInMemory(c, name+u.name, at) }
	pattern := func(name string, bytes ...int) operand.Mem {
		return constant(name, func(i int) byte {
			if b := bytes[i%4]; b != zero {
				return byte(b + i%16/4*4)
			}
			return zero
		})
	}
	for g := range p.signed {
		if u.vnni {
			p.signed[g] = pattern(fmt.Sprintf("signed%d", g), zero, zero, zero, g)
		} else {
			p.signed[g] = pattern(fmt.Sprintf("signed%d", g), zero, g, zero, g)
		}
	}
	for g := range p.signedPairs {
		p.signedPairs[g] = pattern(fmt.Sprintf("signedPairs%d", g), zero, 2*g, zero, 2*g+1)
	}
	p.twice = pattern("twice", 0, 0, 1, 1)
	p.evenBytes = constant("evenBytes", func(i int) byte { return byte(15 * (1 - i%2)) })
	p.oddBytes = constant("oddBytes", func(i int) byte { return byte(15 * (i % 2)) })
	p.lowerFour = constant("lowerFour", func(int) byte { return 15 })
	p.evenFirst = constant("evenFirst", func(i int) byte { i %= 16; return byte(i%8/2*4 + i/8*2 + i%2) })
	return p
}

// tileGroups generates a tile for such a format. With several panels it is one for a single token, has single256's loops over parts and
// blocks, and its steps are unrolled. Otherwise steps are a loop, by a table, in which some tokens share what a step unpacks. AVX2 has
// the tiles of narrowGroups for several tokens.
type tileGroups struct {
	single256
	f        formatGroups
	own      patternsGroups
	unrolled bool
	lines    int // of a step
	digits   int // of a quant
	t3       reg.VecPhysical
	tables   [2]reg.VecPhysical // of digits
	scaleMem operand.Mem        // the steps' inner scales, for each digit, and behind them least
}

// The bytes of an entry in the table of steps.
const bytesOfStep = 16

// newTileGroups returns a tile.
func newTileGroups(c *build.Context, u panelUnit, f formatGroups, shared patterns, own patternsGroups, constants patterns32, tokens, panels int) *tileGroups {
	both := both256(u)
	g := &tileGroups{f: f, own: own, unrolled: panels > 1 || both, lines: 4, digits: 1}
	g.tile256 = tile256{tile: tile{Context: c, panelUnit: u, constants: constants, tokens: tokens, panels: panels, both: both, spill: true}, format256: f.format256, shared: shared}
	if f.runs && u.vnni {
		g.lines = 8
	}
	if f.table && !u.vnni {
		g.digits = 2
	}
	return g
}

// generateGroups generates the tiles of a unit for a format.
func generateGroups(c *build.Context, u panelUnit, f formatGroups, shared patterns, own patternsGroups, constants patterns32) {
	newTile := func(tokens, panels int) *tileGroups {
		return newTileGroups(c, u, f, shared, own, constants, tokens, panels)
	}
	if both256(u) {
		table := newTile(1, 1).groupTable()
		tiles := tokensOf256(u)
		if f.table {
			tiles = append([]int{16}, tiles...)
		}
		for _, tokens := range tiles {
			g := newTile(tokens, 1)
			g.table = table
			g.generateBoth()
		}
		newTile(1, 1).generateSingle()
		newTile(1, panelsOfSingle).generateSingle()
		return
	}
	table := newTile(1, 1).stepTable()
	for _, tokens := range append(tokensOf256(u), 1) {
		g := newTile(tokens, 1)
		g.table = table
		g.generateTokens()
	}
	newTile(1, panelsOfSingle).generateSingle()
}

// stepsOfBlock returns how many steps a block has.
func (g *tileGroups) stepsOfBlock() int { return 64 / g.lines }

// groupOf returns the place of the quants of line j of a step.
func (g *tileGroups) groupOf(step, j int) runBits { return g.f.group(step*g.lines/4 + j/4) }

// stepTable writes the table of steps: where lines begin, and the lowest bits; then the same of the high bits.
func (g *tileGroups) stepTable() operand.Mem {
	m := g.StaticGlobal(g.f.name + "Steps" + g.panelUnit.name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range g.stepsOfBlock() {
		r := g.groupOf(i, 0)
		shift := (r.highBit - g.f.highAt + 32) % 32 // a rotation that leaves the bit in its place
		for j, v := range []int{r.low, r.lowBit, r.high, shift} {
			g.AddDatum(i*bytesOfStep+4*j, operand.U32(uint32(v)))
		}
	}
	return m
}

// setUp names the vector registers, and fills those of constants.
func (g *tileGroups) setUp() {
	next := g.lines * g.digits
	if g.unrolled {
		next = g.digits
	}
	take := func() (r reg.VecPhysical) {
		r = g.vec(next)
		next++
		return r
	}
	g.t0, g.t1, g.t2, g.t3, g.nibble = take(), take(), take(), take(), take()
	g.constant(g.nibble, g.f.mask)
	if g.high != 0 {
		g.highMask = take()
		g.constant(g.highMask, g.high)
	}
	if g.f.table {
		tables := []operand.Mem{g.constants.lowValues, g.constants.highValues}
		if g.digits == 1 {
			tables = []operand.Mem{g.constants.raised}
		}
		for i, t := range tables {
			g.tables[i] = take()
			g.load(t, g.tables[i])
		}
	}
	if g.unrolled {
		g.total = take()
	}
	g.scaleMem = g.AllocLocal(g.sizeOfScales())
}

// sizeOfScales returns the bytes of a block's decoded inner scales.
func (g *tileGroups) sizeOfScales() int { return g.width() * (g.stepsOfBlock()*g.digits + g.pairs()) }

// pairs returns how many pairs of minimums, or of inner scales, a row has.
func (g *tileGroups) pairs() int {
	if g.f.runs {
		return 4
	}
	return 8
}

// quant returns the register of a digit of line j of a step.
func (g *tileGroups) quant(j, digit int) reg.VecPhysical {
	if g.unrolled {
		return g.vec(digit)
	}
	return g.vec(j + g.lines*digit)
}

// scaleAt returns the place of a step's inner scales for a digit.
func (g *tileGroups) scaleAt(step, digit int) operand.Mem {
	return g.scaleMem.Offset(g.width() * (step + g.stepsOfBlock()*digit))
}

// leastAt returns the place of a pair of minimums, or of inner scales.
func (g *tileGroups) leastAt(pair int) operand.Mem {
	return g.scaleMem.Offset(g.width() * (g.stepsOfBlock()*g.digits + pair))
}

// beginGroups starts the function.
func (g *tileGroups) beginGroups() {
	minimum := ""
	if g.f.minimum {
		minimum = ", then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]"
	}
	g.begin(g.f.name, "out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i]"+minimum)
}

// generateTokens generates a tile for some tokens and a registerful of rows.
func (g *tileGroups) generateTokens() {
	g.beginGroups()
	g.reserve(sumsOfToken)
	g.setUp()
	g.loadRegisters()
	g.Label("block")
	g.convertSums()
	g.tile256.askForScales()
	g.f.inner(g)
	g.zero(g.t0)
	for t := range g.tokens {
		if g.wide {
			g.zero(g.sum(t))
		} else {
			g.VMOVDQU(g.t0, g.integers.Offset(g.width()*t))
		}
	}
	g.LEAQ(g.table, regTable)
	g.XORL(regRun.As32(), regRun.As32())
	g.Label("step")
	g.askForStep()
	g.unpackStep()
	scales := [2]operand.Mem{g.scaleAt(0, 0), g.scaleAt(0, 1)}
	for i := range scales {
		scales[i].Index, scales[i].Scale = regRun, uint8(g.width()/bytesOfStep)
	}
	g.forTokens([]*cursor{cursorQ}, func(t int) {
		g.multiplyStep(func(j int) operand.Mem { return cursorQ.row(t, 4*j) }, nil)
		g.scaleStep(scales)
		if g.wide {
			g.VPADDD(g.t0, g.sum(t), g.sum(t))
			return
		}
		g.VPADDD(g.integers.Offset(g.width()*t), g.t0, g.t0)
		g.VMOVDQU(g.t0, g.integers.Offset(g.width()*t))
	})
	g.ADDQ(operand.U8(4*g.lines), cursorQ.at)
	g.ADDQ(operand.U8(bytesOfStep), regRun)
	g.CMPQ(regRun, operand.U32(bytesOfStep*g.stepsOfBlock()))
	g.JNE(operand.LabelRef("step"))
	at := regTable
	g.MOVQ(regD, at)
	g.loadHalves()
	for t := range g.tokens {
		sum := g.t0
		if g.wide {
			sum = g.sum(t)
		} else {
			g.VMOVDQU(g.integers.Offset(g.width()*t), sum)
		}
		g.addToSum(t, sum, operand.Mem{Base: at}, g.sums.Offset(g.width()*t))
		if t+1 < g.tokens {
			g.ADDQ(strideD, at)
		}
	}
	g.ADDQ(operand.U32(g.format256.inner), regInner)
	g.ADDQ(operand.U8(4), regD)
	g.ADDQ(operand.U32(g.quantsOfBlock), regW)
	g.ADDQ(operand.U8(g.format256.scales), regScales)
	g.DECQ(g.argument("blocks"))
	g.JNE(operand.LabelRef("block"))
	g.storeSums()
}

// generateSingle generates the tile for a single token and several panels.
func (g *tileGroups) generateSingle() {
	g.beginGroups()
	g.clearSums()
	g.groups = g.AllocLocal(64)
	g.setUp()
	g.loadPointers()
	g.Label("block")
	g.convertSums()
	g.lookAhead()
	g.XORL(regPart.As32(), regPart.As32())
	g.Label("part")
	g.step, g.steps = 0, g.stepsOfBlock()
	g.askForScales()
	g.f.inner(g)
	g.zero(g.total)
	for step := range g.stepsOfBlock() {
		g.ask()
		g.multiplyStep(func(j int) operand.Mem { return g.actsAt(4 * (step*g.lines + j)) }, func(j int) { g.unpackLine(step, j) })
		g.scaleStep([2]operand.Mem{g.scaleAt(step, 0), g.scaleAt(step, 1)})
		g.VPADDD(g.t0, g.total, g.total)
	}
	sum := g.sums
	sum.Index, sum.Scale = regPart, 1
	g.loadHalves()
	g.addToSum(0, g.total, operand.Mem{Base: regD}, sum)
	g.nextPart()
	g.nextBlock()
	g.JNE(operand.LabelRef("block"))
	g.storeSums()
}

// convertSums converts the tokens' sums of 16 activations each to words, in pairs as least has them.
func (g *tileGroups) convertSums() {
	x, ones, at := reg.Y0, reg.Y1, regOffset
	if g.f.runs {
		g.VPCMPEQW(ones, ones, ones)
		g.VPSRLW(operand.U8(15), ones, ones)
	}
	g.MOVQ(g.argument("sums"), at)
	for t := range g.tokens {
		to := g.groups.Offset(sumsOfToken * t)
		g.VMOVDQU(operand.Mem{Base: at}, x)
		g.VPACKSSDW(operand.Mem{Base: at, Disp: 32}, x, x)
		g.VPERMQ(operand.U8(0xd8), x, x) // words in order again
		if g.f.runs {
			g.VPMADDWD(ones, x, x)
			g.VPACKSSDW(x, x, x)
			g.VPERMQ(operand.U8(0x08), x, x)
			g.VPSHUFB(g.own.evenFirst, reg.X0, reg.X0)
			g.VMOVDQU(reg.X0, to)
		} else {
			g.VMOVDQU(x, to)
		}
		if t+1 < g.tokens {
			g.ADDQ(strideSums, at)
		}
	}
	g.ADDQ(operand.U8(64), g.argument("sums"))
}

// free returns a register that is not in use while inner scales are decoded: 0 to 3 are the temporary ones, and 4 and 5 those of quants or,
// with few registers, of the total.
func (g *tileGroups) free(i int) reg.VecPhysical {
	registers := []reg.VecPhysical{g.t0, g.t1, g.t2, g.t3, g.vec(0)}
	if g.unrolled {
		registers = append(registers, g.total)
	} else {
		registers = append(registers, g.vec(1))
	}
	return registers[i]
}

// askForStep asks the cache for as many lines of a block to come as a step is part of the block.
func (g *tileGroups) askForStep() {
	bytes := g.quantsOfBlock / g.stepsOfBlock()
	switch times := bytes / bytesOfStep; times {
	case 4, 8:
		g.LEAQ(operand.Mem{Base: regW, Index: regRun, Scale: uint8(times)}, regOffset)
	default: // 6 or 16
		g.LEAQ(operand.Mem{Base: regRun, Index: regRun, Scale: map[int]uint8{6: 2, 16: 1}[times]}, regOffset)
		g.LEAQ(operand.Mem{Base: regW, Index: regOffset, Scale: map[int]uint8{6: 2, 16: 8}[times]}, regOffset)
	}
	g.askAt(bytes)
}

// unpackStep unpacks a step's quants by the table of steps.
func (g *tileGroups) unpackStep() {
	entry := func(field int) operand.Mem {
		return operand.Mem{Base: regTable, Index: regRun, Scale: 1, Disp: 4 * field}
	}
	line := func(j int) operand.Mem {
		return operand.Mem{Base: regW, Index: regOffset, Scale: 1, Disp: 64 * (j % 4)}
	}
	bit, bits := g.t1, g.t0
	g.MOVL(entry(0), regOffset.As32())
	if g.lines == 4 {
		g.VPBROADCASTD(entry(1), bit)
	}
	for j := range g.lines {
		q := g.quant(j, 0)
		if g.lines == 4 {
			g.load(line(j), q)
			g.VPSRLVD(bit, q, q)
		} else { // a run's lines begin with the lowest bit
			g.shiftLeft(-(j / 4 * 4), line(j), q)
		}
		g.and(g.nibble, q, q)
		g.lookUpDigits(j)
	}
	if g.high == 0 {
		return
	}
	g.MOVL(entry(2), regOffset.As32())
	g.VPBROADCASTD(entry(3), bit)
	for j := range g.lines {
		g.load(line(j), bits)
		g.VPRORVD(bit, bits, bits)
		g.joinHigh(bits, g.quant(j, 0))
	}
}

// unpackLine unpacks line j of a step.
func (g *tileGroups) unpackLine(step, j int) {
	r, q, bits := g.groupOf(step, j), g.quant(j, 0), g.t3
	line := operand.Mem{Base: regW, Disp: r.low + 64*(j%4)}
	if r.lowBit == 0 {
		g.and(line, g.nibble, q)
	} else {
		g.shiftLeft(-r.lowBit, line, q)
		g.and(g.nibble, q, q)
	}
	g.lookUpDigits(j)
	if g.high != 0 {
		g.shiftLeft(g.f.highAt-r.highBit, operand.Mem{Base: regW, Disp: r.high + 64*(j%4)}, bits)
		g.joinHigh(bits, q)
	}
}

// joinHigh adds the high bits of quants to the low ones, out of bits, which it overwrites.
func (g *tileGroups) joinHigh(bits, q reg.VecPhysical) {
	if g.wide {
		const orAnd = 0xf8 // first | second & third
		g.VPTERNLOGD(operand.U8(orAnd), g.highMask, bits, q)
		return
	}
	g.VPAND(g.highMask, bits, bits)
	g.VPOR(bits, q, q)
}

// lookUpDigits replaces the quants of line j by the digits of what a table has in their places.
func (g *tileGroups) lookUpDigits(j int) {
	if !g.f.table {
		return
	}
	for digit := g.digits - 1; digit >= 0; digit-- {
		g.VPSHUFB(g.quant(j, 0), g.tables[digit], g.quant(j, digit))
	}
}

// multiplyStep leaves in t0, and for the second digit in t2, the sums of products of a step's quants with activations: of 32 bits with
// VPDPBUSD, else of 16. Before a line is multiplied it is unpacked, if unpack says how.
func (g *tileGroups) multiplyStep(acts func(j int) operand.Mem, unpack func(j int)) {
	if g.vnni {
		g.zero(g.t0)
	}
	for j := range g.lines {
		if unpack != nil {
			unpack(j)
		}
		switch {
		case g.vnni && g.wide:
			g.VPDPBUSD_BCST(acts(j), g.quant(j, 0), g.t0)
			continue
		case g.vnni:
			g.VPBROADCASTD(acts(j), g.t1)
			multiplyUnsigned(g.Context, g.t1, g.quant(j, 0), g.t0)
			continue
		}
		to := g.t1
		if j == 0 {
			to = g.t0
		}
		g.VPBROADCASTD(acts(j), to)
		if g.digits > 1 {
			g.addPairs(j, to, g.quant(j, 1), g.t3, g.t2)
		}
		g.addPairs(j, to, g.quant(j, 0), to, g.t0)
	}
}

// scaleStep multiplies the sums of a step by its inner scales, and leaves the sum in t0.
func (g *tileGroups) scaleStep(scales [2]operand.Mem) {
	if g.vnni {
		g.VPMULLD(scales[0], g.t0, g.t0)
		return
	}
	g.VPMADDWD(scales[0], g.t0, g.t0)
	if g.digits > 1 {
		g.VPMADDWD(scales[1], g.t2, g.t2)
		g.VPADDD(g.t2, g.t0, g.t0)
	}
}

// loadHalves reads the block's scales and minimums.
func (g *tileGroups) loadHalves() {
	g.VCVTPH2PS(operand.Mem{Base: regScales}, g.t3)
	if g.f.minimum {
		g.VCVTPH2PS(operand.Mem{Base: regScales, Disp: 32}, g.vec(0))
	}
}

// addToSum adds a block's integer sum, scaled, to a token's sum in memory. It overwrites sum.
func (g *tileGroups) addToSum(t int, sum reg.VecPhysical, d, total operand.Mem) {
	least, pair := g.t1, g.t2
	for i := range g.pairs() {
		to := pair
		if i == 0 {
			to = least
		}
		g.VPBROADCASTD(g.groups.Offset(sumsOfToken*t+4*i), to)
		if i > 0 && g.vnni && g.wide {
			g.VPDPWSSD(g.leastAt(i), to, least)
			continue
		}
		g.VPMADDWD(g.leastAt(i), to, to)
		if i > 0 {
			g.VPADDD(pair, least, least)
		}
	}
	if !g.f.minimum {
		g.VPSLLD(operand.U8(uint8(g.f.offset)), least, least)
		g.VPSUBD(least, sum, sum)
	}
	g.VCVTDQ2PS(sum, sum)
	g.scaleBy(d, g.t3, pair)
	g.VFMADD213PS(total, pair, sum)
	if g.f.minimum {
		g.VCVTDQ2PS(least, least)
		g.scaleBy(d, g.vec(0), pair)
		g.VFNMADD231PS(least, pair, sum)
	}
	g.VMOVUPS(sum, total)
}
