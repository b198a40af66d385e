package main

import (
	"math"

	. "github.com/mmcloughlin/avo/operand" //nolint:staticcheck // the field's own notation for operands
	"github.com/mmcloughlin/avo/reg"
)

// The writing of F16, BF16, Q8_0 and Q4_0. A block's largest magnitude gives the scale; the elements are multiplied by its reciprocal,
// rounded and packed to bytes. For example, the bytes of a block that begins with the given elements and has zeros behind them, d = 2:
//
//	Q8_0   254, −2, 3           00 40   7f ff 02 00 …
//	Q4_0   −16; element 16: 2   00 40   90 88 …

// quantize generates the writing of storage formats.
func (u *unit) quantize() {
	u.quantizeFloats("F16", func(s strip, dst Mem) {
		for i, v := range s {
			u.VCVTPS2PH(Imm(0), v, dst.Offset(i*u.width*2)) // 0: to nearest even, whatever the mode
		}
	})
	u.quantizeFloats("BF16", u.storeBF16)
	u.quantizeQ8_0()
	u.quantizeQ4_0()
}

// quantizeFloats generates the writing of a format of 16 bits.
func (u *unit) quantizeFloats(name string, store func(s strip, dst Mem)) {
	u.function("quantize"+name, "func(dst *byte, src *float32, n int)", "element i of dst = src[i] rounded, for i < n, a multiple of 16.")
	dst, src, n := u.integer("dst"), u.integer("src"), u.integer("n")
	u.Label("strips")
	u.SUBQ(Imm(lanes), n)
	u.JLT(LabelRef("done"))
	store(access{u, nil}.load(src), Mem{Base: dst})
	u.ADDQ(Imm(4*lanes), src)
	u.ADDQ(Imm(2*lanes), dst)
	u.JMP(LabelRef("strips"))
	u.Label("done")
	u.end()
}

// storeBF16 keeps the upper halves, rounded to nearest even: half a unit is added to the integers that the floats are, less one
// bit if the upper half is even. NaNs become quiet.
func (u *unit) storeBF16(s strip, dst Mem) {
	for _, v := range s {
		quiet, odd := u.vector(), u.vector()
		u.VORPS(u.bits(1<<22), v, quiet)
		u.VPSLLD(Imm(15), v, odd)
		u.VPSRLD(Imm(31), odd, odd)
		u.VPADDD(u.bits(0x7fff), odd, odd)
		u.VPADDD(v, odd, odd)
		if u.width == 16 {
			k := u.K()
			u.VCMPPS(ordered, v, v, k)
			u.VBLENDMPS(odd, quiet, k, v)
		} else {
			mask := u.YMM()
			u.VCMPPS(ordered, v, v, mask)
			u.VBLENDVPS(mask, odd, quiet, v)
		}
		u.VPSRLD(Imm(16), v, v)
	}
	if u.width == 16 {
		u.VPMOVDW(s[0], dst)
		return
	}
	u.VPACKUSDW(s[1], s[0], s[0])
	u.VPERMQ(Imm(0b11011000), s[0], s[0])
	u.VMOVDQU(s[0], dst)
}

// block loads the 32 elements of a block, and returns the largest magnitude in the first lane: of NaNs, which are the largest integers, if
// there are any.
func (u *unit) block(src reg.GPVirtual) (x [2]strip, largest reg.Register) {
	top := u.zeros()
	for i := range x {
		x[i] = access{u, nil}.at(Mem{Base: src, Disp: i * lanes * 4})
		for j, v := range x[i] {
			a := u.vector()
			u.VANDPS(u.bits(math.MaxInt32), v, a)
			u.VPMAXUD(top[j], a, top[j])
		}
	}
	return x, u.fold(top, func(src, dst reg.Register) { u.VPMAXUD(src, dst, dst) })
}

// storeHalf rounds the first lane to a binary16.
func (u *unit) storeHalf(x reg.Register, m Mem) {
	half, bits := u.XMM(), u.GP32()
	u.VCVTPS2PH(Imm(0), x, half)
	u.VMOVD(half, bits)
	u.MOVW(bits.As16(), m)
}

// quantizeQ8_0 generates the writing of Q8_0, which rounds halves away from zero. As in prepare, no limit is needed.
func (u *unit) quantizeQ8_0() {
	u.function("quantizeQ8_0", "func(dst *byte, src *float32, n int)", "the blocks of src, for n elements, a multiple of 32.")
	dst, src, n := u.integer("dst"), u.integer("src"), u.integer("n")
	u.Label("blocks")
	u.SUBQ(Imm(32), n)
	u.JLT(LabelRef("done"))
	x, d := u.block(src)
	u.VDIVSS(u.float(127), d, d)
	u.VMINSS(u.float(float32(math.Inf(1))), d, d) // of a NaN and a number the result is the first operand
	u.storeHalf(d, Mem{Base: dst})
	inverse := u.reciprocal(d)
	for i, s := range x {
		for _, v := range s {
			u.VMULPS(inverse, v, v)
			u.roundAway(v)
		}
		u.narrow8(s, Mem{Base: dst, Disp: 2 + i*lanes})
	}
	u.ADDQ(U32(32*4), src)
	u.ADDQ(Imm(34), dst)
	u.JMP(LabelRef("blocks"))
	u.Label("done")
	u.end()
}

