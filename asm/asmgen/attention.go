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
	for _, u := range units(c) {
		for _, s := range sources {
			u.values(s)
		}
	}
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
