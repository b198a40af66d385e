package main

import (
	"math"

	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand" //nolint:staticcheck // the field's own notation for operands
	"github.com/mmcloughlin/avo/reg"
)

// The kernels over vectors of floats. Each is a loop over strips of 16 elements, so that the code says only what happens to a strip, and
// serves two registers of AVX2 as well as one of AVX-512. Sums have a lane for each of the 16, and are folded at the end. A strip of add:
//
//	AVX2      4 VMOVUPS that load, 2 VADDPS, 2 VMOVUPS that store
//	AVX-512   2 VMOVUPS that load, 1 VADDPS, 1 VMOVUPS that stores
//	masked    the same with VMASKMOVPS, or with a mask register

// Predicates of VCMPPS.
const (
	less    = U8(1)
	notLess = U8(5)
	ordered = U8(7)
)

// vectors generates the kernels over vectors of floats.
func vectors(c *build.Context) {
	for _, u := range units(c) {
		u.combine("add", "+", u.VADDPS)
		u.combine("mul", "*", u.VMULPS)
		u.scale()
		u.axpy()
		u.axpby()
		u.siluMul()
		u.sigmoidMul()
		u.geluMul()
		u.geluErfMul()
		u.swiGLUClamped()
		u.softcap()
		u.rope()
		u.sumOfSquares()
		u.norm()
		u.maximum()
		u.exponentials()
		u.divide()
		u.convolve()
		u.prepare("prepare32", 2, 2)
		u.prepare("prepare256", 16, 1)
	}
}

// combine generates a kernel that computes dst[i] = dst[i] sign src[i] by an instruction.
func (u *unit) combine(name, sign string, instruction func(...Op)) {
	u.function(name, "func(dst, src *float32, n int)", "dst[i] "+sign+"= src[i] for i < n.")
	n, dst, src := u.integer("n"), u.integer("dst"), u.integer("src")
	u.strips(n, []reg.GPVirtual{dst, src}, func(a access) {
		x, y := a.load(dst), a.load(src)
		for i := range x {
			instruction(y[i], x[i], x[i])
		}
		a.store(x, dst)
	})
	u.end()
}

func (u *unit) scale() {
	u.function("scale", "func(x *float32, n int, v float32)", "x[i] *= v for i < n.")
	n, p, v := u.integer("n"), u.integer("x"), u.everywhere("v")
	u.strips(n, []reg.GPVirtual{p}, func(a access) {
		x := a.load(p)
		for i := range x {
			u.VMULPS(v, x[i], x[i])
		}
		a.store(x, p)
	})
	u.end()
}

func (u *unit) axpy() {
	u.function("axpy", "func(dst, x *float32, n int, a float32)", "dst[i] = fma(a, x[i], dst[i]) for i < n.")
	n, dst, src, factor := u.integer("n"), u.integer("dst"), u.integer("x"), u.everywhere("a")
	u.strips(n, []reg.GPVirtual{dst, src}, func(a access) {
		y, x := a.load(dst), a.load(src)
		for i := range x {
			u.VFMADD231PS(factor, x[i], y[i])
		}
		a.store(y, dst)
	})
	u.end()
}

func (u *unit) axpby() {
	u.function("axpby", "func(dst, x *float32, n int, a, b float32)", "dst[i] = fma(x[i], a, dst[i]·b) for i < n.")
	n, dst, src, fa, fb := u.integer("n"), u.integer("dst"), u.integer("x"), u.everywhere("a"), u.everywhere("b")
	u.strips(n, []reg.GPVirtual{dst, src}, func(a access) {
		y, x := a.load(dst), a.load(src)
		for i := range x {
			u.VMULPS(fb, y[i], y[i])
			u.VFMADD231PS(fa, x[i], y[i])
		}
		a.store(y, dst)
	})
	u.end()
}

func (u *unit) siluMul() {
	u.gateMul("siluMul", "exact.SiLU", false, func(x, e reg.VecVirtual) {
		u.VXORPS(u.bits(1<<31), x, e)
	})
}

func (u *unit) sigmoidMul() {
	u.gateMul("sigmoidMul", "exact.Sigmoid", true, func(x, e reg.VecVirtual) {
		u.VXORPS(u.bits(1<<31), x, e)
	})
}

func (u *unit) geluMul() {
	u.gateMul("geluMul", "exact.GELU", false, func(x, e reg.VecVirtual) {
		t := u.vector()
		u.VMULPS(x, x, t)
		u.VMOVUPS(u.float(exact.GELUC1), e)
		u.VFMADD231PS(u.float(exact.GELUC3), t, e)
		u.VMULPS(x, e, e)
		u.VXORPS(u.bits(1<<31), e, e)
	})
}

