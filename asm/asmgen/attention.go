package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand" //nolint:staticcheck // the field's own notation for operands
	"github.com/mmcloughlin/avo/reg"
)

// tileKeys is asm.TileKeys, the distance of two rows of scores.
const tileKeys = 128

// source is how elements lie in memory, and how a register of them is read as float32.
type source struct {
	name  string
	bytes int // of an element
	load  func(u *unit, m Mem, v reg.VecVirtual)
}

var sources = []source{
	{"F32", 4, func(u *unit, m Mem, v reg.VecVirtual) { u.VMOVUPS(m, v) }},
	{"F16", 2, func(u *unit, m Mem, v reg.VecVirtual) { u.VCVTPH2PS(m, v) }},
	{"BF16", 2, func(u *unit, m Mem, v reg.VecVirtual) {
		u.VPMOVZXWD(m, v)
		u.VPSLLD(Imm(16), v, v)
	}},
}

// attention generates the parts of attention to one tile.
func attention(c *build.Context) {
	prefetch(c)
	for _, u := range units(c) {
		u.scores()
		for _, s := range sources {
			u.transpose(s)
			u.values(s)
		}
		for _, f := range blockFormats {
			if f.words != nil {
				u.transposeBlocks(f)
			}
		}
		u.widen16()
		u.scores32()
	}
}

// prefetch generates the request for slots that will be needed soon: they lie too far apart for the processor to guess.
func prefetch(c *build.Context) {
	u := &unit{Context: c}
	u.function("prefetch", "func(p *byte, stride, n, bytes int)",
		"nothing: it asks the cache for the given number of bytes at each p[j·stride:], j < n. Any address will do.")
	base, stride, n, bytes := u.integer("p"), u.integer("stride"), u.integer("n"), u.integer("bytes")
	u.Label("slots")
	u.DECQ(n)
	u.JLT(LabelRef("done"))
	at, left := u.GP64(), u.GP64()
	u.MOVQ(base, at)
	u.MOVQ(bytes, left)
	u.Label("lines")
	u.PREFETCHT0(Mem{Base: at})
	u.ADDQ(Imm(64), at)
	u.SUBQ(Imm(64), left)
	u.JG(LabelRef("lines"))
	u.ADDQ(stride, base)
	u.JMP(LabelRef("slots"))
	u.Label("done")
	u.RET()
}

// transpose generates the transposition of keys, so that the lanes of the scores are keys.
func (u *unit) transpose(s source) {
	u.function("transpose"+s.name, "func(panel *float32, k *byte, stride, n, headDim int)",
		fmt.Sprintf("panel[i·%d + j] = element i of the key at k[j·stride:] for j < %d, i < headDim. From n on, n > 0, the", 2*u.width, u.width),
		fmt.Sprintf("last key is repeated. headDim is a multiple of %d.", u.width))
	panel, base, stride := u.integer("panel"), u.integer("k"), u.integer("stride")
	n, left, none := u.integer("n"), u.integer("headDim"), u.GP64()
	u.XORQ(none, none)
	u.Label("columns")
	u.transposeWalk(base, stride, n, none, func(at reg.GPVirtual, _ int, v reg.VecVirtual) { s.load(u, Mem{Base: at}, v) }, panel)
	u.ADDQ(U32(u.width*2*u.width*4), panel)
	u.ADDQ(U32(u.width*s.bytes), base)
	u.SUBQ(U32(u.width), left)
	u.JG(LabelRef("columns"))
	u.end()
}

