//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// experts computes what mixtures of experts need. Nothing of it travels to the host: a group of a product finds its expert by itself, and
// multiplies with one pair's row, or with a tile of rows of pairs that the device has sorted by their experts.
//
// Two rows that choose the experts [5 2] and [2 7] of 8 have four pairs. There are two ways to multiply them; multiplyPairs considers the
// second only if there are more pairs than experts:
//
//	eachPair   a matvec for each pair: expert 5, 2, 2 and 7
//	grouped    group_pairs sorts them to 2 2, 5, 7; then a grid for up to 4 tiles of pairs: 3 have pairs, 1 has no rows
type experts struct {
	*products
	feeds feeding // of the latest FeedExperts
}

// route chooses experts for the rows of logits.
func (e *experts) route(op *backend.Route) error {
	rows, n, k := op.Dims()
	if rows == 0 {
		return nil
	}
	logits, r := op.Logits, &op.Routing
	if r.Groups > 1 { // few models have groups
		return e.opOnHost(op)
	}
	bias, scales := r.Bias, r.ExpertScales
	if bias == nil {
		bias = logits // some buffer, which is not used
	}
	if scales == nil {
		scales = logits
	}
	e.mu.Lock()
	from, to, by := e.operand(logits), e.operand(op.Chosen), e.operand(op.Weights)
	added, factors := e.operand(bias), e.operand(scales)
	if !from.ok || !to.ok || !by.ok || !added.ok || !factors.ok {
		e.mu.Unlock()
		return e.opOnHost(op)
	}
	defer e.mu.Unlock()
	scores, err := e.scratchOf(partScratch, 4*rows*n)
	if err != nil {
		return err
	}
	kernel, err := e.kernel(routing, "route")
	if err != nil {
		return err
	}
	floats(floats(kernel, from).Mem(scores), added, factors, to, by)
	kernel.Int(n).Int(k).Int(int(r.Scores)).Int(flag(r.Bias != nil)).Int(flag(r.ExpertScales != nil)).Int(flag(r.Normalize)).Float(r.Scale)
	return e.run("Route", kernel, groupSize, rows, 1, 1)
}

// matMulExperts multiplies each pair's row with its expert's weights.
func (e *experts) matMulExperts(op *backend.MatMulExperts) error {
	d := op.Dims()
	if d.Pairs == 0 || d.N == 0 {
		return nil
	}
	e.mu.Lock()
	from, by, to := e.operand(op.X), e.operand(op.Chosen), e.operand(op.Out)
	table, ok := multiplicable(e.queue, op.W, d.K)
	if !ok || !from.ok || !from.float4s() || !by.ok || !to.ok || !table.whole(d.N) {
		e.mu.Unlock()
		return e.opOnHost(op)
	}
	defer e.mu.Unlock()
	for i := range table.parts {
		own := &table.parts[i]
		c := product{"MatMulExperts", from, 1, table, own, max(own.row, table.first), 0, to, d.N, false}
		if c.hi = min(own.row+own.rows, table.first+d.Experts*d.N); c.lo >= c.hi {
			continue
		}
		if err := e.multiplyPairs(&c, d, by); err != nil {
			return err
		}
	}
	return nil
}

// mostGrouped is the most experts with pairs that are grouped.
const mostGrouped = 1024

// multiplyPairs multiplies the pairs with experts among the product's rows: pair by pair, or, if experts have several pairs each and their weights are
// in blocks, the pairs of an expert together.
func (e *experts) multiplyPairs(c *product, d backend.ExpertDims, chosen operand) error {
	if !c.w.split() || d.Experts > mostGrouped {
		return e.eachPair(c, d, chosen)
	}
	shape := productShape{kernel: "experts", format: c.w.format.name, n: d.N, k: c.w.k, m: groups(d.Pairs, d.Experts)}
	compute := func(by teams, c *product) error {
		if by == rowByRow {
			return e.eachPair(c, d, chosen)
		}
		return e.grouped(c, d, chosen)
	}
	by := e.tuning.way(shape, false, func(by teams) error {
		tried := *c
		tried.m = d.Pairs
		tried.hi = c.lo + d.N
		aside, err := e.aside(&tried)
		if err != nil {
			return err
		}
		aside.hi = c.hi
		return compute(by, &aside)
	})
	return compute(by, c)
}

