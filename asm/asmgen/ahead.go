package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// How tiles for 2 to mostAhead tokens ask the cache for weights. Such a tile computes while it reads, so the processor's own prefetchers,
// which follow the reads, come too late, and they stop at each page's end. The tile asks for later blocks itself, for quants and for scales.
// A panel's planes lie one behind the other, and the next panel lies behind them: behind its panel's last blocks the tile asks for the
// first ones of the next panel, which need not exist. For example, Q4_0 with 64 blocks and requests 16 blocks ahead:
//
//	the tile computes block   it asks for
//	0 to 47                   blocks 16 to 63
//	48 to 63                  blocks 0 to 15 of the next panel: the quants are 64·32 bytes further, since the panel's scales lie between
//
// It asks the second-level cache, for the reason that singleAhead gives.
//
// Zen 4 with AVX-512 VNNI, two threads, 8192 rows of 2048, times as fast as with requests in the first level that end with the panel:
//
//	tokens   2      3      4      6      7      8
//	Q4_0     1.11   1.09   1.18   1.46          1.38
//	Q4_K     1.11   1.16   1.20   1.35   0.90   1.70
//	Q6_K     1.07          1.20   1.42   1.50   1.60
//	Q2_K     1.43          1.56
//
// A process now and then takes as long as before for a shape, or longer, and keeps to it; 7 tokens of Q4_K nearly always do in rows of 2048.
// That depends on how far ahead the requests are: 2, 3, 4, 5 and 8 blocks of 256 were tried, and with 5 it was seldom.
//
// Zen 5, the same product on two threads, asked in the first level instead: Q4_0 with 2, 4 and 8 tokens 1.05, 1.11 and 1.03 times as fast, Q4_K 0.97,
// 0.97 and 1.0; nearer requests, 1 or 2 KB ahead, mostly 0.8 to 0.95. A single token is another case: see panels_near.go.

// mostAhead is the greatest number of tokens of a tile that asks so. A tile for more tokens computes for much longer than it reads.
const mostAhead = 8

// leastAhead is how many blocks ahead a tile asks at least.
const leastAhead = 5

// ahead is how a tile asks the cache for the planes of panels.
type ahead struct {
	*tile
	blocks int          // how many blocks ahead
	planes []int        // bytes of a block in each plane of a panel
	at     []operand.Op // for each plane, how many bytes lie between the block and those that are asked for: a register or memory
	count  operand.Mem  // blocks of a panel
}

// newAhead returns how the tile asks for planes, or nil if it does not.
func (g *tile) newAhead(planes ...int) *ahead {
	if !g.wide || g.panels > 1 || g.tokens == 1 || g.tokens > mostAhead {
		return nil
	}
	return &ahead{tile: g, planes: planes, blocks: max(leastAhead, singleAhead/planes[0])}
}

// start leads the requests to later blocks of the panel.
func (a *ahead) start() {
	for i, bytes := range a.planes {
		a.MOVQ(operand.U32(a.blocks*bytes), a.at[i])
	}
}

// turn leads the requests to the next panel if the blocks that are left have been asked for. It overwrites the scratch register.
func (a *ahead) turn(left operand.Op, scratch reg.GPPhysical) {
	all := 0
	for _, bytes := range a.planes {
		all += bytes
	}
	a.CMPQ(left, operand.U8(a.blocks))
	a.JNE(operand.LabelRef("turned"))
	for i, bytes := range a.planes {
		a.MOVQ(a.count, scratch)
		a.IMUL3Q(operand.U32(all-bytes), scratch, scratch)
		a.ADDQ(operand.U32(a.blocks*bytes), scratch)
		a.MOVQ(scratch, a.at[i])
	}
	a.Label("turned")
}

// ask asks for lines of a plane's block that begins at base. It overwrites the scratch register if the plane's place is in memory.
func (a *ahead) ask(plane int, base reg.GPPhysical, scratch reg.GPPhysical) {
	m := operand.Mem{Base: base, Scale: 1}
	if at, ok := a.at[plane].(reg.GPPhysical); ok {
		m.Index = at
	} else {
		a.MOVQ(a.at[plane], scratch)
		m.Index = scratch
	}
	for line := 0; line < a.planes[plane]; line += 64 {
		a.PREFETCHT1(m.Offset(line))
	}
}
