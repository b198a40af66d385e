package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand" //nolint:staticcheck // the field's own notation for operands
	"github.com/mmcloughlin/avo/reg"
)

// transpose generates what packs weights: rows become the units of a panel. AVX2 is enough, since packing waits for memory.
func transpose(c *build.Context) {
	u := units(c)[0]
	defer u.quantizers()
	u.chunks(4, [8]int{0, 1, 2, 3, 8, 9, 10, 11}, 4, func(rows []reg.VecVirtual) []reg.VecVirtual {
		// A register has four rows, and after two steps two columns, of four rows each.
		low, high := u.columnsOf4(rows[:4]), u.columnsOf4(rows[4:])
		var lines []reg.VecVirtual
		for i := range low {
			lines = append(lines, low[i], high[i])
		}
		return lines
	})
	u.chunks(2, [8]int{0, 1, 2, 3, 4, 5, 6, 7}, 8, func(rows []reg.VecVirtual) []reg.VecVirtual {
		rows = u.interleave(rows, 4, u.VPUNPCKLWD, u.VPUNPCKHWD)
		rows = u.interleave(rows, 4, u.VPUNPCKLWD, u.VPUNPCKHWD)
		return u.interleave(rows, 4, u.VPUNPCKLWD, u.VPUNPCKHWD)
	})
	u.chunks(1, [8]int{0, 1, 2, 3, 4, 5, 6, 7}, 8, func(rows []reg.VecVirtual) []reg.VecVirtual {
		rows = u.interleave(rows, 4, u.VPUNPCKLBW, u.VPUNPCKHBW)
		rows = u.interleave(rows, 4, u.VPUNPCKLBW, u.VPUNPCKHBW)
		rows = u.interleave(rows, 4, u.VPUNPCKLBW, u.VPUNPCKHBW)
		for _, v := range rows { // which has two columns, of the first eight rows and then of the last
			u.VPERMQ(Imm(0b11011000), v, v)
		}
		return rows
	})
	u.column(4, func(src, dst Mem, r reg.GPVirtual) { u.MOVL(src, r.As32()); u.MOVL(r.As32(), dst) })
	u.column(2, func(src, dst Mem, r reg.GPVirtual) { u.MOVWLZX(src, r.As32()); u.MOVW(r.As16(), dst) })
}

// interleave returns registers in pairs: each pair has the halves of register i and register i+distance, element by element. Three times
// this, with eight registers, transposes eight rows.
func (u *unit) interleave(v []reg.VecVirtual, distance int, low, high func(...Op)) (out []reg.VecVirtual) {
	for i := range distance {
		l := u.YMM()
		low(v[i+distance], v[i], l)
		high(v[i+distance], v[i], v[i]) // no further register: AVX2 has sixteen
		out = append(out, l, v[i])
	}
	return out
}

// columnsOf4 transposes four rows of four elements of 32 bits, in both halves of the registers.
func (u *unit) columnsOf4(v []reg.VecVirtual) []reg.VecVirtual {
	v = u.interleave(v, 2, u.VPUNPCKLDQ, u.VPUNPCKHDQ)
	return u.interleave(v, 2, u.VPUNPCKLDQ, u.VPUNPCKHDQ)
}

// panelRows addresses the rows of a panel.
type panelRows struct {
	every [4]reg.GPVirtual // rows 0, 4, 8 and 12
	one   reg.GPVirtual    // bytes from a row to the next
	three reg.GPVirtual    // and to the third after it
}

// rows loads the parameters src and rowBytes.
func (u *unit) rows() (p panelRows) {
	p.every[0], p.one, p.three = u.integer("src"), u.integer("rowBytes"), u.GP64()
	u.LEAQ(Mem{Base: p.one, Index: p.one, Scale: 2}, p.three)
	for i := 1; i < 4; i++ {
		p.every[i] = u.GP64()
		u.LEAQ(Mem{Base: p.every[i-1], Index: p.one, Scale: 4}, p.every[i])
	}
	return p
}

// at is the address of a row.
func (p panelRows) at(r int) Mem {
	m := Mem{Base: p.every[r/4]}
	switch r % 4 {
	case 1:
		m.Index, m.Scale = p.one, 1
	case 2:
		m.Index, m.Scale = p.one, 2
	case 3:
		m.Index, m.Scale = p.three, 1
	}
	return m
}

// move moves all rows on.
func (p panelRows) move(u *unit, by Op) {
	for _, r := range p.every {
		u.ADDQ(by, r)
	}
}

// chunks generates the transposition of units of some bytes, 16 bytes of each row at a time. A register gets row first[i] and, above it, the
// row above rows later; transposed are the registers to write, one after another.
func (u *unit) chunks(size int, first [8]int, above int, transposed func(rows []reg.VecVirtual) []reg.VecVirtual) {
	u.function(fmt.Sprintf("transpose%d", size), "func(dst, src *byte, rowBytes, blocks, srcStep, dstStep, chunks int)",
		fmt.Sprintf("transposition.portable for a field of 16·chunks bytes, chunks > 0, in units of %d; blocks > 0.", size))
	rows, dst := u.rows(), u.integer("dst")
	blocks, srcStep, dstStep, chunks := u.integer("blocks"), u.integer("srcStep"), u.integer("dstStep"), u.integer("chunks")
	left := u.GP64()
	u.MOVQ(chunks, left)
	u.SHLQ(Imm(4), left)
	u.SUBQ(left, srcStep)
	u.SHLQ(Imm(4), left)
	u.SUBQ(left, dstStep)
	u.Label("block")
	u.MOVQ(chunks, left)
	u.Label("chunk")
	var registers []reg.VecVirtual
	for _, r := range first {
		v := u.YMM()
		u.VMOVDQU(rows.at(r), v.AsX())
		u.VINSERTI128(Imm(1), rows.at(r+above), v, v)
		registers = append(registers, v)
	}
	for i, v := range transposed(registers) {
		u.VMOVDQU(v, Mem{Base: dst, Disp: 32 * i})
	}
	rows.move(u, Imm(16))
	u.ADDQ(U32(256), dst)
	u.DECQ(left)
	u.JNZ(LabelRef("chunk"))
	rows.move(u, srcStep)
	u.ADDQ(dstStep, dst)
	u.DECQ(blocks)
	u.JNZ(LabelRef("block"))
	u.end()
}

// column generates the copying of a single unit of each row of each block.
func (u *unit) column(size int, move func(src, dst Mem, r reg.GPVirtual)) {
	u.function(fmt.Sprintf("column%d", size), "func(dst, src *byte, rowBytes, blocks, srcStep, dstStep int)",
		fmt.Sprintf("transposition.portable for a field of one unit, of %d bytes; blocks > 0.", size))
	rows, dst := u.rows(), u.integer("dst")
	blocks, srcStep, dstStep := u.integer("blocks"), u.integer("srcStep"), u.integer("dstStep")
	u.Label("block")
	for r := range 16 {
		move(rows.at(r), Mem{Base: dst, Disp: r * size}, u.GP64())
	}
	rows.move(u, srcStep)
	u.ADDQ(dstStep, dst)
	u.DECQ(blocks)
	u.JNZ(LabelRef("block"))
	u.RET()
}
