package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand" //nolint:staticcheck // the field's own notation for operands
	"github.com/mmcloughlin/avo/reg"
)

// blockFormat is a format of 32 elements, a binary16 scale and perhaps a minimum. The functions read the numbers at m, which
// is behind the scales.
type blockFormat struct {
	name    string
	bytes   int // of a block
	offset  int // of the numbers
	minimum bool
	// integers reads register i of a block's numbers, 32 bits each.
	integers func(u *unit, m Mem, i int, v reg.VecVirtual)
	// words reads register i of a block's numbers, 16 bits each; nil where keys are not read so.
	words func(u *unit, m Mem, i int, v reg.VecVirtual)
}

var blockFormats = []blockFormat{
	{"Q8_0", 34, 2, false, (*unit).bytesTo32, (*unit).bytesTo16},
	{"Q4_0", 18, 2, false, func(u *unit, m Mem, i int, v reg.VecVirtual) {
		u.nibblesTo32(m, i, v)
		u.VPADDD(u.bits(0xfffffff8), v, v)
	}, (*unit).nibblesTo16},
	{"Q4_1", 20, 4, true, (*unit).nibblesTo32, nil},
}

// formats generates what reads and writes storage formats.
func formats(c *build.Context) {
	for _, u := range units(c) {
		for _, s := range sources {
			u.widen(s)
		}
		for _, f := range blockFormats {
			u.widenBlocks(f)
			if f.words != nil {
				u.transposeBlocks(f)
			}
		}
		u.narrow()
		u.widen16()
		u.scores32()
	}
}

// widen generates the reading of a float format.
func (u *unit) widen(s source) {
	if s.name == "F32" {
		return // a copy
	}
	u.function("widen"+s.name, "func(dst *float32, src *byte, n int)", "dst[i] = element i of src, for i < n, a multiple of 16.")
	dst, src, n := u.integer("dst"), u.integer("src"), u.integer("n")
	u.Label("strips")
	u.SUBQ(Imm(lanes), n)
	u.JLT(LabelRef("done"))
	x := u.strip()
	for i, v := range x {
		s.load(u, Mem{Base: src, Disp: i * u.width * s.bytes}, v)
	}
	access{u, nil}.store(x, dst)
	u.ADDQ(U32(lanes*s.bytes), src)
	u.ADDQ(Imm(4*lanes), dst)
	u.JMP(LabelRef("strips"))
	u.Label("done")
	u.end()
}

// half reads a binary16 into every lane.
func (u *unit) half(m Mem) reg.VecVirtual {
	v := u.vector()
	if u.width == 16 {
		u.VPBROADCASTW(m, v.AsY())
		u.VCVTPH2PS(v.AsY(), v)
	} else {
		u.VPBROADCASTW(m, v.AsX())
		u.VCVTPH2PS(v.AsX(), v)
	}
	return v
}

// widenBlocks generates the reading of a format of blocks: the scale times the number, then the minimum, 0 where there is
// none, is added.
func (u *unit) widenBlocks(f blockFormat) {
	u.function("widen"+f.name, "func(dst *float32, src *byte, n int)", "dst[i] = element i of src, for i < n, whole blocks.")
	dst, src, n := u.integer("dst"), u.integer("src"), u.integer("n")
	minimum := u.zero()
	u.Label("blocks")
	u.SUBQ(Imm(32), n)
	u.JLT(LabelRef("done"))
	d := u.half(Mem{Base: src})
	if f.minimum {
		minimum = u.half(Mem{Base: src, Disp: 2})
	}
	for i := range 32 / u.width {
		v := u.vector()
		f.integers(u, Mem{Base: src, Disp: f.offset}, i, v)
		u.VCVTDQ2PS(v, v)
		u.VMULPS(d, v, v)
		u.VADDPS(minimum, v, v)
		u.VMOVUPS(v, Mem{Base: dst, Disp: i * u.width * 4})
	}
	u.ADDQ(U32(f.bytes), src)
	u.ADDQ(U32(32*4), dst)
	u.JMP(LabelRef("blocks"))
	u.Label("done")
	u.end()
}

func (u *unit) bytesTo32(m Mem, i int, v reg.VecVirtual) { u.VPMOVSXBD(m.Offset(i*u.width), v) }

func (u *unit) bytesTo16(m Mem, i int, v reg.VecVirtual) { u.VPMOVSXBW(m.Offset(i*2*u.width), v) }

func (u *unit) nibblesTo32(m Mem, i int, v reg.VecVirtual) {
	u.VPMOVZXBD(m.Offset(i*u.width%16), v)
	if i*u.width >= 16 {
		u.VPSRLD(Imm(4), v, v)
		return
	}
	if u.width == 16 {
		u.VPANDD(u.bits(15), v, v)
	} else {
		u.VPAND(u.bits(15), v, v)
	}
}

// nibblesTo16 subtracts 8, too.
func (u *unit) nibblesTo16(m Mem, i int, v reg.VecVirtual) {
	if u.width == 16 {
		twice := u.YMM()
		u.VBROADCASTI32X4(m, twice)
		u.VPMOVZXBW(twice, v)
		u.VPSRLVW(u.upperHalf(4), v, v)
		u.VPANDD(u.bits(0x000f000f), v, v)
	} else {
		u.VPMOVZXBW(m, v)
		if i == 1 {
			u.VPSRLW(Imm(4), v, v)
		} else {
			u.VPAND(u.bits(0x000f000f), v, v)
		}
	}
	u.VPADDW(u.bits(0xfff8fff8), v, v)
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