// grouped multiplies the pairs of an expert together, in tiles of an expert's pairs and of the rows of its weights. Which tiles there are only the
// device knows: the grid has as many as there may be, and those that there are not have no rows.
func (e *experts) grouped(c *product, d backend.ExpertDims, chosen operand) error {
	rounded, err := e.round(c.what, c.x, d.Rows, c.w.k, c.w.format.blockLen)
	if err != nil {
		return err
	}
	active := min(d.Experts, d.Pairs)
	rows, columns, group, name, which := gemmTile, gemmTile, gemmGroup, "gemm_blocks", e.tuning.gemm(c.w.format.name, true)
	if e.matrix != nil {
		tile, program := e.readyTile(c.w.format.name, e.matrixTileOf(active, groups(d.Pairs, active), d.N), c.w.k, 1, true)
		rows, columns, group, name = tile.rows(e.matrix), tile.columns(e.matrix), tile.group(e.matrix), "gemm_matrix"
		which = program
	}
	tiles := d.Pairs/rows + min(d.Experts+1, d.Pairs)
	places, err := e.scratchOf(pairScratch, 4*(d.Pairs+3*tiles))
	if err != nil {
		return err
	}
	sort, err := e.kernel(routing, "group_pairs")
	if err != nil {
		return err
	}
	floats(sort, chosen).Int(d.Pairs).Int(d.Experts).Int(rows).Int(tiles).Mem(places).Int(d.Pairs)
	if err := e.run(c.what, sort, groupSize, d.Experts+1, 1, 1); err != nil {
		return err
	}
	kernel, err := e.kernel(which, name)
	if err != nil {
		return err
	}
	rounded.pass(kernel)
	floats(kernel.Mem(c.part.mem).Int(c.part.scalesAt).Int(c.lo-c.part.row).Int(c.w.stride), c.out)
	kernel.Int(d.Pairs).Int(d.N).Int(c.w.k).Int(d.N).Int(0)
	kernel.Mem(places).Int(d.Pairs).Int(d.Pairs / d.Rows).Int((c.lo - c.w.first) / d.N).Int((c.hi - c.lo) / d.N).Int(d.Experts)
	return e.run(c.what, kernel, group, groups(d.N, columns), tiles, 1)
}

// eachPair multiplies pair by pair. It is tuned as a product with one expert's weights is.
func (e *experts) eachPair(c *product, d backend.ExpertDims, chosen operand) error {
	one := *c
	one.hi = c.lo + d.N
	shape := one.shape("matvec")
	size, ok := e.tuning.known(shape)
	if !ok {
		tried, err := e.aside(&one)
		if err != nil {
			return err
		}
		size = e.tuning.tune(shape, e.tuning.try, func(t teams) error { return e.matvec(t, &tried) })
	}
	size = e.readyTeams("matvec", "expert_matvec", &c.w, size)
	kernel, err := e.kernel(e.tuning.program("matvec", c.w.format.name, c.w.lanes, size), "expert_matvec")
	if err != nil {
		return err
	}
	c.weights(kernel)
	floats(floats(quads(kernel, c.x), c.out).Int(d.N), chosen).Int(d.Pairs / d.Rows)
	kernel.Int((c.lo - c.w.first) / d.N).Int((c.hi - c.lo) / d.N).Int(d.Experts)
	return e.run(c.what, kernel, size.Group, size.blocks(d.N, c.w.lanes), d.Pairs, 1)
}

// whole reports whether no part of the weights of experts, of n rows each, cuts one.
func (w *weights) whole(n int) bool {
	for _, p := range w.parts {
		if p.row%n != 0 || p.rows%n != 0 {
			return false
		}
	}
	return w.first%n == 0
}

// addExpertBias adds each pair's expert's bias to its row.
func (e *experts) addExpertBias(op *backend.AddExpertBias) error {
	pairs, count, n := op.Chosen.Shape().NumElements(), op.Bias.Shape().Dim(0), op.Bias.Shape().Dim(1)
	if pairs == 0 {
		return nil
	}
	return e.compute(op, []*tensor.Tensor{op.Out, op.Bias, op.Chosen}, func(o operandSet) error {
		k, err := e.kernel(elementwise, "add_expert_bias")
		if err != nil {
			return err
		}
		return e.run("AddExpertBias", floats(k, o[0], o[1], o[2]).Int(n).Int(count), groupSize, groups(n, groupSize), pairs, 1)
	})
}

// sumExperts adds up the rows of pairs.
func (e *experts) sumExperts(op *backend.SumExperts) error {
	rows, choices, n := op.Dims()
	if rows == 0 {
		return nil
	}
	return e.compute(op, []*tensor.Tensor{op.Y, op.Weights, op.Out}, func(o operandSet) error {
		k, err := e.kernel(elementwise, "sum_experts")
		if err != nil {
			return err
		}
		return e.run("SumExperts", floats(k, o[0], o[1], o[2]).Int(n).Int(choices), groupSize, groups(n, groupSize), rows, 1)
	})
}