// transposeWalk loads one register of each key, for as many keys as a register has lanes, and writes them to the panel transposed.
// From key n on it loads the last key again; none is a register with 0.
func (u *unit) transposeWalk(base, stride, n, none reg.GPVirtual, load func(at reg.GPVirtual, key int, v reg.VecVirtual), panel reg.GPVirtual) {
	at, step := u.GP64(), u.GP64()
	u.MOVQ(base, at)
	u.MOVQ(stride, step)
	quads := make([][4]reg.VecVirtual, u.width/4) // [four keys][column in a lane]
	for g := range quads {
		var rows [4]reg.VecVirtual
		for i := range rows {
			rows[i] = u.vector()
			load(at, 4*g+i, rows[i])
			if next := 4*g + i + 1; next < u.width {
				u.CMPQ(n, U32(next))
				u.CMOVQLE(none, step)
				u.ADDQ(step, at)
			}
		}
		quads[g] = u.transpose4(rows)
	}
	for c := range 4 {
		column := make([]reg.VecVirtual, len(quads))
		for g := range quads {
			column[g] = quads[g][c]
		}
		for lane, v := range u.transposeLanes(column) {
			u.VMOVUPS(v, Mem{Base: panel, Disp: (4*lane + c) * 2 * u.width * 4})
		}
	}
}

// transpose4 transposes the 4×4 elements in each 128 bits of four registers.
func (u *unit) transpose4(r [4]reg.VecVirtual) (c [4]reg.VecVirtual) {
	var t [4]reg.VecVirtual
	for i := range t {
		t[i], c[i] = u.vector(), u.vector()
	}
	for i := range 2 {
		u.VUNPCKLPS(r[2*i+1], r[2*i], t[2*i])
		u.VUNPCKHPS(r[2*i+1], r[2*i], t[2*i+1])
	}
	for i := range 2 {
		u.VUNPCKLPD(t[2+i], t[i], c[2*i])
		u.VUNPCKHPD(t[2+i], t[i], c[2*i+1])
	}
	return c
}

// transposeLanes transposes the 128-bit lanes of as many registers as they have lanes.
func (u *unit) transposeLanes(r []reg.VecVirtual) []reg.VecVirtual {
	out := make([]reg.VecVirtual, len(r))
	for i := range out {
		out[i] = u.vector()
	}
	if len(r) == 2 {
		u.VPERM2F128(Imm(0x20), r[1], r[0], out[0])
		u.VPERM2F128(Imm(0x31), r[1], r[0], out[1])
		return out
	}
	for i, half := range []uint64{0x44, 0xee} {
		x, y := u.vector(), u.vector()
		u.VSHUFF32X4(Imm(half), r[1], r[0], x)
		u.VSHUFF32X4(Imm(half), r[3], r[2], y)
		u.VSHUFF32X4(Imm(0x88), y, x, out[2*i])
		u.VSHUFF32X4(Imm(0xdd), y, x, out[2*i+1])
	}
	return out
}

