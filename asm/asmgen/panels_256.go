package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The tiles of Q4_K, Q5_K and Q6_K for several tokens. A loop goes over the eight runs of a block: it unpacks a run's quants, multiplies
// them with all tokens, and adds the products, times the run's inner scales, to integer sums. At a block's end the sums are scaled. A table
// says at which bytes of a panel's block a run's eight lines begin:
//
//	Q4_K, run 3   lines at 512, bits 4 to 7 of each byte
//	Q5_K, run 3   the same, and bit 3 of the lines at 2048
//	Q6_K, run 5   lines at 1536, bits 0 to 3, and bits 2 and 3 of the lines at 2560

// The general registers of a tile for blocks of 256, besides regW, regScales and the cursor of the quants. The number of
// blocks and the pointer to the activations' sums stay in memory.
var (
	regRun                           = reg.RCX // the run's entry in the table of runs
	regInner                         = reg.RDI
	regOffset                        = reg.RDX // of a run's lines; while sums are read, their place
	regD, strideD                    = reg.R10, reg.R11
	strideSums                       = reg.R12
	regTable                         = reg.R13 // the table of runs; while blocks end, where scales are
	bytesOfRun                       = 16
	sumsOfToken                      = 32
	maskOddWords  reg.OpmaskPhysical = reg.K1
)

// tile256 generates a tile for a format with blocks of 256. Its first eight vector registers have unpacked quants; those that are
// fields here follow; and with AVX-512, which has 32, the tokens' integer sums stand at the end, the first token's last.
type tile256 struct {
	tile
	format256
	table  operand.Mem // of runs
	shared patterns

	scaleA, scaleB, scaleAB reg.VecPhysical // inner scales in 16 bits: of 16 quants, of the next 16, and of both in turns
	nibble, highMask        reg.VecPhysical

	integers operand.Mem // the tokens' integer sums, if there are too few registers
	groups   operand.Mem // the tokens' sums of the activations, in pairs of 16 bits
	decoded  operand.Mem // Q4_K's inner scales, and then minimums in pairs
	requests *ahead      // nil: the tile asks the first-level cache, only for its panel's quants
}

// generate256 generates a tile for a format with blocks of 256.
func generate256(c *build.Context, u panelUnit, f format256, shared patterns, table operand.Mem, tokens int) {
	g := &tile256{tile: tile{Context: c, panelUnit: u, tokens: tokens, panels: 1, spill: true}, format256: f, shared: shared, table: table}
	g.registers()
	g.begin256()
	g.start()
	g.Label("block")
	g.convertSums()
	g.askForScales()
	g.startBlock()
	g.Label("run")
	g.prefetch()
	g.unpackRun()
	g.loadScales()
	if u.vnni && f.decode {
		g.forTriples([]*cursor{cursorQ}, g.multiplyRuns)
	} else {
		g.forTokens([]*cursor{cursorQ}, g.multiplyRun)
	}
	g.endRun()
	g.endBlock()
	g.JNE(operand.LabelRef("block"))
	g.storeSums()
}

// begin256 starts the function.
func (g *tile256) begin256() {
	minimum := ""
	if g.decode {
		minimum = ", then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]"
	}
	g.begin(g.format256.name, "out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i]"+minimum)
}

// registers names the vector registers.
func (g *tile256) registers() {
	g.t0, g.t1, g.t2 = g.vec(8), g.vec(9), g.vec(10)
	g.scaleA, g.scaleB, g.scaleAB = g.vec(11), g.vec(12), g.vec(13)
	g.nibble, g.highMask = g.vec(14), g.vec(15)
}

// endRun goes to the next run, if there is one.
func (g *tile256) endRun() {
	if !g.decode {
		g.ADDQ(operand.U8(32), regInner)
	}
	g.ADDQ(operand.U8(32), cursorQ.at)
	g.ADDQ(operand.U8(bytesOfRun), regRun)
	g.CMPQ(regRun, operand.U32(8*bytesOfRun))
	g.JNE(operand.LabelRef("run"))
}

