package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The chains of package limits: loops of the instructions that a tier multiplies with, and of nothing else. Each step adds
// products to one of several sums, and the sums take turns, so that no step waits for the one before it: the processor does
// as many as it has units for. All operands stay in registers.

// chain is a loop of multiply-adds. Its name is what its numbers are, and its unit.
type chain struct {
	name  string
	unit  panelUnit
	about string // what a step is, for the comment
	macs  int    // multiply-adds of a step
	sums  int    // a turn has one step for each
	turns int    // of a call, which takes some ten microseconds
	step  func(g *tile, sum reg.VecPhysical)
}

// The numbers that are multiplied do not matter; these change many bits of the sums at each step, as products of weights do.
const (
	bytesOfChains = 0x5ac3963c // as 8-bit integers
	floatOfChains = 0x3f9a3d71 // 1.205
)

// The registers of a chain: two factors, a product, and from firstSum on the sums.
const factor1, factor2, product, firstSum = 0, 1, 2, 3

// chains are the chains of vector registers. Twelve sums hide a latency of six cycles with two units, and 24 one of twelve.
var chains = []chain{
	{"integersAVX2", unitAVX2, "products of bytes, added in pairs, and one addition of 16-bit integers", 32, 12, 2048, stepBytes},
	{"integersAVX512", unitAVX512, "products of bytes, added in pairs, and one addition of 16-bit integers", 64, 12, 2048, stepBytes},
	{"integersAVXVNNI", unitAVXVNNI, "VPDPBUSD", 32, 12, 2048, stepVNNI},
	{"integersAVX512VNNI", unitAVX512VNNI, "VPDPBUSD", 64, 24, 1024, stepVNNI},
	{"floatsAVX2", unitAVX2, "fused multiply-adds", 8, 12, 2048, stepFloats},
	{"floatsAVX512", unitAVX512, "fused multiply-adds", 16, 24, 1024, stepFloats},
}

// chainAMX is the chain of tiles: its sums are in six of the eight tile registers, and a step is 16 cycles of the one unit.
var chainAMX = chain{name: "integersAMX", about: "TDPBSSD", macs: 16 * 16 * 64, sums: 6, turns: 256}

// stepBytes multiplies as tiers without VPDPBUSD do. A processor renames the register of the product, which keeps nothing waiting.
func stepBytes(g *tile, sum reg.VecPhysical) {
	g.VPMADDUBSW(g.vec(factor1), g.vec(factor2), g.vec(product))
	g.VPADDW(g.vec(product), sum, sum)
}

// stepVNNI multiplies as tiers with VPDPBUSD do.
func stepVNNI(g *tile, sum reg.VecPhysical) {
	if g.wide {
		g.VPDPBUSD(g.vec(factor1), g.vec(factor2), sum)
		return
	}
	multiplyUnsigned(g.Context, g.vec(factor1), g.vec(factor2), sum)
}

// stepFloats multiplies floats.
func stepFloats(g *tile, sum reg.VecPhysical) { g.VFMADD231PS(g.vec(factor1), g.vec(factor2), sum) }

// limits generates the chains.
func limits(c *build.Context) {
	for _, chain := range chains {
		g := &tile{Context: c, panelUnit: chain.unit}
		chain.begin(c)
		number := uint32(bytesOfChains)
		if strings.HasPrefix(chain.name, "floats") {
			number = floatOfChains
		}
		g.constant(g.vec(factor1), number)
		g.constant(g.vec(factor2), number)
		for i := range chain.sums {
			g.zero(g.vec(firstSum + i))
		}
		chain.loop(c, func(i int) { chain.step(g, g.vec(firstSum+i)) })
		c.VZEROUPPER()
		c.RET()
	}
	limitsAMX(c)
}

// limitsAMX generates the chain of tiles, all of them of 16 rows of 64 bytes. A stride of 0 fills a tile with one row.
func limitsAMX(c *build.Context) {
	const a, b = 6, 7 // the sums are in those before
	shapes := shapesOf(c, "shapesChain", func(int) (int, int) { return 16, 64 })
	row := c.StaticGlobal("rowChain")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for range 16 {
		c.AppendDatum(operand.U32(bytesOfChains))
	}
	chainAMX.begin(c)
	c.LEAQ(shapes, reg.RAX)
	configureTiles(c, operand.Mem{Base: reg.RAX})
	c.LEAQ(row, reg.RAX)
	c.XORL(reg.EDX, reg.EDX)
	for _, t := range []int{a, b} {
		loadTile(c, operand.Mem{Base: reg.RAX, Index: reg.RDX, Scale: 1}, t)
	}
	for t := range chainAMX.sums {
		zeroTile(c, t)
	}
	chainAMX.loop(c, func(t int) { multiplyTiles(c, a, b, t) })
	releaseTiles(c)
	c.RET()
}

// begin starts the function of a chain.
func (h chain) begin(c *build.Context) {
	c.Function(h.name)
	c.Attributes(attr.NOSPLIT)
	c.SignatureExpr("func(turns int)")
	c.Doc(fmt.Sprintf("%s does %d steps for each turn, of %d multiply-adds each: %s.", h.name, h.sums, h.macs, h.about))
}

// loop repeats a step for each sum.
func (h chain) loop(c *build.Context, step func(i int)) {
	turns := reg.RCX
	c.Load(c.Param("turns"), turns)
	c.Label("turn")
	for i := range h.sums {
		step(i)
	}
	c.DECQ(turns)
	c.JNE(operand.LabelRef("turn"))
}

// limitsTable is the table of package limits.
func limitsTable(functions []string) string {
	names := map[string]string{"integers": "Integers", "floats": "Floats"}
	var b strings.Builder
	b.WriteString("// The chains, by the instructions that they need.\nvar (\n")
	for _, h := range append(chains, chainAMX) {
		for stem, exported := range names {
			if unit, ok := strings.CutPrefix(h.name, stem); ok {
				fmt.Fprintf(&b, "\t%s%s = Chain{run: %s, turns: %d, macs: %d}\n", exported, unit, has(functions, h.name), h.turns, h.sums*h.macs)
			}
		}
	}
	return b.String() + ")\n\n"
}