// scores generates the scores of some rows with the keys of a panel. The chains of eight sums, or sixteen, hide the latency of
// the multiply-add.
func (u *unit) scores() {
	counts, most := []int{4, 3, 2, 1}, "rows ≤ 4"
	if u.width == 16 { // twice the registers
		counts, most = append([]int{8}, counts...), "rows ≤ 4 or = 8"
	}
	u.function("scores", "func(out, panel, q *float32, headDim, rows int)",
		fmt.Sprintf("out[r·TileKeys + j] = Σ panel[i·%d + j]·q[r·headDim + i] for j < %d, r < %s, in order of i < headDim,", 2*u.width, 2*u.width, most),
		"each step one fma.")
	out, panel, q, size, rows := u.integer("out"), u.integer("panel"), u.integer("q"), u.integer("headDim"), u.integer("rows")
	left, third, fifth := u.GP64(), u.GP64(), u.GP64()
	u.MOVQ(size, left)
	u.SHLQ(Imm(2), size)
	u.LEAQ(Mem{Base: size, Index: size, Scale: 2}, third)
	u.ADDQ(q, third)
	u.LEAQ(Mem{Base: third, Index: size, Scale: 2}, fifth)
	queries := []Mem{
		{Base: q}, {Base: q, Index: size, Scale: 1}, {Base: q, Index: size, Scale: 2}, {Base: third},
		{Base: q, Index: size, Scale: 4}, {Base: fifth}, {Base: fifth, Index: size, Scale: 1}, {Base: fifth, Index: size, Scale: 2},
	}
	u.byRows(rows, counts, func(n int) {
		label := fmt.Sprintf("elements%d", n)
		sums := make([][2]reg.VecVirtual, n)
		for r := range sums {
			sums[r] = [2]reg.VecVirtual{u.zero(), u.zero()}
		}
		u.Label(label)
		keys := [2]reg.VecVirtual{u.vector(), u.vector()}
		for i, k := range keys {
			u.VMOVUPS(Mem{Base: panel, Disp: i * u.width * 4}, k)
		}
		for r := range sums {
			x := u.vector()
			u.VBROADCASTSS(queries[r], x)
			for i, k := range keys {
				u.VFMADD231PS(k, x, sums[r][i])
			}
		}
		u.ADDQ(U32(2*u.width*4), panel)
		u.ADDQ(Imm(4), q)
		u.ADDQ(Imm(4), third)
		if n > 4 {
			u.ADDQ(Imm(4), fifth)
		}
		u.DECQ(left)
		u.JNZ(LabelRef(label))
		for r := range sums {
			for i, s := range sums[r] {
				u.VMOVUPS(s, Mem{Base: out, Disp: (r*tileKeys + i*u.width) * 4})
			}
		}
	})
}

// byRows generates code for several numbers of rows, the last of which is 1, and ends the function after each.
func (u *unit) byRows(rows reg.GPVirtual, counts []int, code func(rows int)) {
	for _, n := range counts[:len(counts)-1] {
		next := fmt.Sprintf("below%d", n)
		u.CMPQ(rows, U32(n))
		u.JLT(LabelRef(next))
		code(n)
		u.end()
		u.Label(next)
	}
	code(1)
	u.end()
}

// values generates the weighted sum of values for some rows, which share what is read.
func (u *unit) values(s source) {
	u.function("values"+s.name, "func(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim, rows int)",
		"outR[i] = fma(p[R·TileKeys + j], element i of the value at v[j·stride:], outR[i]) for i < headDim, R < rows ≤ 4, in order of",
		fmt.Sprintf("j < n, n > 0. headDim is a multiple of %d.", u.width))
	var outs [4]reg.GPVirtual
	for r := range outs {
		outs[r] = u.integer(fmt.Sprintf("out%d", r))
	}
	base, stride, left, rows := u.integer("v"), u.integer("stride"), u.integer("headDim"), u.integer("rows")
	wide := 2 // registers of a value at a time
	if u.width == 16 {
		wide = 4
	}
	u.byRows(rows, []int{4, 3, 2, 1}, func(n int) {
		for _, registers := range []int{wide, 1} {
			columns := registers * u.width
			columnsLabel, done := fmt.Sprintf("columns%dx%d", n, columns), fmt.Sprintf("done%dx%d", n, columns)
			u.Label(columnsLabel)
			u.CMPQ(left, U32(columns))
			u.JLT(LabelRef(done))
			u.valueColumns(s, outs[:n], base, stride, registers)
			for _, o := range outs[:n] {
				u.ADDQ(U32(columns*4), o)
			}
			u.ADDQ(U32(columns*s.bytes), base)
			u.SUBQ(U32(columns), left)
			u.JMP(LabelRef(columnsLabel))
			u.Label(done)
		}
	})
}

