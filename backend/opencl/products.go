//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// products multiplies activations with weights. A product is cut by the parts of its weights; tuning says in which way each of them is
// computed: row by row of the activations (matvec.cl), several rows at once (several.cl), or in tiles (gemm.cl, gemm_blocks.cl). All but the
// first take activations that were rounded before, if the weights are in blocks.
//
// The calls for activations [3, 2048] and weights of 2048 rows, once the shape is tuned, by the way that was the fastest:
//
//	Q4_0, row by row   matvec on 3 rows of groups
//	Q4_0, several      round_rows to eight bits, then several
//	Q4_0, in tiles     round_rows, then gemm_blocks
//	F16, in tiles      widenRows to floats in scratch memory, then gemm
type products struct {
	*queue
	*substitutes
	*matrices
	tuning      tuning
	vectors     *vectors
	conversions *conversions
	plain       func(op backend.Fused) error // runs the operations that a fused one stands for, if no kernel takes its operands
	fresh       freshlyRounded
	chain       *chain
}

// maxPanel bounds the widened weights of one product, in bytes; larger ones are multiplied in several.
const maxPanel = 256 << 20

// product is out [m, hi-lo] = x [m, K]·wᵀ with rows [lo, hi) of one part of w.
type product struct {
	what   string // the operation, for errors
	x      operand
	m      int
	w      weights // a copy: with a pointer here the compiler would move what it points to to the heap
	part   *part
	lo, hi int
	out    operand // columns of a matrix of a width
	width  int
	add    bool // out += x·wᵀ
}

// shape is what the product is tuned for, row by row.
func (c *product) shape(kernel string) productShape {
	return productShape{kernel: kernel, format: c.w.format.name, n: c.hi - c.lo, k: c.w.k}
}

// weights passes the rows of the weights to a kernel.
func (c *product) weights(k *cl.Kernel) {
	c.w.pass(k, c.part, c.lo, c.hi)
	c.w.dims(k)
}

// aside returns the product with scratch memory for its output, to try how long it takes.
func (p *products) aside(c *product) (product, error) {
	tried := *c
	tried.width = c.hi - c.lo
	scratch, err := p.scratchOf(partScratch, 4*tried.width*c.m)
	tried.out = operand{mem: scratch}
	return tried, err
}

// matMulTransposed computes out = x·wᵀ.
func (p *products) matMulTransposed(op *backend.MatMulTransposed) error {
	return p.multiply("MatMulTransposed", op, false, func() error { return p.opOnHost(op) })
}

// matMulAdd computes out = (out + x·wᵀ) + bias.
func (p *products) matMulAdd(op *backend.MatMulAdd) error {
	whole := false
	err := p.multiply("MatMulAdd", &backend.MatMulTransposed{X: op.X, W: op.W, Out: op.Out}, true, func() error {
		whole = true
		return p.plain(op)
	})
	if err != nil || whole || op.Bias == nil {
		return err
	}
	_, err = p.vectors.element(&backend.AddAssign{A: op.Out, B: op.Bias})
	return err
}

// multiply computes a product, or adds it to out: part by part of the weights, or by otherwise if no kernel takes the operands.
func (p *products) multiply(what string, op *backend.MatMulTransposed, add bool, otherwise func() error) error {
	m, n, k := op.Dims()
	if m*n == 0 {
		return nil
	}
	p.mu.Lock()
	x, to := p.operand(op.X), p.operand(op.Out)
	table, ok := multiplicable(p.queue, op.W, k)
	if !ok || !x.ok || !x.float4s() || !to.ok {
		p.mu.Unlock()
		return otherwise()
	}
	defer p.mu.Unlock()
	for i := range table.parts {
		own := &table.parts[i]
		c := product{what, x, m, table, own, max(own.row, table.first), min(own.row+own.rows, table.first+n), to, n, add}
		if c.lo >= c.hi {
			continue
		}
		c.out.at += 4 * (c.lo - table.first)
		if err := p.multiplyPart(&c); err != nil {
			return err
		}
	}
	return nil
}