// reserve makes room for the sums (a token's in groups take bytesOfGroups bytes), and clears the floating-point ones.
func (g *tile256) reserve(bytesOfGroups int) {
	g.clearSums()
	g.groups = g.AllocLocal(bytesOfGroups * g.tokens)
	if !g.wide {
		g.integers = g.AllocLocal(g.width() * g.tokens * g.parts())
	}
	if g.decode {
		g.decoded = g.AllocLocal(g.sizeOfDecoded() * g.parts())
	}
	if g.requests = g.newAhead(g.quantsOfBlock, g.scales, g.inner); g.requests != nil {
		places := g.AllocLocal(8 * 4)
		g.requests.at, g.requests.count = []operand.Op{places, places.Offset(8), places.Offset(16)}, places.Offset(24)
		g.Load(g.Param("blocks"), regOffset)
		g.MOVQ(regOffset, g.requests.count)
		g.requests.start()
	}
}

// askForScales asks the cache for scales and inner scales of a block to come, and sees to where quants are asked for.
func (g *tile256) askForScales() {
	if g.requests == nil {
		return
	}
	g.requests.turn(g.argument("blocks"), regOffset)
	g.requests.ask(1, regScales, regOffset)
	g.requests.ask(2, regInner, regOffset)
}

// askAt asks the cache for lines of a block of quants to come: as many bytes as one part of the block has, which in this block begins where
// regOffset points to.
func (g *tile256) askAt(bytes int) {
	if g.requests != nil {
		g.ADDQ(g.requests.at[0], regOffset)
	}
	for at := 0; at < bytes; at += 64 {
		if g.requests != nil {
			g.PREFETCHT1(operand.Mem{Base: regOffset, Disp: at})
		} else {
			g.PREFETCHT0(operand.Mem{Base: regOffset, Disp: 2*prefetchAhead + at})
		}
	}
}

// start fills the registers and clears the sums.
func (g *tile256) start() {
	g.reserve(sumsOfToken)
	g.loadRegisters()
	if g.high != 0 {
		bits := g.high
		if !g.wide {
			bits >>= 4 // there is no rotation: they are masked before they are shifted up
		}
		g.constant(g.highMask, bits)
	}
	g.constant(g.nibble, 0x0f0f0f0f)
	if g.wide && !g.decode {
		g.MOVL(operand.U32(0xaaaaaaaa), reg.R13L)
		g.KMOVD(reg.R13L, maskOddWords)
	}
}

// loadRegisters fills the general registers.
func (g *tile256) loadRegisters() {
	g.Load(g.Param("w"), regW)
	g.Load(g.Param("scales"), regScales)
	g.Load(g.Param("inner"), regInner)
	g.Load(g.Param("q"), cursorQ.at)
	g.Load(g.Param("d"), regD)
	g.Load(g.Param("k"), cursorQ.stride)
	g.LEAQ(operand.Mem{Base: cursorQ.stride, Index: cursorQ.stride, Scale: 2}, cursorQ.stride3)
	g.MOVQ(cursorQ.stride, strideD)
	g.SHRQ(operand.U8(6), strideD)
	g.MOVQ(cursorQ.stride, strideSums)
	g.SHRQ(operand.U8(2), strideSums)
}

// convertSums converts the tokens' sums of 16 activations each to what the format needs: times −16, or sums of 32, in words.
func (g *tile256) convertSums() {
	x, y := reg.Y0, reg.Y1
	if g.decode {
		g.VPCMPEQW(y, y, y)
		g.VPSRLW(operand.U8(15), y, y) // ones
	} else {
		g.VPXOR(y, y, y)
	}
	at := regOffset
	g.MOVQ(g.argument("sums"), at)
	for t := range g.tokens {
		g.VMOVDQU(operand.Mem{Base: at}, x)
		g.VPACKSSDW(operand.Mem{Base: at, Disp: 32}, x, x)
		g.VPERMQ(operand.U8(0xd8), x, x) // words in order again
		to := g.groups.Offset(sumsOfToken * t)
		if g.decode {
			g.VPMADDWD(y, x, x)
			g.VPACKSSDW(x, x, x)
			g.VPERMQ(operand.U8(0x08), x, x)
			g.VMOVDQU(reg.X0, to)
		} else {
			g.VPSLLW(operand.U8(4), x, x)
			g.VPSUBW(x, y, x)
			g.VMOVDQU(x, to)
		}
		if t+1 < g.tokens {
			g.ADDQ(strideSums, at)
		}
	}
	g.ADDQ(operand.U8(64), g.argument("sums"))
}

