package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Tiles for a single token that ask the first-level cache for weights, and not the second. A core of Zen 5 drops requests that find no place, from some 30 lines in a row on, those of
// PREFETCHT1 more than those of PREFETCHT0. So these tiles ask for few lines at a time. Blocks of 32 are besides multiplied a
// run at a time, a kilobyte of one panel, and not a block of each panel in turn. Meanwhile the tile asks for the next run of all panels, which
// take turns. For example, Q4_0 in runs of four blocks:
//
//	the tile multiplies          it asks for lines
//	panel 0, blocks 0 to 3       0 to 3 of each panel's blocks 4 to 7
//	panel 1, blocks 0 to 3       4 to 7
//	panel 2, blocks 0 to 3       8 to 11
//	panel 3, blocks 0 to 3       12 to 15
//	panel 0, blocks 4 to 7       0 to 3 of each panel's blocks 8 to 11
//
// One token of Q4_0 in rows of 2048, and which part of the rate it reached of a loop that reads a word of each line in four places, on two
// threads of Zen 5 and on one: medians of variants in turn, each for half a millisecond, from three runs of five processes, good to about 0.03 in such
// minutes. In others, with more company, runs of 1 KB had 0.80 and the tile of AVX-512 VNNI 0.69:
//
//	the tile of AVX-512 VNNI                                0.74   0.74
//	the same, 1.5 KB ahead in the first level               0.89   0.86
//	runs of 1 KB                                            0.93   0.94
//	runs of 1 KB, requests in the second level              0.88   0.88
//	runs of 1 KB, one panel's lines after another's         0.92   0.92
//	runs of 1 KB, no requests for scales                    0.86   0.87
//	runs of 1 KB, no requests                               0.78   0.77
//	runs of 512 bytes                                       0.88   0.84
//	runs of 2 KB                                            0.88   0.86
//
// No better: requests 0.5, 0.75, 1.25 and 1.5 KB ahead, PREFETCHNTA, fewer instructions, several groups of panels in one call, a panel's
// neighbours as the next in its place, early requests for the next panels' pages.

// runBytes is how many bytes of a panel's quants a run has at most, and so about how far ahead requests are.
const runBytes = 1280

// runBlocks returns how many blocks a run has: a power of two, so that rows mostly are whole runs.
func (f *format32) runBlocks() int {
	n := 1
	for 2*n*f.quants <= runBytes {
		n *= 2
	}
	return n
}

// request asks the cache for a line of weights of a single token's tile.
func (g *tile) request(m operand.Mem) {
	if g.near {
		g.PREFETCHT0(m)
		return
	}
	g.PREFETCHT1(m)
}

// panelsNear generates these tiles.
func panelsNear(c *build.Context) {
	u := unitNear
	constants := newPatterns32(c, u)
	for _, f := range formats32(u) {
		generateRuns(c, u, f, constants)
	}
	for _, f := range formatsFloat {
		generateFloat(c, u, f, panelsOfSingle, 1)
	}
	shared := newPatterns(c, u)
	for _, f := range formats256 {
		generateSingle256(c, u, f, shared, panelsOfSingle)
	}
	own := newPatternsGroups(c, u)
	for _, f := range formatsGroups {
		newTileGroups(c, u, f, shared, own, constants, 1, panelsOfSingle).generateSingle()
	}
}

// generateRuns generates a tile for a single token and a format with blocks of 32. The rest of a row, after its runs, is multiplied block by
// block.
func generateRuns(c *build.Context, u panelUnit, f format32, constants patterns32) {
	g := newTile32(c, u, f, constants, panelsOfSingle, 1)
	n := f.runBlocks()
	g.CMPQ(regBlocks, operand.U8(n))
	g.JLT(operand.LabelRef("block"))
	g.LEAQ(operand.Mem{Base: regW, Disp: n * f.quants}, regQuantsAhead)
	g.LEAQ(operand.Mem{Base: regScales, Disp: n * f.scales}, regHalvesAhead)
	g.Label("run")
	g.CMPQ(regBlocks, operand.U8(2*n))
	g.JGE(operand.LabelRef("ahead"))
	g.turnAhead()
	g.Label("ahead")
	steps := n * g.parts()
	for step := range steps {
		g.requestInTurn(regQuantsAhead, n*f.quants, step, steps)
		g.requestInTurn(regHalvesAhead, n*f.scales, step, steps)
		g.part = step / n
		g.toBlock(step % n)
		g.multiplyBlock32(f)
	}
	g.toBlock(0)
	g.ADDQ(operand.U32(n*f.quants), regQuantsAhead)
	g.ADDQ(operand.U32(n*f.scales), regHalvesAhead)
	g.nextBlocks32(f, n)
	g.SUBQ(operand.U8(n), regBlocks)
	g.JEQ(operand.LabelRef("done"))
	g.CMPQ(regBlocks, operand.U8(n))
	g.JGE(operand.LabelRef("run"))
	g.Label("block")
	for g.part = range g.parts() {
		g.multiplyBlock32(f)
	}
	g.nextBlocks32(f, 1)
	g.DECQ(regBlocks)
	g.JNE(operand.LabelRef("block"))
	g.Label("done")
	g.storeSums()
}

// toBlock makes code for the i-th block behind the registers.
func (g *tile) toBlock(i int) {
	g.block = i
	cursorQ.ahead, cursorD.ahead, cursorSums.ahead = 32*i, 4*i, 4*i
}

// requestInTurn asks for a step's share of the lines of bytes that lie, in each panel, behind at. The panels take turns.
func (g *tile) requestInTurn(at reg.GPPhysical, bytes, step, steps int) {
	lines := (bytes + 63) / 64 * g.panels
	for i := lines * step / steps; i < lines*(step+1)/steps; i++ {
		g.part = i % g.panels
		g.request(g.inPart(operand.Mem{Base: at, Disp: 64 * (i / g.panels)}, 0))
	}
}