// valueColumns adds the columns of all values that fit in the given number of registers.
func (u *unit) valueColumns(s source, outs []reg.GPVirtual, base, stride reg.GPVirtual, registers int) {
	p, n, at := u.integer("p"), u.integer("n"), u.GP64()
	u.MOVQ(base, at)
	sums := make([][]reg.VecVirtual, len(outs))
	for r, o := range outs {
		for i := range registers {
			v := u.vector()
			u.VMOVUPS(Mem{Base: o, Disp: i * u.width * 4}, v)
			sums[r] = append(sums[r], v)
		}
	}
	slots := fmt.Sprintf("slots%dx%d", len(outs), registers)
	u.Label(slots)
	var value []reg.VecVirtual
	for i := range registers {
		v := u.vector()
		s.load(u, Mem{Base: at, Disp: i * u.width * s.bytes}, v)
		value = append(value, v)
	}
	for r := range outs {
		x := u.vector()
		u.VBROADCASTSS(Mem{Base: p, Disp: r * tileKeys * 4}, x)
		for i, v := range value {
			u.VFMADD231PS(v, x, sums[r][i])
		}
	}
	u.ADDQ(stride, at)
	u.ADDQ(Imm(4), p)
	u.DECQ(n)
	u.JNZ(LabelRef(slots))
	for r, o := range outs {
		for i, v := range sums[r] {
			u.VMOVUPS(v, Mem{Base: o, Disp: i * u.width * 4})
		}
	}
}

// transposeBlocks generates the transposition of keys in blocks: pairs of neighbouring numbers stay together.
func (u *unit) transposeBlocks(f blockFormat) {
	u.function("transpose"+f.name, "func(panel *int32, scales *float32, k *byte, stride, n, headDim int)",
		fmt.Sprintf("panel[i·%d + j] = numbers 2i and 2i+1 of the key at k[j·stride:], 16 bits each, and scales[b·%d + j] = the", 2*u.width, 2*u.width),
		fmt.Sprintf("scale of its block b, for j < %d, i < headDim/2. From n on, n > 0, the last key is repeated.", u.width))
	panel, scales, base, stride := u.integer("panel"), u.integer("scales"), u.integer("k"), u.integer("stride")
	n, left, none := u.integer("n"), u.integer("headDim"), u.GP64()
	u.XORQ(none, none)
	u.Label("blocks")
	var halves [2]reg.VecVirtual
	for i := range u.width / 8 {
		halves[i] = u.XMM()
		u.VPXOR(halves[i], halves[i], halves[i])
	}
	for i := range 16 / u.width {
		u.transposeWalk(base, stride, n, none, func(at reg.GPVirtual, key int, v reg.VecVirtual) {
			f.words(u, Mem{Base: at, Disp: f.offset}, i, v)
			if i == 0 {
				h := halves[key/8]
				u.VPINSRW(U8(key%8), Mem{Base: at}, h, h)
			}
		}, panel)
		u.ADDQ(U32(u.width*2*u.width*4), panel)
	}
	for i := range u.width / 8 {
		v := u.YMM()
		u.VCVTPH2PS(halves[i], v)
		u.VMOVUPS(v, Mem{Base: scales, Disp: i * 32})
	}
	u.ADDQ(U32(2*u.width*4), scales)
	u.ADDQ(U32(f.bytes), base)
	u.SUBQ(Imm(32), left)
	u.JG(LabelRef("blocks"))
	u.end()
}

// widen16 generates the widening of bytes to 16 bits.
func (u *unit) widen16() {
	u.function("widen16", "func(dst *int16, src *int8, n int)", "dst[i] = src[i] for i < n, a multiple of 32.")
	dst, src, n := u.integer("dst"), u.integer("src"), u.integer("n")
	u.Label("blocks")
	u.SUBQ(Imm(32), n)
	u.JLT(LabelRef("done"))
	for i := range 16 / u.width {
		v := u.vector()
		u.bytesTo16(Mem{Base: src}, i, v)
		u.VMOVUPS(v, Mem{Base: dst, Disp: i * u.width * 4})
	}
	u.ADDQ(Imm(32), src)
	u.ADDQ(Imm(64), dst)
	u.JMP(LabelRef("blocks"))
	u.Label("done")
	u.end()
}