// startBlock clears the integer sums, decodes inner scales and goes to the first run.
func (g *tile256) startBlock() {
	if g.decode {
		g.decodeScales()
	}
	g.zero(g.t0)
	for t := range g.tokens {
		if g.wide {
			g.zero(g.sum(t))
		} else {
			g.VMOVDQU(g.t0, g.integers.Offset(g.width()*t))
		}
	}
	g.LEAQ(g.table, regTable)
	g.XORL(reg.ECX, reg.ECX)
}

// decodeScales decodes the inner scales of Q4_K, six bits each, to words: eight vectors of scales, each twice, and four of
// minimums, in pairs. See unpackQ4_K in package quant; a vector here has four bytes of each row.
func (g *tile256) decodeScales() {
	low, high, top := g.vec(0), g.vec(1), g.vec(2) // bytes 0–3, 4–7, 8–11
	scales := [2]reg.VecPhysical{g.vec(3), g.vec(4)}
	minimums := [2]reg.VecPhysical{g.vec(5), g.vec(6)}
	g.sixBits(low, high, top, scales, minimums)
	for i := range 4 {
		g.pattern(g.shared.scales[i], g.t0)
		for half, v := range scales {
			g.VPSHUFB(g.t0, v, g.t1)
			g.VMOVUPS(g.t1, g.decodedAt(4*half+i))
		}
	}
	for i := range 2 {
		g.pattern(g.shared.minimums[i], g.t0)
		for half, v := range minimums {
			g.VPSHUFB(g.t0, v, g.t1)
			g.VMOVUPS(g.t1, g.decodedAt(8+2*half+i))
		}
	}
}

// sixBits unpacks a part's inner scales and minimums of Q4_K to bytes, by means of three registers.
func (g *tile256) sixBits(low, high, top reg.VecPhysical, scales, minimums [2]reg.VecPhysical) {
	for i, r := range []reg.VecPhysical{low, high, top} {
		g.load(g.inPart(operand.Mem{Base: regInner, Disp: 64 * i}, 4), r)
	}
	g.and(g.shared.lowerSix, low, scales[0])
	g.and(g.shared.lowerSix, high, minimums[0])
	g.and(g.nibble, top, scales[1])
	g.VPSRLW(operand.U8(4), top, top)
	g.and(g.nibble, top, minimums[1])
	for i, v := range [2]reg.VecPhysical{low, high} {
		g.VPSRLW(operand.U8(2), v, v)
		g.and(g.shared.upperTwo, v, v)
		to := [2]reg.VecPhysical{scales[1], minimums[1]}[i]
		g.or(v, to, to)
	}
}

// sizeOfDecoded returns the bytes of a part's decoded inner scales.
func (g *tile256) sizeOfDecoded() int { return 12 * g.width() }

// decodedAt returns the place of vector i of the part's decoded inner scales.
func (g *tile256) decodedAt(i int) operand.Mem {
	return g.decoded.Offset(g.part*g.sizeOfDecoded() + i*g.width())
}

// pattern reads a constant of 16 bytes into each 16 of a register.
func (g *tile256) pattern(m operand.Mem, r reg.VecPhysical) {
	if g.wide {
		g.VBROADCASTI32X4(m, r)
		return
	}
	g.VBROADCASTI128(m, r)
}

// prefetch asks the cache for the quants that the tile will need soon: an eighth of a block at each run.
func (g *tile256) prefetch() {
	g.loadEighth()
	g.askAt(g.quantsOfBlock / 8)
}

