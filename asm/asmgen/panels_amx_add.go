package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// How the dot products of some blocks of 32, which tiles have left in memory, are added to a token's sums, for many tokens and for few. Dot
// products i, scale i and minimum i are those of block i/2 and panel i%2.

// chunkOfToken has the places of the numbers of a token: its sums with each panel, and, of each block, the activation's scale, the sum of its quants and
// the dot products.
type chunkOfToken struct {
	total     func(panel int) operand.Mem
	d, quants func(block int) operand.Mem
	dot       func(i int) operand.Mem
}

// scaleAMX and minimumAMX return the registers of the scales and minimums of a chunk.
func (g *tile) scaleAMX(i int) reg.VecPhysical   { return g.vec(8 + i) }
func (g *tile) minimumAMX(i int) reg.VecPhysical { return g.vec(12 + i) }

// loadScalesAMX loads the scales of some blocks of all panels, and their minimums if there are any.
func (f *formatAMX) loadScalesAMX(g *tile, blocks int, scale, minimum func(i int) operand.Mem) {
	for i := range panelsAMX * blocks {
		g.VMOVUPS(scale(i), g.scaleAMX(i))
		if f.minimum() {
			g.VMOVUPS(minimum(i), g.minimumAMX(i))
		}
	}
}

// addChunk adds some blocks to a token's sums.
func (f *formatAMX) addChunk(g *tile, blocks int, of chunkOfToken) {
	sum := [panelsAMX]reg.VecPhysical{g.vec(0), g.vec(1)}
	d := g.vec(2)
	product := func(i int) reg.VecPhysical { return g.vec(16 + i%4) }
	dot := func(i int) reg.VecPhysical { return g.vec(20 + i%4) }
	for p := range panelsAMX {
		g.VMOVUPS(of.total(p), sum[p])
	}
	for b := range blocks {
		g.VBROADCASTSS(of.d(b), d)
		for p := range panelsAMX {
			i := panelsAMX*b + p
			g.VMULPS(g.scaleAMX(i), d, product(i))
			g.VCVTDQ2PS(of.dot(i), dot(i))
			g.VFMADD231PS(product(i), dot(i), sum[p])
		}
		if !f.minimum() {
			continue
		}
		g.VCVTDQ2PS_BCST(of.quants(b), dot(0))
		for p := range panelsAMX {
			g.VMULPS(g.minimumAMX(panelsAMX*b+p), d, product(p))
			g.VFMADD231PS(product(p), dot(0), sum[p])
		}
	}
	for p := range panelsAMX {
		g.VMOVUPS(sum[p], of.total(p))
	}
}