func (u *unit) geluErfMul() {
	u.gateMul("geluErfMul", "exact.GELUErf", false, func(x, e reg.VecVirtual) {
		t := u.vector()
		u.VMULPS(x, x, t)
		u.VMINPS(u.float(exact.GELUErfMost), t, t)
		u.VMOVUPS(u.float(exact.GELUErfC6), e)
		for _, c := range []float32{exact.GELUErfC5, exact.GELUErfC4, exact.GELUErfC3, exact.GELUErfC2, exact.GELUErfC1, exact.GELUErfC0} {
			u.VFMADD213PS(u.float(c), t, e)
		}
		u.VMULPS(x, e, e)
		u.VXORPS(u.bits(1<<31), e, e)
	})
}

// gateMul generates the product of up with an activation x/(1+eᵛ) of the gate, or, for a share, 1/(1+eᵛ). exponent sets its second operand
// to v of the first.
func (u *unit) gateMul(name, activation string, share bool, exponent func(x, v reg.VecVirtual)) {
	u.function(name, "func(dst, gate, up *float32, n int)", "dst[i] = "+activation+"(gate[i])·up[i] for i < n.")
	n, dst, gate, up := u.integer("n"), u.integer("dst"), u.integer("gate"), u.integer("up")
	u.strips(n, []reg.GPVirtual{dst, gate, up}, func(a access) {
		x, y, e := a.load(gate), a.load(up), u.strip()
		for i := range x {
			exponent(x[i], e[i])
			u.exp(e[i])
			u.VADDPS(u.float(1), e[i], e[i])
			if share {
				u.VMOVUPS(u.float(1), x[i])
			}
			u.VDIVPS(e[i], x[i], x[i])
			u.VMULPS(y[i], x[i], x[i])
		}
		a.store(x, dst)
	})
	u.end()
}

func (u *unit) swiGLUClamped() {
	u.function("swiGLUClamped", "func(dst, gate, up *float32, n int, limit float32)", "dst[i] = exact.SwiGLUClamped(gate[i], up[i], limit) for i < n.")
	n, dst, gate, up, limit := u.integer("n"), u.integer("dst"), u.integer("gate"), u.integer("up"), u.everywhere("limit")
	least := u.vector()
	u.VXORPS(u.bits(1<<31), limit, least)
	u.strips(n, []reg.GPVirtual{dst, gate, up}, func(a access) {
		x, y, e := a.load(gate), a.load(up), u.strip()
		for i := range x {
			u.VMINPS(x[i], limit, x[i]) // of a NaN and a number the result is the first operand
			u.VMINPS(y[i], limit, y[i])
			u.VMAXPS(y[i], least, y[i])
			u.VMULPS(u.float(-exact.SwiGLUClampedSlope), x[i], e[i])
			u.exp(e[i])
			u.VADDPS(u.float(1), e[i], e[i])
			u.VDIVPS(e[i], x[i], x[i])
			u.VADDPS(u.float(1), y[i], y[i])
			u.VMULPS(y[i], x[i], x[i])
		}
		a.store(x, dst)
	})
	u.end()
}

func (u *unit) softcap() {
	u.function("softcap", "func(x *float32, n int, factor, limit float32)",
		"x[i] = exact.Softcap(x[i], limit) for i < n; factor is exact.SoftcapFactor(limit).")
	n, p, factor, limit := u.integer("n"), u.integer("x"), u.everywhere("factor"), u.everywhere("limit")
	u.strips(n, []reg.GPVirtual{p}, func(a access) {
		x, e := a.load(p), u.strip()
		for i := range x {
			u.VANDPS(u.bits(math.MaxInt32), x[i], e[i])
			u.VXORPS(e[i], x[i], x[i]) // the sign
			u.VMULPS(factor, e[i], e[i])
			u.exp(e[i])
			t := u.vector()
			u.VMOVUPS(u.float(1), t)
			u.VSUBPS(e[i], t, t)
			u.VADDPS(u.float(1), e[i], e[i])
			u.VDIVPS(e[i], t, t)
			u.VMULPS(limit, t, t)
			u.VORPS(t, x[i], x[i])
		}
		a.store(x, p)
	})
	u.end()
}