// loadEighth leaves in regOffset the offset of the run's eighth of the block's quants: a run's place in the table of runs is bytesOfRun for
// each run before it.
func (g *tile256) loadEighth() {
	times := g.quantsOfBlock / 8 / bytesOfRun // 16, 20 or 24
	scale := 8
	if times%scale != 0 {
		scale = 4
	}
	g.LEAQ(operand.Mem{Base: regRun, Index: regRun, Scale: uint8(times/scale - 1)}, regOffset)
	g.LEAQ(operand.Mem{Base: regW, Index: regOffset, Scale: uint8(scale)}, regOffset)
}

// unpackRun unpacks a run's quants.
func (g *tile256) unpackRun() {
	lowBit, highBit := g.scaleA, g.scaleB // not yet in use
	entry := func(field int) operand.Mem {
		return operand.Mem{Base: regTable, Index: regRun, Scale: 1, Disp: 4 * field}
	}
	line := func(j int) operand.Mem {
		return operand.Mem{Base: regW, Index: regOffset, Scale: 1, Disp: 64 * j}
	}
	g.loadOffset(entry(0))
	g.VPBROADCASTD(entry(1), lowBit)
	for j := range 8 {
		q := g.vec(j)
		g.load(line(j), q)
		g.VPSRLVD(lowBit, q, q)
		g.and(g.nibble, q, q)
	}
	if g.high == 0 {
		return
	}
	g.loadOffset(entry(2))
	g.VPBROADCASTD(entry(3), highBit)
	for j := range 8 {
		q, bits := g.vec(j), g.t0
		g.load(line(j), bits)
		if g.wide {
			const orAnd = 0xf8 // first | second & third
			g.VPRORVD(highBit, bits, bits)
			g.VPTERNLOGD(operand.U8(orAnd), g.highMask, bits, q)
			continue
		}
		g.VPSRLVD(highBit, bits, bits)
		g.VPAND(g.highMask, bits, bits)
		g.VPSLLD(operand.U8(4), bits, bits)
		g.VPOR(bits, q, q)
	}
}

// loadOffset loads the offset of a run's lines.
func (g *tile256) loadOffset(entry operand.Mem) {
	g.MOVL(entry, regOffset.As32())
	if g.part > 0 {
		g.LEAQ(g.inPart(operand.Mem{Base: regOffset}, 4), regOffset)
	}
}

// loadInner loads the inner scales of a run: of all its quants, or of those of its first half and of its second.
func (g *tile256) loadInner() {
	if g.decode {
		scale := g.decodedAt(0)
		scale.Index, scale.Scale = regRun, uint8(g.width()/bytesOfRun)
		g.load(scale, g.scaleA)
		return
	}
	g.pattern(g.shared.lowerWord, g.t0)
	for i, r := range []reg.VecPhysical{g.scaleA, g.scaleB} {
		g.VPMOVSXBD(g.inPart(operand.Mem{Base: regInner, Disp: 16 * i}, 1), r)
		g.VPSHUFB(g.t0, r, r)
	}
}

// loadScales loads the inner scales of a run. If quants are 32 too great, it also loads the factors that take that off again: both halves'
// scales, doubled, in turns, and the place of the pair of the activations' sums that they are multiplied with.
func (g *tile256) loadScales() {
	g.loadInner()
	if g.decode {
		return
	}
	g.VPBLENDMW(g.scaleB, g.scaleA, maskOddWords, g.scaleAB)
	g.VPSLLW(operand.U8(1), g.scaleAB, g.scaleAB)
	g.MOVQ(regRun, regOffset) // of the run's pair of sums, which has 4 bytes
	g.SHRQ(operand.U8(2), regOffset)
}

