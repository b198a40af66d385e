package main

import (
	"math"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand" //nolint:staticcheck // the field's own notation for operands
	"github.com/mmcloughlin/avo/reg"
)

// Between the weights of attention and the sums of quantised values: the weights, times the values' scales, become integers, so that values
// are multiplied as integers, too. A group of 32 slots with the weights 0.5 and 0.25, the scales 2 and 4, and zeros behind them:
//
//	products   1, 1, 0, …
//	d          1/127
//	q          127, 127, 0, …
//	sum        254

// groupsOfTile is how many scales a row of weights of a tile has, each for 32 slots.
const groupsOfTile = tileKeys / 32

// weigh generates the kernel that brings weights times the scales of values into the form Int8x32, as vectors.Prepare would. It makes
// the scales of a row's four groups at the same time: eight dependent instructions, of them two divisions, would otherwise be waited
// for with each group. To make the sums for formats that do not use them took 1.3 times as long.
func weigh(c *build.Context) {
	for _, u := range units(c) {
		u.weigh()
	}
}

func (u *unit) weigh() {
	u.function("weigh", "func(p *float32, scales *byte, q *int8, d *float32, sums *int32, rows int)",
		"quant.Activation.Prepare, in the form Int8x32, of p[r·TileKeys+j]·scales[j] for j < TileKeys, r < rows, rows > 0. scales are binary16.",
		"Products that are no numbers count as 0. Where sums is nil none are stored.")
	p, q, d, sums, rows := u.integer("p"), u.integer("q"), u.integer("d"), u.integer("sums"), u.integer("rows")
	from, registers := u.integer("scales"), tileKeys/u.width
	inverses, memory := u.AllocLocal(4*groupsOfTile), u.AllocLocal(4*tileKeys)
	scales := make([]Op, registers) // in registers, where these are enough
	for i := range registers {
		v := u.vector()
		u.VCVTPH2PS(Mem{Base: from, Disp: 2 * u.width * i}, v)
		if scales[i] = v; u.width == 8 {
			scales[i] = memory.Offset(4 * u.width * i)
			u.VMOVUPS(v, scales[i])
		}
	}
	product := func(i int) reg.VecVirtual {
		x := u.vector()
		if u.width == 16 {
			u.VMULPS(Mem{Base: p, Disp: 4 * u.width * i}, scales[i], x)
			return x
		}
		u.VMOVUPS(Mem{Base: p, Disp: 4 * u.width * i}, x)
		u.VMULPS(scales[i], x, x)
		return x
	}
	var zero reg.VecVirtual
	if u.width == 8 {
		zero = u.zero()
	}

	u.Label("row")
	products := make([]reg.VecVirtual, registers) // with 32 registers they need not be computed again
	var tops [groupsOfTile]reg.VecVirtual
	each := registers / groupsOfTile
	for g := range tops {
		for i := range each {
			x := product(g*each + i)
			products[g*each+i] = x
			tops[g] = u.larger(tops[g], x, zero)
		}
	}
	top := u.foldFour(tops)
	u.VDIVPS(u.float(127), top, top)
	u.VMOVUPS(top, Mem{Base: d})
	u.VMOVUPS(u.reciprocals(top), inverses)

	var bytes []reg.VecVirtual // 32 or 64 of them, in the order in which packing leaves them
	for first := 0; first < registers; first += 4 {
		var v [4]reg.VecVirtual
		for i := range v {
			inverse := inverses.Offset(4 * ((first + i) / each))
			if u.width == 16 {
				v[i] = products[first+i]
				u.VMULPS_BCST(inverse, v[i], v[i])
			} else {
				v[i] = product(first + i)
				if i == 0 {
					bytes = append(bytes, u.vector())
					u.VBROADCASTSS(inverse, bytes[len(bytes)-1])
				}
				u.VMULPS(bytes[len(bytes)-1], v[i], v[i])
			}
			u.VCVTPS2DQ(v[i], v[i])
		}
		u.VPACKSSDW(v[1], v[0], v[0])
		u.VPACKSSDW(v[3], v[2], v[2])
		u.VPACKSSWB(v[2], v[0], v[0])
		u.dropLeast(v[0])
		if u.width == 8 {
			bytes[len(bytes)-1] = v[0]
		} else {
			bytes = append(bytes, v[0])
		}
	}
	order := u.vector()
	u.VMOVUPS(u.order(), order)
	for i, b := range bytes {
		in := u.vector()
		u.VPERMD(b, order, in)
		u.VMOVUPS(in, Mem{Base: q, Disp: 4 * u.width * i})
	}
	u.TESTQ(sums, sums)
	u.JZ(LabelRef("next"))
	u.storeSums(bytes, sums)
	u.ADDQ(Imm(4*groupsOfTile), sums)
	u.Label("next")

	u.ADDQ(U32(4*tileKeys), p)
	u.ADDQ(U32(tileKeys), q)
	u.ADDQ(Imm(4*groupsOfTile), d)
	u.DECQ(rows)
	u.JNZ(LabelRef("row"))
	u.end()
}

