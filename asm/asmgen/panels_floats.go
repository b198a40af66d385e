package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// formatFloat describes a float format.
type formatFloat struct {
	name  string
	bytes int
	widen func(g *tileFloat, m operand.Mem, r reg.VecPhysical) // reads a vector of weights
}

var formatsFloat = []formatFloat{
	{"f32", 4, func(g *tileFloat, m operand.Mem, r reg.VecPhysical) { g.VMOVUPS(m, r) }},
	{"f16", 2, func(g *tileFloat, m operand.Mem, r reg.VecPhysical) { g.VCVTPH2PS(m, r) }},
	{"bf16", 2, func(g *tileFloat, m operand.Mem, r reg.VecPhysical) {
		g.VPMOVZXWD(m, r)
		g.VPSLLD(operand.U8(16), r, r)
	}},
}

// The general registers of a tile of floats, besides those of cursorQ, which goes through the rows of x.
var (
	regPanels = reg.RAX
	regSteps  = reg.RCX
)

// tileFloat generates a tile for a float format: the rows of one panel or four, with some rows of activations. A single
// activation takes four panels, because a row's sum is one chain of additions, and a chain waits for each of its links; those
// tiles add to out, so that long rows can be multiplied in parts.
type tileFloat struct {
	tile
	formatFloat
	unroll int // steps of k in the loop
}

// generateFloat generates a tile for a float format.
func generateFloat(c *build.Context, u panelUnit, f formatFloat, panels, tokens int) {
	g := &tileFloat{tile: tile{Context: c, panelUnit: u, tokens: tokens, panels: panels}, formatFloat: f, unroll: 4}
	if !u.wide && tokens > 2 {
		g.unroll = 1 // there are too few registers
	}
	name, begin := fmt.Sprintf("%s%sx%d", f.name, u.name, tokens), "0"
	if panels > 1 {
		begin = "out[r]"
		name += fmt.Sprintf("x%d", panels)
	}
	g.Function(name)
	g.SignatureExpr("func(w *byte, panelBytes, k int, x, out *float32, stride int)")
	g.Pragma("noescape")
	g.Doc(fmt.Sprintf("%s multiplies %d panels with %d rows of activations, see panels.FloatKernel:", name, panels, tokens), "",
		"\tout[t·stride+r] = fma(w[k−1][r], x[t][k−1], … fma(w[0][r], x[t][0], "+begin+"))")
	g.start()
	if g.unroll > 1 {
		g.loop("steps", g.unroll)
		g.Label("tail")
		g.Load(g.Param("k"), regSteps)
		g.ANDQ(operand.U8(g.unroll-1), regSteps)
		g.JEQ(operand.LabelRef("done"))
	}
	g.loop("step", 1)
	if g.unroll > 1 {
		g.Label("done")
	}
	g.store()
}

// start fills the registers and clears the sums.
func (g *tileFloat) start() {
	g.Load(g.Param("w"), regPanels)
	g.Load(g.Param("x"), cursorQ.at)
	g.loadPanelStride()
	if g.tokens > 1 {
		g.Load(g.Param("k"), cursorQ.stride)
		g.SHLQ(operand.U8(2), cursorQ.stride)
		g.LEAQ(operand.Mem{Base: cursorQ.stride, Index: cursorQ.stride, Scale: 2}, cursorQ.stride3)
	}
	if g.panels > 1 {
		g.Load(g.Param("out"), regSteps)
	}
	for t := range g.tokens {
		for v := range g.vectors() {
			if g.panels > 1 {
				g.VMOVUPS(operand.Mem{Base: regSteps, Disp: v * g.width()}, g.total(t, v))
			} else {
				g.zero(g.total(t, v))
			}
		}
	}
	g.Load(g.Param("k"), regSteps)
	if g.unroll > 1 {
		g.SHRQ(operand.U8(2), regSteps)
		g.JEQ(operand.LabelRef("tail"))
	}
}

// vectors returns how many vectors of weights belong to a step of k.
func (g *tileFloat) vectors() int { return g.panels * g.halves() }

// total returns the register of a token's sums with vector v.
func (g *tileFloat) total(t, v int) reg.VecPhysical { return g.sum(t*g.vectors() + v) }

// weights returns the address of vector v of the i-th next step, and more bytes ahead.
func (g *tileFloat) weights(v, i, ahead int) operand.Mem {
	g.part = v
	return g.inPart(operand.Mem{Base: regPanels, Disp: 16*i*g.bytes + ahead}, g.bytes)
}

// loop generates a loop over steps of k, n at a time.
func (g *tileFloat) loop(label string, n int) {
	g.Label(label)
	if g.tokens == 1 {
		g.oneToken(n)
	} else {
		g.manyTokens(n)
	}
	g.ADDQ(operand.U32(16*g.bytes*n), regPanels)
	g.ADDQ(operand.U8(4*n), cursorQ.at)
	g.DECQ(regSteps)
	g.JNE(operand.LabelRef(label))
}

// oneToken adds n steps to the sums of one token with all panels.
func (g *tileFloat) oneToken(n int) {
	if n > 1 {
		for v := 0; v < g.vectors(); v += g.halves() {
			for at := 0; at < 16*n*g.bytes; at += 64 {
				g.request(g.weights(v, 0, prefetchAhead+at))
			}
		}
	}
	for i := range n {
		x := g.vec(0)
		g.VBROADCASTSS(operand.Mem{Base: cursorQ.at, Disp: 4 * i}, x)
		for v := range g.vectors() {
			w := g.vec(1 + v%4)
			g.widen(g, g.weights(v, i, 0), w)
			g.VFMADD231PS(x, w, g.total(0, v))
		}
	}
}

// manyTokens adds n steps to the sums of some tokens.
func (g *tileFloat) manyTokens(n int) {
	w := func(i, v int) reg.VecPhysical { return g.vec(1 + i*g.vectors() + v) }
	if n > 1 || !g.wide && g.bytes == 4 { // on Zen 4, for 16 tokens, products of F32 take 0.85 times as long with it (AVX2: 0.95), of F16 0.9
		for at := 0; at < 16*n*g.bytes; at += 64 {
			g.PREFETCHT0(g.weights(0, 0, prefetchAhead+at))
		}
	}
	for i := range n {
		for v := range g.vectors() {
			g.widen(g, g.weights(v, i, 0), w(i, v))
		}
	}
	g.forTokens([]*cursor{cursorQ}, func(t int) {
		for i := range n {
			if g.wide {
				g.VFMADD231PS_BCST(cursorQ.row(t, 4*i), w(i, 0), g.total(t, 0))
				continue
			}
			x := g.vec(0)
			g.VBROADCASTSS(cursorQ.row(t, 4*i), x)
			for v := range g.vectors() {
				g.VFMADD231PS(x, w(i, v), g.total(t, v))
			}
		}
	})
}

// store writes the sums to the rows of out.
func (g *tileFloat) store() {
	out, stride := reg.RSI, reg.R8
	g.Load(g.Param("out"), out)
	g.Load(g.Param("stride"), stride)
	for t := range g.tokens {
		for v := range g.vectors() {
			g.VMOVUPS(g.total(t, v), operand.Mem{Base: out, Disp: v * g.width()})
		}
		if t+1 < g.tokens {
			g.LEAQ(operand.Mem{Base: out, Index: stride, Scale: 4}, out)
		}
	}
	g.VZEROUPPER()
	g.RET()
}