// multiplyRuns adds a run's part to the integer sums of three tokens, by VPDPBUSD. One slow multiplication for a run is better
// than many fast ones.
func (g *tile256) multiplyRuns(first, n int) {
	dots := []reg.VecPhysical{g.t0, g.t2, g.scaleB}[:n]
	for _, dot := range dots {
		g.zero(dot)
	}
	g.dotTriple(dots, first)
	for i, dot := range dots {
		g.VPMULLD(g.scaleA, dot, dot)
		i += first
		if g.wide {
			g.VPADDD(dot, g.sum(i), g.sum(i))
			continue
		}
		sum := g.integers.Offset(g.width() * i)
		g.VPADDD(sum, dot, dot)
		g.VMOVDQU(dot, sum)
	}
}

// multiplyRun adds a run's part to a token's integer sum. The sums of g.madds pairs of products stay within 16 bits.
func (g *tile256) multiplyRun(t int) {
	sum := g.sum(t)
	for j := range 8 {
		g.VPBROADCASTD(cursorQ.row(t, 4*j), g.t1)
		g.addPairs(j%g.madds, g.t1, g.vec(j), g.t1, g.t0)
		if (j+1)%g.madds == 0 {
			scale := g.scaleA
			if !g.decode && j >= 4 {
				scale = g.scaleB
			}
			g.addWords(scale, g.t0, sum)
		}
	}
	if !g.decode {
		pair := g.groups.Offset(sumsOfToken * t)
		pair.Index, pair.Scale = regOffset, 1
		g.VPBROADCASTD(pair, g.t0)
		g.addWords(g.scaleAB, g.t0, sum)
	}
}

// addWords adds the products of words, in pairs, to sum. It overwrites b.
func (g *tile256) addWords(a, b, sum reg.VecPhysical) {
	if g.vnni && g.wide {
		g.VPDPWSSD(a, b, sum)
		return
	}
	g.VPMADDWD(a, b, b)
	g.VPADDD(b, sum, sum)
}

// endBlock adds the block to the sums, goes to the next, and sets the flags for whether there is one.
func (g *tile256) endBlock() {
	g.addBlocks()
	if g.decode {
		g.ADDQ(operand.U32(g.inner), regInner)
	}
	g.ADDQ(operand.U8(4), regD)
	g.ADDQ(operand.U32(g.quantsOfBlock), regW)
	g.ADDQ(operand.U8(g.scales), regScales)
	g.DECQ(g.argument("blocks"))
}

// addBlocks adds a block to the tokens' sums.
func (g *tile256) addBlocks() {
	scale, minimum, product := g.vec(0), g.vec(1), g.vec(7)
	g.VCVTPH2PS(g.inPart(operand.Mem{Base: regScales}, 2), scale)
	if g.decode {
		g.VCVTPH2PS(g.inPart(operand.Mem{Base: regScales, Disp: 32}, 2), minimum)
		for i := range 4 {
			g.VMOVUPS(g.decodedAt(8+i), g.vec(2+i))
		}
	}
	at := regTable
	g.MOVQ(regD, at)
	for t := range g.tokens {
		d, sum, total := operand.Mem{Base: at}, g.t0, g.sums.Offset(g.width()*t)
		if g.wide {
			g.VCVTDQ2PS(g.sum(t), sum)
		} else {
			g.VCVTDQ2PS(g.integers.Offset(g.width()*t), sum)
		}
		g.scaleBy(d, scale, product)
		g.VFMADD213PS(total, product, sum)
		if g.decode {
			g.minimums(t)
			g.scaleBy(d, minimum, product)
			g.VFNMADD231PS(g.t1, product, sum)
		}
		g.VMOVUPS(sum, total)
		if t+1 < g.tokens {
			g.ADDQ(strideD, at)
		}
	}
}

// minimums leaves Σ of the minimums, in registers 2 to 5, with a token's sums in T1.
func (g *tile256) minimums(t int) {
	for i := range 4 {
		r := [...]reg.VecPhysical{g.t1, g.t2}[min(i, 1)]
		g.VPBROADCASTD(g.groups.Offset(sumsOfToken*t+4*i), r)
		g.VPMADDWD(r, g.vec(2+i), r)
		if i > 0 {
			g.VPADDD(r, g.t1, g.t1)
		}
	}
	g.VCVTDQ2PS(g.t1, g.t1)
}