// scores32 generates the scores of some rows with the keys of a panel of blocks.
func (u *unit) scores32() {
	u.function("scores32", "func(out *float32, panel *int32, scales *float32, q *int16, d *float32, headDim, rows int)",
		fmt.Sprintf("out[r·TileKeys + j] for j < %d, r < rows ≤ 4: the products of a panel's keys with queries of 16 bits, whose", 2*u.width),
		"scales are d, block by block in order, each fma(scale·d, float32(Σ of the block), sum).")
	out, panel, scales := u.integer("out"), u.integer("panel"), u.integer("scales")
	q, d, size, rows := u.integer("q"), u.integer("d"), u.integer("headDim"), u.integer("rows")
	left, last, lastD := u.GP64(), u.GP64(), u.GP64()
	u.MOVQ(size, left)
	u.ADDQ(size, size) // bytes of a query
	u.LEAQ(Mem{Base: size, Index: size, Scale: 2}, last)
	u.ADDQ(q, last)
	sizeD := u.GP64()
	u.MOVQ(size, sizeD)
	u.SHRQ(Imm(4), sizeD) // bytes of a query's scales: 4 for 64
	u.LEAQ(Mem{Base: sizeD, Index: sizeD, Scale: 2}, lastD)
	u.ADDQ(d, lastD)
	fourth := func(base, size, last reg.GPVirtual) []Mem {
		return []Mem{{Base: base}, {Base: base, Index: size, Scale: 1}, {Base: base, Index: size, Scale: 2}, {Base: last}}
	}
	queries, queryScales := fourth(q, size, last), fourth(d, sizeD, lastD)
	sumAt := func(r, i int) Mem { return Mem{Base: out, Disp: (r*tileKeys + i*u.width) * 4} }
	u.byRows(rows, []int{4, 3, 2, 1}, func(n int) {
		zero := u.zero()
		for r := range n {
			for i := range 2 {
				u.VMOVUPS(zero, sumAt(r, i))
			}
		}
		blocks, pairs := fmt.Sprintf("blocks%d", n), fmt.Sprintf("pairs%d", n)
		u.Label(blocks)
		sums := make([][2]reg.VecVirtual, n)
		for r := range sums {
			sums[r] = [2]reg.VecVirtual{u.zero(), u.zero()}
		}
		count := u.GP64()
		u.MOVQ(U32(16), count)
		u.Label(pairs)
		keys := [2]reg.VecVirtual{u.vector(), u.vector()}
		for i, k := range keys {
			u.VMOVUPS(Mem{Base: panel, Disp: i * u.width * 4}, k)
		}
		for r := range sums {
			x := u.vector()
			u.VPBROADCASTD(queries[r], x)
			for i, k := range keys {
				y := u.vector()
				u.VPMADDWD(k, x, y)
				u.VPADDD(y, sums[r][i], sums[r][i])
			}
		}
		u.ADDQ(U32(2*u.width*4), panel)
		u.ADDQ(Imm(4), q)
		u.ADDQ(Imm(4), last)
		u.DECQ(count)
		u.JNZ(LabelRef(pairs))
		for r := range sums {
			x := u.vector()
			u.VBROADCASTSS(queryScales[r], x)
			for i, s := range sums[r] {
				scale, acc := u.vector(), u.vector()
				u.VMULPS(Mem{Base: scales, Disp: i * u.width * 4}, x, scale)
				u.VCVTDQ2PS(s, s)
				u.VMOVUPS(sumAt(r, i), acc)
				u.VFMADD231PS(s, scale, acc)
				u.VMOVUPS(acc, sumAt(r, i))
			}
		}
		u.ADDQ(U32(2*u.width*4), scales)
		u.ADDQ(Imm(4), d)
		u.ADDQ(Imm(4), lastD)
		u.SUBQ(Imm(32), left)
		u.JNZ(LabelRef(blocks))
	})
}
