package main

import (
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
}

var blockFormats = []blockFormat{
	{"Q8_0", 34, 2, false, (*unit).bytesTo32},
	{"Q4_0", 18, 2, false, func(u *unit, m Mem, i int, v reg.VecVirtual) {
		u.nibblesTo32(m, i, v)
		u.VPADDD(u.bits(0xfffffff8), v, v)
	}},
	{"Q4_1", 20, 4, true, (*unit).nibblesTo32},
}

// convert generates what reads and writes storage formats.
func convert(c *build.Context) {
	for _, u := range units(c) {
		for _, s := range sources {
			u.dequantize(s)
		}
		for _, f := range blockFormats {
			u.dequantizeBlocks(f)
		}
		u.quantize()
	}
}

// dequantize generates the reading of a float format.
func (u *unit) dequantize(s source) {
	if s.name == "F32" {
		return // a copy
	}
	u.function("dequantize"+s.name, "func(dst *float32, src *byte, n int)", "dst[i] = element i of src, for i < n, a multiple of 16.")
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

// dequantizeBlocks generates the reading of a format of blocks: the scale times the number, then the minimum, 0 for formats without, is
// added.
func (u *unit) dequantizeBlocks(f blockFormat) {
	u.function("dequantize"+f.name, "func(dst *float32, src *byte, n int)", "dst[i] = element i of src, for i < n, whole blocks.")
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