// multiplyPart computes the product of one part of the weights, by a record of the chain or in the way that is the fastest.
func (p *products) multiplyPart(c *product) error {
	if ok, err := p.chain.multiply(c); ok || err != nil {
		return err
	}
	shape := c.shape("multiply")
	shape.m = c.m
	by := p.tuning.way(shape, c.w.split(), func(by teams) error {
		tried, err := p.aside(c)
		if err != nil {
			return err
		}
		return p.multiplyBy(by, &tried)
	})
	return p.multiplyBy(p.readyWay(by, &c.w, c.m), c)
}

// multiplyBy computes a product in a way.
func (p *products) multiplyBy(by teams, c *product) error {
	switch {
	case by == rowByRow && p.isFresh(c.x, &c.w, c.m):
		if size, ok := p.roundedTeams(c, p.fresh.activations); ok {
			return p.multiplyRounded(size, p.fresh.activations, c)
		}
		return p.multiplyFew(c)
	case by == rowByRow:
		return p.multiplyFew(c)
	case c.w.split():
		rounded, err := p.round(c.what, c.x, c.m, c.w.k, c.w.format.blockLen)
		if err != nil {
			return err
		}
		return p.multiplyRounded(by, rounded, c)
	}
	return p.multiplyMany(c)
}

// multiplyFew multiplies row by row of x.
func (p *products) multiplyFew(c *product) error {
	shape := c.shape("matvec")
	size, ok := p.tuning.known(shape)
	if !ok {
		tried, err := p.aside(c)
		if err != nil {
			return err
		}
		size = p.tuning.tune(shape, p.tuning.try, func(t teams) error { return p.matvec(t, &tried) })
	}
	return p.matvec(size, c)
}

// roundedTeams returns how multiplyFew is divided for activations that are rounded already; ok is false if that kernel is not ready.
func (p *products) roundedTeams(c *product, a activations) (size teams, ok bool) {
	shape := c.shape("several")
	if size, ok = p.tuning.known(shape); !ok {
		tried, err := p.aside(c)
		if err != nil {
			return size, false
		}
		size = p.tuning.tune(shape, p.tuning.try, func(t teams) error {
			t.Columns = 1
			return p.multiplyRounded(t, a, &tried)
		})
	}
	size.Columns = 1
	return size, p.readyProduct("several", "several", &c.w, size)
}

// matvec enqueues the kernel.
func (p *products) matvec(t teams, c *product) error {
	t = p.readyTeams("matvec", "matvec", &c.w, t)
	kernel, err := p.kernel(p.tuning.program("matvec", c.w.format.name, c.w.lanes, t), "matvec")
	if err != nil {
		return err
	}
	c.weights(kernel)
	floats(quads(kernel, c.x), c.out).Int(c.width).Int(flag(c.add))
	return p.run(c.what, kernel, t.Group, t.blocks(c.hi-c.lo, c.w.lanes), c.m, 1)
}

// multiplyMany multiplies many rows with weights that are not in blocks: halves are widened, as many rows at once as the scratch memory
// may have.
func (p *products) multiplyMany(c *product) error {
	k := c.w.k
	if c.w.dtype == tensor.F32 {
		return p.gemm(c, operand{c.part.mem, c.part.at + (c.lo-c.part.row)*c.w.rowBytes, true})
	}
	perPanel := max(1, int(min(maxPanel, p.maxAlloc)/int64(4*k)))
	scratch, err := p.scratchOf(panelScratch, 4*k*min(perPanel, c.hi-c.lo))
	if err != nil {
		return err
	}
	panel := operand{mem: scratch, ok: true}
	for some := *c; some.lo < c.hi; some.lo = some.hi {
		some.hi = min(some.lo+perPanel, c.hi)
		if err := p.conversions.widenRows(c.what, &c.w, c.part, choice{first: some.lo, count: some.hi - some.lo}, panel, k); err != nil {
			return err
		}
		if err := p.gemm(&some, panel); err != nil {
			return err
		}
		some.out.at += 4 * (some.hi - some.lo)
	}
	return nil
}