// exp replaces x by exact.Exp(x), step by step as that function's comment has them.
func (u *unit) exp(x reg.VecVirtual) {
	var mask reg.Register = u.K()
	if u.width == 16 {
		u.VCMPPS(notLess, u.float(exact.ExpLow), x, mask)
	} else {
		mask = u.YMM()
		u.VCMPPS(less, u.float(exact.ExpLow), x, mask)
	}
	t, n, p := u.vector(), u.vector(), u.vector()
	u.VMOVUPS(u.float(exact.ExpHigh), t)
	u.VMINPS(x, t, x) // of a NaN and a number the result is the first operand
	u.VMOVUPS(u.float(exact.ExpMagic), t)
	u.VFMADD231PS(u.float(exact.ExpLog2E), x, t)
	u.VSUBPS(u.float(exact.ExpMagic), t, n)
	u.VFNMADD231PS(u.float(exact.ExpLn2Hi), n, x)
	u.VFNMADD231PS(u.float(exact.ExpLn2Lo), n, x)
	u.VMOVUPS(u.float(exact.ExpC6), p)
	for _, c := range []float32{exact.ExpC5, exact.ExpC4, exact.ExpC3, exact.ExpC2, 1, 1} {
		u.VFMADD213PS(u.float(c), x, p)
	}
	u.VPSLLD(Imm(23), t, t)
	if u.width == 16 {
		u.VMULPS_Z(t, p, mask, x)
		return
	}
	u.VMULPS(t, p, p)
	u.VANDNPS(p, mask, x)
}

func (u *unit) rope() {
	u.function("rope", "func(lo, hi, cos, sin *float32, n int)",
		"lo[i], hi[i] = fma(lo[i], cos[i], -(hi[i]·sin[i])), fma(lo[i], sin[i], hi[i]·cos[i]) for i < n.")
	n, lo, hi, cos, sin := u.integer("n"), u.integer("lo"), u.integer("hi"), u.integer("cos"), u.integer("sin")
	u.strips(n, []reg.GPVirtual{lo, hi, cos, sin}, func(m access) {
		a, b, c, s := m.load(lo), m.load(hi), m.load(cos), m.load(sin)
		for i := range a {
			t := u.vector()
			u.VMULPS(b[i], s[i], t)
			u.VMULPS(b[i], c[i], b[i])
			u.VFMADD231PS(a[i], s[i], b[i])
			u.VFMSUB213PS(t, c[i], a[i])
		}
		m.store(a, lo)
		m.store(b, hi)
	})
	u.end()
}

func (u *unit) sumOfSquares() {
	u.function("sumOfSquares", "func(x *float32, n int) float32", "Σ x[i]² for i < n, as the portable sumOfSquares does.")
	n, p, sum := u.integer("n"), u.integer("x"), u.zeros()
	u.strips(n, []reg.GPVirtual{p}, func(a access) {
		for i, x := range a.load(p) {
			u.VFMADD231PS(x, x, sum[i])
		}
	})
	u.Store(u.fold(sum, func(src, dst reg.Register) { u.VADDPS(src, dst, dst) }), u.ReturnIndex(0))
	u.end()
}

func (u *unit) norm() {
	u.function("norm", "func(dst, x, w *float32, n int, s float32)", "dst[i] = (x[i]·s)·w[i] for i < n.")
	n, dst, src, weights, s := u.integer("n"), u.integer("dst"), u.integer("x"), u.integer("w"), u.everywhere("s")
	u.strips(n, []reg.GPVirtual{dst, src, weights}, func(a access) {
		x, w := a.load(src), a.load(weights)
		for i := range x {
			u.VMULPS(s, x[i], x[i])
			u.VMULPS(w[i], x[i], x[i])
		}
		a.store(x, dst)
	})
	u.end()
}

func (u *unit) maximum() {
	u.function("maximum", "func(x *float32, n int) float32",
		"the largest x[i] for i < n, n > 0; NaN is ignored unless it comes first. Which zero it gives, of several, is open.")
	u.Store(u.maximumOf("", u.integer("n"), u.integer("x")), u.ReturnIndex(0))
	u.end()
}

