package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Instructions that Go's assembler does not know are spelled out as bytes, under a comment that has the instruction in LLVM's
// Intel syntax. A test of package asm holds the bytes against the comments with LLVM's disassembler.

// vex is an instruction with a three-byte VEX prefix and an opcode in the map 0F38.
type vex struct {
	name   string
	isa    string
	prefix byte // no prefix, 66, F3 or F2: 0 to 3
	wide   byte // 1: 256 bits
	opcode byte
}

// The instructions.
var (
	vpdpbusd    = vex{"{vex} vpdpbusd", "AVXVNNI", 1, 1, 0x50}
	ldtilecfg   = vex{"ldtilecfg", "AMXTILE", 0, 0, 0x49}
	tilerelease = vex{"tilerelease", "AMXTILE", 0, 0, 0x49}
	tilezero    = vex{"tilezero", "AMXTILE", 3, 0, 0x49}
	tileloadd   = vex{"tileloadd", "AMXTILE", 3, 0, 0x4b}
	tilestored  = vex{"tilestored", "AMXTILE", 2, 0, 0x4b}
	tdpbssd     = vex{"tdpbssd", "AMXINT8", 3, 0, 0x5e}
	tdpbsud     = vex{"tdpbsud", "AMXINT8", 2, 0, 0x5e}
)

// begin returns the instruction up to its opcode, with the fourth bits of the registers in ModRM.reg, index and base, and the
// register in VEX.vvvv.
func (v vex) begin(r, x, b, vvvv int) []byte {
	return []byte{0xc4, byte(^r>>3&1<<7 | ^x>>3&1<<6 | ^b>>3&1<<5 | 0x02), byte(^vvvv&15<<3) | v.wide<<2 | v.prefix, v.opcode}
}

// registers returns the instruction with registers in ModRM.reg, VEX.vvvv and ModRM.rm.
func (v vex) registers(r, vvvv, rm int) []byte {
	return append(v.begin(r, 0, rm, vvvv), byte(0xc0|r&7<<3|rm&7))
}

// memory returns the instruction with registers in ModRM.reg and VEX.vvvv and an address: base + index + disp, or, without an index, base +
// disp. The base is neither RSP nor R12.
func (v vex) memory(r, vvvv int, m operand.Mem) []byte {
	base, code := number(m.Base), []byte(nil)
	if m.Index == nil {
		code = append(v.begin(r, 0, base, vvvv), byte(0x80|r&7<<3|base&7))
	} else {
		index := number(m.Index)
		code = append(v.begin(r, index, base, vvvv), byte(0x80|r&7<<3|4), byte(index&7<<3|base&7))
	}
	return binary.LittleEndian.AppendUint32(code, uint32(m.Disp))
}

// number returns a general register's number.
func number(r reg.Register) int { return int(reg.ToPhysical(r).PhysicalIndex()) }

// address returns an address in Intel syntax.
func address(m operand.Mem) string {
	names := [...]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}
	text := names[number(m.Base)]
	if m.Index != nil {
		text += " + " + names[number(m.Index)]
	}
	switch {
	case m.Disp > 0:
		text += fmt.Sprintf(" + %d", m.Disp)
	case m.Disp < 0:
		text += fmt.Sprintf(" - %d", -m.Disp)
	}
	return "[" + text + "]"
}

// spell writes an instruction's bytes.
func (v vex) spell(c Context, code []byte, operands ...string) {
	c.Comment(strings.TrimSpace(v.name + " " + strings.Join(operands, ", ")))
	emit := func(directive string, value operand.Op) {
		c.Instruction(&ir.Instruction{Opcode: directive, Operands: []operand.Op{value}, ISA: []string{v.isa}})
	}
	for ; len(code) >= 4; code = code[4:] {
		emit("LONG", operand.U32(binary.LittleEndian.Uint32(code)))
	}
	if len(code) >= 2 {
		emit("WORD", operand.U16(binary.LittleEndian.Uint16(code)))
		code = code[2:]
	}
	if len(code) == 1 {
		emit("BYTE", operand.U8(code[0]))
	}
}

// tmm returns the name of a tile register.
func tmm(i int) string { return fmt.Sprintf("tmm%d", i) }

// configureTiles loads the shapes of the tile registers.
func configureTiles(c Context, m operand.Mem) {
	ldtilecfg.spell(c, ldtilecfg.memory(0, 0, m), address(m))
}

// releaseTiles clears the tile registers, so that the system need not keep them.
func releaseTiles(c Context) { tilerelease.spell(c, tilerelease.registers(0, 0, 0)) }

// zeroTile clears a tile register.
func zeroTile(c Context, t int) { tilezero.spell(c, tilezero.registers(t, 0, 0), tmm(t)) }

// loadTile reads a tile: its rows are m.Index bytes apart.
func loadTile(c Context, m operand.Mem, t int) {
	tileloadd.spell(c, tileloadd.memory(t, 0, m), tmm(t), address(m))
}

// storeTile writes a tile: its rows are m.Index bytes apart.
func storeTile(c Context, t int, m operand.Mem) {
	tilestored.spell(c, tilestored.memory(t, 0, m), address(m), tmm(t))
}

// multiplyTiles adds the products of signed bytes: sum[i][j] += Σ_k a[i][k]·b[k/4][4j + k%4].
func multiplyTiles(c Context, a, b, sum int) {
	tdpbssd.spell(c, tdpbssd.registers(sum, b, a), tmm(sum), tmm(a), tmm(b))
}

// multiplyTilesUnsigned is multiplyTiles for unsigned bytes in b.
func multiplyTilesUnsigned(c Context, a, b, sum int) {
	tdpbsud.spell(c, tdpbsud.registers(sum, b, a), tmm(sum), tmm(a), tmm(b))
}

// multiplyUnsigned is VPDPBUSD of AVX-VNNI: sum += unsigned·signed, by four bytes.
func multiplyUnsigned(c Context, signed, unsigned, sum reg.VecPhysical) {
	n := func(r reg.VecPhysical) int { return int(r.PhysicalIndex()) }
	name := func(r reg.VecPhysical) string { return fmt.Sprintf("ymm%d", n(r)) }
	vpdpbusd.spell(c, vpdpbusd.registers(n(sum), n(unsigned), n(signed)), name(sum), name(unsigned), name(signed))
}

// multiplyUnsignedFrom is multiplyUnsigned with the signed bytes in memory.
func multiplyUnsignedFrom(c Context, signed operand.Mem, unsigned, sum reg.VecPhysical) {
	n := func(r reg.VecPhysical) int { return int(r.PhysicalIndex()) }
	name := func(r reg.VecPhysical) string { return fmt.Sprintf("ymm%d", n(r)) }
	vpdpbusd.spell(c, vpdpbusd.memory(n(sum), n(unsigned), signed), name(sum), name(unsigned), "ymmword ptr "+address(signed))
}