// roundAway replaces floats by integers, halves away from zero, and NaN by 0: truncated, then moved by one if the part cut off is a half or
// more. The difference is exact, which the sum with a half would not be.
func (u *unit) roundAway(v reg.VecVirtual) {
	whole, rest, one := u.vector(), u.vector(), u.vector()
	u.VMOVUPS(u.bits(1<<31), one)
	u.VANDPS(v, one, one)
	u.VORPS(u.float(1), one, one) // with the sign of v
	if u.width == 16 {
		up, number := u.K(), u.K()
		u.VRNDSCALEPS(Imm(3), v, whole)
		u.VSUBPS(whole, v, rest)
		u.VANDPS(u.bits(math.MaxInt32), rest, rest)
		u.VCMPPS(notLess, u.float(0.5), rest, up)
		u.VCMPPS(ordered, v, v, number)
		u.VADDPS(one, whole, up, whole)
		u.VCVTTPS2DQ_Z(whole, number, v)
		return
	}
	up := u.YMM()
	u.VROUNDPS(Imm(3), v, whole)
	u.VSUBPS(whole, v, rest)
	u.VANDPS(u.bits(math.MaxInt32), rest, rest)
	u.VCMPPS(notLess, u.float(0.5), rest, up)
	u.VANDPS(one, up, one)
	u.VADDPS(one, whole, whole)
	u.VCMPPS(ordered, v, v, up)
	u.VANDPS(whole, up, whole)
	u.VCVTTPS2DQ(whole, v)
}

// quantizeQ4_0 generates the writing of Q4_0. The scale has the sign of the first of the elements of the largest magnitude.
func (u *unit) quantizeQ4_0() {
	u.function("quantizeQ4_0", "func(dst *byte, src *float32, n int)", "the blocks of src, for n elements, a multiple of 32.")
	dst, src, n := u.integer("dst"), u.integer("src"), u.integer("n")
	u.Label("blocks")
	u.SUBQ(Imm(32), n)
	u.JLT(LabelRef("done"))
	x, largest := u.block(src)
	d, bits := u.XMM(), u.GP32()
	u.VXORPS(d, d, d)
	u.VMOVD(largest, bits)
	u.TESTL(bits, bits)
	u.JZ(LabelRef("scaled"))
	u.VMOVSS(Mem{Base: src, Index: u.first(x, largest), Scale: 4}, d)
	u.Label("scaled")
	u.VDIVSS(u.float(-8), d, d)
	u.VMINSS(u.float(float32(math.Inf(1))), d, d) // as for Q8_0
	u.storeHalf(d, Mem{Base: dst})
	inverse := u.reciprocal(d)
	for i, s := range x {
		for _, v := range s {
			t := u.vector()
			u.VMOVUPS(u.float(8.5), t)
			u.VFMADD231PS(inverse, v, t)
			u.VCVTTPS2DQ(t, v) // NaN becomes the smallest integer
			u.limit(v)
			if i == 1 {
				u.VPSLLD(Imm(4), v, v)
			}
		}
	}
	for j, v := range x[0] {
		u.VPADDD(x[1][j], v, v)
	}
	u.narrowUnsigned8(x[0], Mem{Base: dst, Disp: 2})
	u.ADDQ(U32(32*4), src)
	u.ADDQ(Imm(18), dst)
	u.JMP(LabelRef("blocks"))
	u.Label("done")
	u.end()
}

// limit limits integers to 0 … 15.
func (u *unit) limit(v reg.VecVirtual) {
	u.VPMAXSD(u.bits(0), v, v)
	u.VPMINSD(u.bits(15), v, v)
}

// first returns the index of the first element of the given magnitude, which there is.
func (u *unit) first(x [2]strip, magnitude reg.Register) reg.GPVirtual {
	every, index := u.vector(), u.GP64()
	u.VBROADCASTSS(magnitude, every)
	u.XORQ(index, index)
	registers := append(append(strip{}, x[0]...), x[1]...)
	for i := len(registers) - 1; i >= 0; i-- {
		a, bits := u.vector(), u.GP32()
		u.VANDPS(u.bits(math.MaxInt32), registers[i], a)
		if u.width == 16 {
			k := u.K()
			u.VPCMPD(U8(0), every, a, k) // as integers: NaNs are equal, too
			u.KMOVD(k, bits)
		} else {
			u.VPCMPEQD(every, a, a)
			u.VMOVMSKPS(a, bits)
		}
		u.SHLQ(U8(u.width), index)
		u.ORQ(bits.As64(), index)
	}
	u.BSFQ(index, index)
	return index
}

// narrowUnsigned8 stores integers between 0 and 255 as bytes.
func (u *unit) narrowUnsigned8(s strip, m Mem) {
	if u.width == 16 {
		u.VPMOVDB(s[0], m)
		return
	}
	words, high := u.YMM(), u.XMM()
	u.VPACKUSDW(s[1], s[0], words)
	u.VEXTRACTI128(Imm(1), words, high)
	u.VPACKUSWB(high, words.AsX(), high)
	u.VPSHUFD(Imm(0b11011000), high, high)
	u.VMOVDQU(high, m)
}
