package main

import (
	"math"

	. "github.com/mmcloughlin/avo/operand" //nolint:staticcheck // the field's own notation for operands
	"github.com/mmcloughlin/avo/reg"
)

// panelFloats are the formats that are quantised to panels: the bytes of an element, and how eight of them become floats.
var panelFloats = []struct {
	name  string
	bytes int
	load  func(u *unit, m Mem, v reg.VecVirtual)
}{
	{"F32", 4, func(u *unit, m Mem, v reg.VecVirtual) { u.VMOVUPS(m, v) }},
	{"F16", 2, func(u *unit, m Mem, v reg.VecVirtual) { u.VCVTPH2PS(m, v) }},
	{"BF16", 2, func(u *unit, m Mem, v reg.VecVirtual) { u.VPMOVZXWD(m, v); u.VPSLLD(Imm(16), v, v) }},
}

// quantizers generates the quantising of panels of floats. A lane is a row and its block, so that nothing goes across lanes: the
// largest magnitude, the scale and its inverse are found for eight rows as fast as for one, and the bytes of four elements come to lie as
// the panel wants them. A row after the other, as package convert does it, takes four to five times as long.
func (u *unit) quantizers() {
	for _, from := range panelFloats {
		q := panelQuantizer{unit: u, line: 16 * from.bytes, load: from.load}
		q.generate("Q4_0", from.name, 4, true, q.scaleQ4_0, q.fourQ4_0)
		q.generate("Q8_0", from.name, 8, false, q.scaleQ8_0, q.fourQ8_0)
	}
}

// panelQuantizer generates the quantising of panels. A line, one element of each row, has some bytes.
type panelQuantizer struct {
	*unit
	line int
	load func(u *unit, m Mem, v reg.VecVirtual)
}

// element loads element i, from the pointer on, of half the rows.
func (q panelQuantizer) element(p reg.GPVirtual, i, half int) reg.VecVirtual {
	v := q.YMM()
	q.load(q.unit, Mem{Base: p, Disp: i*q.line + half*q.line/2}, v)
	return v
}

// generate generates a function. A block has four elements of each row in each of groups lines of the panel. With extremes, scale gets
// the first of the elements of the largest magnitude, and else the magnitude.
func (q panelQuantizer) generate(to, from string, groups int, extremes bool, scale func(v reg.VecVirtual), four func(p reg.GPVirtual, half int, inverse reg.VecVirtual) reg.VecVirtual) {
	q.function("quantize"+to+"From"+from, "func(quants, scales, src *byte, blocks int)",
		"the panel's quants and scales for blocks of 32 lines of src; blocks > 0.")
	quants, scales, src, blocks := q.integer("quants"), q.integer("scales"), q.integer("src"), q.integer("blocks")
	p, count := q.GP64(), q.GP64()
	q.Label("block")
	var top, extreme [2]reg.VecVirtual
	for half := range 2 {
		top[half] = q.zero()
		if extremes {
			extreme[half] = q.zero()
		}
	}
	q.MOVQ(src, p)
	q.MOVQ(U32(8), count)
	q.Label("largest")
	for i := range 4 {
		for half := range 2 {
			v, magnitude := q.element(p, i, half), q.YMM()
			q.VANDPS(q.bits(math.MaxInt32), v, magnitude)
			if extremes {
				mask := q.YMM()
				q.VPCMPGTD(top[half], magnitude, mask)
				q.VBLENDVPS(mask, v, extreme[half], extreme[half])
			}
			q.VPMAXUD(top[half], magnitude, top[half]) // as integers: NaNs are the largest
		}
	}
	q.ADDQ(U32(uint32(4*q.line)), p)
	q.DECQ(count)
	q.JNZ(LabelRef("largest"))
	var inverse [2]reg.VecVirtual
	for half := range 2 {
		d := top[half]
		if extremes {
			d = extreme[half]
		}
		scale(d)
		q.VMINPS(q.float(float32(math.Inf(1))), d, d) // of a NaN and a number the result is the first operand
		q.VCVTPS2PH(Imm(0), d, Mem{Base: scales, Disp: 16 * half})
		inverse[half] = q.YMM()
		q.invert(d, inverse[half])
	}
	q.MOVQ(src, p)
	q.MOVQ(U32(uint32(groups)), count)
	q.Label("group")
	for half := range 2 {
		q.VMOVDQU(four(p, half, inverse[half]), Mem{Base: quants, Disp: 32 * half})
	}
	q.ADDQ(U32(uint32(4*q.line)), p)
	q.ADDQ(Imm(64), quants)
	q.DECQ(count)
	q.JNZ(LabelRef("group"))
	q.ADDQ(Imm(32), scales)
	q.ADDQ(U32(uint32(32*q.line)), src)
	q.DECQ(blocks)
	q.JNZ(LabelRef("block"))
	q.end()
}

// scaleQ4_0 makes the scales of the extremes.
func (q panelQuantizer) scaleQ4_0(v reg.VecVirtual) { q.VDIVPS(q.float(-8), v, v) }

// fourQ4_0 returns elements i and i+16, for i < 4 from the pointer on, in byte i of each lane.
func (q panelQuantizer) fourQ4_0(p reg.GPVirtual, half int, inverse reg.VecVirtual) (bytes reg.VecVirtual) {
	for i := 3; i >= 0; i-- {
		low, high := q.element(p, i, half), q.element(p, i+16, half)
		for _, v := range []reg.VecVirtual{low, high} {
			q.VFMADD213PS(q.float(8.5), inverse, v)
			q.VCVTTPS2DQ(v, v) // NaN becomes the smallest integer
			q.limit(v)
		}
		q.VPSLLD(Imm(4), high, high)
		q.VPOR(high, low, low)
		if bytes == nil {
			bytes = low
			continue
		}
		q.VPSLLD(Imm(8), bytes, bytes)
		q.VPOR(low, bytes, bytes)
	}
	return bytes
}

// scaleQ8_0 makes the scales of the largest magnitudes.
func (q panelQuantizer) scaleQ8_0(v reg.VecVirtual) { q.VDIVPS(q.float(127), v, v) }

// fourQ8_0 returns element i, for i < 4 from the pointer on, in byte i of each lane. Halves are rounded away from zero: the largest number
// below a half, with the element's sign, is added, and the sum truncated. The sum of it and a number below a half is below one, and that of
// a half is rounded to one. A NaN becomes the smallest integer, with a lowest byte of 0.
func (q panelQuantizer) fourQ8_0(p reg.GPVirtual, half int, inverse reg.VecVirtual) (bytes reg.VecVirtual) {
	for i := 3; i >= 0; i-- {
		v, almostHalf := q.element(p, i, half), q.YMM()
		q.VMULPS(inverse, v, v)
		q.VANDPS(q.bits(1<<31), v, almostHalf)
		q.VORPS(q.float(math.Nextafter32(0.5, 0)), almostHalf, almostHalf)
		q.VADDPS(almostHalf, v, v)
		q.VCVTTPS2DQ(v, v)
		if bytes == nil {
			bytes = v
			continue
		}
		q.VPSLLD(Imm(8), bytes, bytes)
		q.VPAND(q.bits(0xff), v, v)
		q.VPOR(v, bytes, bytes)
	}
	return bytes
}