// maximumOf returns the largest of the n > 0 numbers at p, in the first lane. It uses up n and p. The name is for its labels.
func (u *unit) maximumOf(name string, n, p reg.GPVirtual) reg.Register {
	first := u.vector()
	u.VBROADCASTSS(Mem{Base: p}, first)
	top := u.strip()
	for i := range top {
		u.VMOVAPS(first, top[i])
	}
	u.stripsOf(name, n, []reg.GPVirtual{p}, func(a access) {
		x := a.load(p)
		for i := range x {
			if a.masks != nil {
				a.otherwise(x[i], i, first)
			}
			u.VMAXPS(top[i], x[i], top[i]) // of a NaN and a number the result is the first operand
		}
	})
	return u.fold(top, func(src, dst reg.Register) { u.VMAXPS(src, dst, dst) })
}

// otherwise sets the elements of register i that are masked out to those of v.
func (a access) otherwise(x reg.VecVirtual, i int, v reg.VecVirtual) {
	if a.width == 16 {
		a.VBLENDMPS(x, v, a.masks[i], x)
	} else {
		a.VBLENDVPS(a.masks[i], x, v, x)
	}
}

func (u *unit) exponentials() {
	u.function("exponentials", "func(x *float32, n int, max float32) float32",
		"x[i] = exact.Exp(x[i]-max) for i < n and their sum, as the portable exponentials does.")
	u.Store(u.exponentialsOf("", u.integer("n"), u.integer("x"), u.everywhere("max")), u.ReturnIndex(0))
	u.end()
}

// exponentialsOf replaces the n numbers at p by exponentials, and returns their sum in the first lane. It uses up n and p. The maximum is
// in all lanes of top, and the name is for the labels.
func (u *unit) exponentialsOf(name string, n, p reg.GPVirtual, top reg.VecVirtual) reg.Register {
	sum := u.zeros()
	u.stripsOf(name, n, []reg.GPVirtual{p}, func(a access) {
		x := a.load(p)
		for i := range x {
			u.VSUBPS(top, x[i], x[i])
			u.exp(x[i])
		}
		a.keep(x)
		a.store(x, p)
		for i := range x {
			u.VADDPS(x[i], sum[i], sum[i])
		}
	})
	return u.fold(sum, func(src, dst reg.Register) { u.VADDPS(src, dst, dst) })
}

func (u *unit) divide() {
	u.function("divide", "func(x *float32, n int, v float32)", "x[i] /= v for i < n.")
	n, p, v := u.integer("n"), u.integer("x"), u.everywhere("v")
	u.strips(n, []reg.GPVirtual{p}, func(a access) {
		x := a.load(p)
		for i := range x {
			u.VDIVPS(v, x[i], x[i])
		}
		a.store(x, p)
	})
	u.end()
}

func (u *unit) convolve() {
	u.function("convolve", "func(dst *float32, taps *[]float32, w, b *float32, n, width, stride int)",
		"dst[i] = b[i] + Σ taps[j][i]·w[j·stride/4+i] for i < n, j < width, as the portable convolve does. A b that is nil counts as zeros.")
	n, dst, w, b := u.integer("n"), u.integer("dst"), u.integer("w"), u.integer("b")
	taps, stride := u.integer("taps"), u.integer("stride")
	at := u.GP64()
	u.XORQ(at, at)
	u.strips(n, []reg.GPVirtual{at}, func(a access) {
		name := "strip"
		if a.masks != nil {
			name = "rest"
		}
		sum := u.zeros()
		u.TESTQ(b, b)
		u.JZ(LabelRef(name + "Unbiased"))
		for i, v := range a.at(Mem{Base: b, Index: at, Scale: 1}) {
			u.VMOVAPS(v, sum[i])
		}
		u.Label(name + "Unbiased")
		header, weights, tap, count := u.GP64(), u.GP64(), u.GP64(), u.GP64()
		u.MOVQ(taps, header)
		u.MOVQ(w, weights)
		u.Load(u.Param("width"), count)
		u.Label(name + "Tap")
		u.MOVQ(Mem{Base: header}, tap)
		x, y := a.at(Mem{Base: tap, Index: at, Scale: 1}), a.at(Mem{Base: weights, Index: at, Scale: 1})
		for i := range x {
			u.VFMADD231PS(x[i], y[i], sum[i])
		}
		u.ADDQ(Imm(24), header) // the size of a slice
		u.ADDQ(stride, weights)
		u.DECQ(count)
		u.JNZ(LabelRef(name + "Tap"))
		a.storeAt(sum, Mem{Base: dst, Index: at, Scale: 1})
	})
	u.end()
}