// larger returns max(|x|, top). top is nil or ≥ 0. NaN in x is ignored.
func (u *unit) larger(top, x, zero reg.VecVirtual) reg.VecVirtual {
	if u.width == 16 {
		const magnitudes = 0b1011
		if top == nil {
			return x
		}
		larger := u.vector()
		u.VRANGEPS(U8(magnitudes), x, top, larger)
		return larger
	}
	a := u.vector()
	u.VANDPS(u.bits(math.MaxInt32), x, a)
	if top == nil {
		top = zero
	}
	u.VMAXPS(top, a, a) // of a NaN and a number the result is the first operand
	return a
}

// foldFour returns the largest lane of each of four registers.
func (u *unit) foldFour(v [4]reg.VecVirtual) reg.VecVirtual {
	if u.width == 16 {
		zero := u.zero()
		for i := range v {
			larger := u.vector()
			u.VMAXPS(zero, v[i], larger)
			v[i] = larger
		}
	}
	join := func(a, b reg.VecVirtual, low, high func(ops ...Op)) reg.VecVirtual {
		l, h := u.vector(), u.vector()
		low(b, a, l)
		high(b, a, h)
		u.VMAXPS(h, l, l)
		return l
	}
	pair := [2]reg.VecVirtual{}
	for i := range pair {
		pair[i] = join(v[2*i], v[2*i+1], u.VUNPCKLPS, u.VUNPCKHPS)
	}
	all := join(pair[0], pair[1], u.VUNPCKLPD, u.VUNPCKHPD)
	y := all.AsY()
	if u.width == 16 {
		high := u.YMM()
		u.VEXTRACTF64X4(Imm(1), all, high)
		u.VMAXPS(high, y, y)
	}
	high, x := u.XMM(), u.XMM()
	u.VEXTRACTF128(Imm(1), y, high)
	u.VMAXPS(high, all.AsX(), x)
	return x
}

// reciprocals returns 1/x of the four lanes of a register, and 0 if it is infinite. No lane is negative.
func (u *unit) reciprocals(x reg.VecVirtual) reg.VecVirtual {
	r, finite := u.XMM(), u.XMM()
	u.VMOVUPS(u.float(1), r)
	u.VDIVPS(x, r, r)
	u.VCMPPS(less, u.float(float32(math.Inf(1))), r, finite)
	u.VANDPS(finite, r, r)
	return r
}

// dropLeast replaces bytes of −128 by 0. That is what the conversion to integers leaves of NaNs.
func (u *unit) dropLeast(v reg.VecVirtual) {
	least := u.table("everyByte80", func(int) uint32 { return 0x80808080 })
	if u.width == 16 {
		k := u.K()
		u.VPCMPB(U8(4), least, v, k)
		u.VMOVDQU8_Z(v, k, v)
		return
	}
	is := u.vector()
	u.VPCMPEQB(least, v, is)
	u.VPANDN(v, is, v)
}

// order returns memory with the lanes' places: packing four registers puts four bytes of each next to those of the others.
func (u *unit) order() Mem {
	lanes := u.width / 4 // of 16 bytes
	return u.table("order"+u.name, func(i int) uint32 { return uint32(i%lanes*4 + i/lanes) })
}

// storeSums stores the sums of the bytes of each group. It overwrites the registers.
func (u *unit) storeSums(bytes []reg.VecVirtual, sums reg.GPVirtual) {
	ones := u.table("everyByte01", func(int) uint32 { return 0x01010101 })
	words := u.table("everyWord0001", func(int) uint32 { return 0x00010001 })
	each := u.vector()
	u.VMOVUPS(ones, each)
	for _, b := range bytes {
		u.VPMADDUBSW(b, each, b)
		u.VPMADDWD(words, b, b)
	}
	a, b, x := u.vector(), u.vector(), u.XMM()
	if u.width == 16 { // of four lanes, two belong to a group
		y := u.YMM()
		u.VSHUFPS(U8(0b10001000), bytes[1], bytes[0], a)
		u.VSHUFPS(U8(0b11011101), bytes[1], bytes[0], b)
		u.VPADDD(b, a, a)
		u.VEXTRACTI64X4(Imm(1), a, y)
		u.VPADDD(y, a.AsY(), a.AsY())
	} else {
		u.VPHADDD(bytes[1], bytes[0], a)
		u.VPHADDD(bytes[3], bytes[2], b)
		u.VPHADDD(b, a, a)
	}
	u.VEXTRACTI128(Imm(1), a.AsY(), x)
	u.VPADDD(x, a.AsX(), x)
	u.VMOVDQU(x, Mem{Base: sums})
}