// gemmTile is the side of the square that a group of the gemm kernels computes, by gemmGroup work-items.
const (
	gemmTile  = 64
	gemmGroup = 128
)

// gemm computes a product by the floats of its weights, [hi-lo, K].
func (p *products) gemm(c *product, panel operand) error {
	kernel, err := p.kernel(gemm, "gemm")
	if err != nil {
		return err
	}
	floats(quads(kernel, c.x, panel), c.out)
	return p.tiles(c, kernel, c.w.k)
}

// tiles passes the dimensions of a product to a kernel and enqueues it for tiles of the output.
func (p *products) tiles(c *product, kernel *cl.Kernel, k int) error {
	n := c.hi - c.lo
	kernel.Int(c.m).Int(n).Int(k).Int(c.width).Int(flag(c.add))
	return p.run(c.what, kernel, gemmGroup, groups(n, gemmTile), groups(c.m, gemmTile), 1)
}

// activations are rows of activations that were rounded to eight bits, [m, k] in scratch memory.
type activations struct {
	mem             *cl.Mem
	stepsAt, sumsAt int // bytes to the blocks' steps, and to the sums
	m, k            int
}

// round rounds activations x [m, k] to eight bits, in blocks of a length. What it returns is good until it is called again.
func (p *products) round(what string, x operand, m, k, block int) (activations, error) {
	a, err := p.roundable(m, k, block)
	if err != nil {
		return a, err
	}
	kernel, err := p.kernel(rounding, "round_rows")
	if err != nil {
		return a, err
	}
	a.pass(quads(kernel, x).Int(k).Int(block))
	const perGroup = 8 * groupSize // elements
	return a, p.run(what, kernel, groupSize, groups(k, perGroup), m, 1)
}

// roundable returns the place of rounded activations [m, k], in blocks of a length.
func (p *products) roundable(m, k, block int) (a activations, err error) {
	a = activations{m: m, k: k, stepsAt: m * k}
	a.sumsAt = (a.stepsAt + 4*m*(k/block) + 15) &^ 15 // kernels load eight sums at once
	a.mem, err = p.scratchOf(roundScratch, a.sumsAt+2*m*(k/16))
	return a, err
}

// pass passes the activations to a kernel.
func (a *activations) pass(kernel *cl.Kernel) {
	kernel.Mem(a.mem).Mem(a.mem).Int(a.stepsAt / 4).Mem(a.mem).Int(a.sumsAt / 2)
}

// freshlyRounded are activations that a command has left both as floats and rounded, in blocks of roundedBlock. They hold until the next
// command.
type freshlyRounded struct {
	of operand
	activations
	command int // the number of commands, with that one
}

// isFresh reports whether m rows of activations x are freshly rounded as w takes them.
func (p *products) isFresh(x operand, w *weights, m int) bool {
	f := &p.fresh
	return f.mem != nil && f.command == p.commands && f.of == x && f.m == m && f.k == w.k && w.split() && w.format.blockLen == roundedBlock
}

// multiplyRounded multiplies rounded activations with weights in blocks: in tiles, or by several.cl.
func (p *products) multiplyRounded(by teams, a activations, c *product) error {
	if by == tiled && p.matrix != nil {
		return p.multiplyMatrix(a, c, nil)
	}
	if by == tiled {
		kernel, err := p.kernel(p.tuning.gemm(c.w.format.name, false), "gemm_blocks")
		if err != nil {
			return err
		}
		a.pass(kernel)
		floats(kernel.Mem(c.part.mem).Int(c.part.scalesAt).Int(c.lo-c.part.row).Int(c.w.stride), c.out)
		return p.tiles(c, kernel, a.k)
	}
	kernel, err := p.kernel(p.tuning.program("several", c.w.format.name, c.w.lanes, by), "several")
	if err != nil {
		return err
	}
	a.pass(kernel)
	c.weights(kernel)
	floats(kernel, c.out).Int(a.m).Int(c.width).Int(flag(c.add))
	return p.run(c.what, kernel, by.Group, by.blocks(c.hi-c.lo, c.w.lanes), groups(a.m, by.Columns), 1)
}