// prepare generates quant.Activation.Prepare, given how many strips a block has, and how many a group with a sum of its own.
//
// No clamp is needed: if 1/d is finite, d is at least 2⁻¹²⁸, so that |x|·(1/d) exceeds 127 by no more than 2⁻¹² and rounds to 127;
// otherwise all products are 0 or NaN.
func (u *unit) prepare(name string, block, group int) {
	u.function(name, "func(x *float32, q *int8, d *float32, sums *int32, blocks int)",
		"blocks of quant.Activation.Prepare: the elements, scales and sums.")
	p, q, d, sums, n := u.integer("x"), u.integer("q"), u.integer("d"), u.integer("sums"), u.integer("blocks")
	whole := access{u, nil}
	u.Label("blocks")
	u.TESTQ(n, n)
	u.JLE(LabelRef("done"))

	top := u.zeros()
	at, count := u.GP64(), u.GP64()
	u.MOVQ(p, at)
	u.MOVQ(U32(block), count)
	u.Label("largest")
	for i, x := range whole.load(at) {
		u.VANDPS(u.bits(math.MaxInt32), x, x)
		u.VPMAXUD(top[i], x, top[i]) // as integers: NaNs are the largest
	}
	u.ADDQ(Imm(4*lanes), at)
	u.DECQ(count)
	u.JNZ(LabelRef("largest"))
	scale := u.fold(top, func(src, dst reg.Register) { u.VPMAXUD(src, dst, dst) })
	u.VDIVSS(u.float(127), scale, scale)
	u.VMOVSS(scale, Mem{Base: d})
	inverse := u.reciprocal(scale)

	u.MOVQ(U32(block/group), count)
	u.Label("groups")
	var sum strip
	for i := range group {
		x := whole.at(Mem{Base: p, Disp: 4 * lanes * i})
		for _, v := range x {
			u.VMULPS(inverse, v, v)
			u.round(v)
		}
		if sum == nil {
			sum = u.strip()
			for j := range x {
				u.VMOVAPS(x[j], sum[j])
			}
		} else {
			for j := range x {
				u.VPADDD(x[j], sum[j], sum[j])
			}
		}
		u.narrow8(x, Mem{Base: q, Disp: lanes * i})
	}
	u.VMOVD(u.fold(sum, func(src, dst reg.Register) { u.VPADDD(src, dst, dst) }), Mem{Base: sums})
	u.ADDQ(Imm(4), sums)
	u.ADDQ(U32(4*lanes*group), p)
	u.ADDQ(U32(lanes*group), q)
	u.DECQ(count)
	u.JNZ(LabelRef("groups"))

	u.ADDQ(Imm(4), d)
	u.DECQ(n)
	u.JMP(LabelRef("blocks"))
	u.Label("done")
	u.end()
}

// reciprocal returns 1/x of the first lane in every lane, and 0 if it is infinite.
func (u *unit) reciprocal(x reg.Register) reg.VecVirtual {
	r, v := u.vector(), u.vector()
	u.VBROADCASTSS(x, v)
	u.invert(v, r)
	return r
}

// invert sets r to 1/v in each lane, and to 0 if it is infinite. It uses v up.
func (u *unit) invert(v, r reg.VecVirtual) {
	u.VMOVUPS(u.float(1), r)
	u.VDIVPS(v, r, r)
	u.VANDPS(u.bits(math.MaxInt32), r, v)
	infinity := u.float(float32(math.Inf(1)))
	if u.width == 16 {
		k := u.K()
		u.VCMPPS(less, infinity, v, k)
		u.VMOVAPS_Z(r, k, r)
	} else {
		u.VCMPPS(less, infinity, v, v)
		u.VANDPS(r, v, r)
	}
}

// round replaces floats by integers, halves to even, and NaN by 0.
func (u *unit) round(v reg.VecVirtual) {
	if u.width == 16 {
		k := u.K()
		u.VCMPPS(ordered, v, v, k)
		u.VCVTPS2DQ_Z(v, k, v)
		return
	}
	mask := u.YMM()
	u.VCMPPS(ordered, v, v, mask)
	u.VANDPS(v, mask, v)
	u.VCVTPS2DQ(v, v)
}

// narrow8 stores integers between −128 and 127 as bytes.
func (u *unit) narrow8(s strip, m Mem) {
	if u.width == 16 {
		u.VPMOVSDB(s[0], m)
		return
	}
	words, high := u.YMM(), u.XMM()
	u.VPACKSSDW(s[1], s[0], words)
	u.VEXTRACTI128(Imm(1), words, high)
	u.VPACKSSWB(high, words.AsX(), high)
	u.VPSHUFD(Imm(0b11011000), high, high)
	u.VMOVDQU(high, m)
}
