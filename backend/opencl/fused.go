//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// fused computes products with what lies around them: the norm before, the gate of a feed-forward network after, and RoPEStore after the
// products of queries, keys and values.
type fused struct {
	*products
	waiting *waiting
}

// normMatMul computes outs[i] = rmsnorm(x)·ws[i]ᵀ: for few rows in one kernel, for more with activations that are rounded once.
func (f *fused) normMatMul(op *backend.NormMatMul) error {
	if op.Norm == nil {
		return f.plain(op)
	}
	m, k, eps, ws, outs := op.X.Shape().Rows(), op.X.Shape().Dim(-1), op.Eps, op.Ws, op.Outs
	f.mu.Lock()
	c := normProduct{what: "NormMatMul", eps: eps, m: m, k: k}
	if !c.of(f.queue, op.X, op.Norm, op.Normed) {
		f.mu.Unlock()
		return f.plain(op)
	}
	together := true
	for i := 0; i < len(ws) && together; i++ {
		together = c.add(f.queue, ws[i], outs[i], k)
	}
	if !c.storable() {
		f.chain.learning = 0 // the head
	}
	chained := c.n > 0 && c.storable() && !f.closed && f.chain.takes(&c)
	if together && c.n > 0 && (chained || !c.mixed) {
		defer f.mu.Unlock()
		if c.mixed {
			return f.waiting.hold(&c, rowByRow)
		}
		by := f.tuning.way(c.shape("norm_matvec", c.terms.rows(), m), c.split(), func(by teams) error { return f.normMultiply(by, &c) })
		if chained || m == 1 && by == rowByRow && c.storable() && !f.closed {
			return f.waiting.hold(&c, by)
		}
		return f.normMultiply(by, &c)
	}
	err := f.vectors.norm(c.x, c.gain, c.normed, m, k, eps)
	f.mu.Unlock()
	if err != nil {
		return err
	}
	for i, w := range ws {
		if err := f.matMulTransposed(&backend.MatMulTransposed{X: op.Normed, W: w, Out: outs[i]}); err != nil {
			return err
		}
	}
	return nil
}

// normMultiply computes a product in a way: row by row it is one kernel.
func (p *products) normMultiply(by teams, c *normProduct) error {
	if by = p.readyWay(by, &c.w[0], c.m); by != rowByRow {
		return p.normThenMultiply(by, c)
	}
	return p.normRow(c)
}

// normThenMultiply norms rows, rounds them once if the weights are in blocks, and multiplies them with each term.
func (p *products) normThenMultiply(by teams, c *normProduct) error {
	if err := p.vectors.norm(c.x, c.gain, c.normed, c.m, c.k, c.eps); err != nil {
		return err
	}
	var rounded activations
	if c.split() {
		var err error
		if rounded, err = p.round(c.what, c.normed, c.m, c.k, c.w[0].format.blockLen); err != nil {
			return err
		}
	}
	for i := range c.n {
		one := c.product(i)
		var err error
		if c.split() {
			err = p.multiplyRounded(by, rounded, &one)
		} else {
			err = p.multiplyMany(&one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// swiGLUOf computes out = silu(n·gateᵀ)·(n·upᵀ) of the normed x: for few rows in one kernel, for more as NormMatMul does.
func (f *fused) swiGLUOf(op *backend.NormSwiGLU) error {
	if op.Norm == nil {
		return f.plain(op)
	}
	m, k := op.X.Shape().Rows(), op.X.Shape().Dim(-1)
	f.mu.Lock()
	c := normProduct{what: "NormSwiGLU", eps: op.Eps, m: m, k: k}
	if c.of(f.queue, op.X, op.Norm, op.Normed) && c.add(f.queue, op.Gate, op.Out, k) && c.add(f.queue, op.Up, op.Product, k) && !c.mixed {
		defer f.mu.Unlock()
		if ok, err := f.chain.swiGLU(&c); ok || err != nil {
			return err
		}
		by := f.tuning.way(c.shape("norm_swiglu", c.counts[0], m), c.split(), func(by teams) error { return f.normSwiGLU(by, &c) })
		return f.normSwiGLU(by, &c)
	}
	f.mu.Unlock()
	ws, outs := []*tensor.Tensor{op.Gate, op.Up}, []*tensor.Tensor{op.Out, op.Product}
	if err := f.normMatMul(&backend.NormMatMul{X: op.X, Norm: op.Norm, Eps: op.Eps, Normed: op.Normed, Ws: ws, Outs: outs}); err != nil {
		return err
	}
	_, err := f.vectors.element(&backend.SiLUMul{A: op.Out, B: op.Product})
	return err
}

// normSwiGLU computes NormSwiGLU in a way: row by row it is one kernel.
func (f *fused) normSwiGLU(by teams, c *normProduct) error {
	n := c.counts[0]
	by = f.readyWay(by, &c.w[0], c.m)
	switch {
	case by == tiled && f.matrix != nil && c.split() && f.readyPair(c):
		return f.matrixSwiGLU(c)
	case by != rowByRow:
		if err := f.normThenMultiply(by, c); err != nil {
			return err
		}
		return f.vectors.siluMul(c.out[0], c.out[1], c.m*n)
	}
	shape := c.shape("norm_swiglu", n, 0)
	size, ok := f.tuning.known(shape)
	if !ok {
		size = f.tuning.tune(shape, rounding32(f.tuning.try, &c.w[0]), func(try teams) error { return f.swiGLU(try, c) })
	}
	if f.chain.learning == c.m || !f.readyProduct("norm_swiglu", "norm_swiglu", &c.w[0], size) {
		if err := f.apart(c); err != nil {
			return err
		}
		return f.vectors.siluMul(c.out[0], c.out[1], c.m*n)
	}
	return f.swiGLU(size, c)
}

// readyPair reports whether a kernel that joins two products in tiles is ready.
func (f *fused) readyPair(c *normProduct) bool {
	_, program := f.readyTile(c.w[0].format.name, f.matrixTileFor(c.m, 2*c.counts[0]), c.k, 2, false)
	return f.forcedTile != nil || f.queue.programs.Has(program, "gemm_matrix") || !f.queue.programs.Patient
}

// swiGLU enqueues the kernel, which rounds what it computes for the product that comes next if its groups have whole blocks of it.
func (f *fused) swiGLU(size teams, c *normProduct) error {
	n, lanes, out := c.counts[0], c.w[0].lanes, c.out[0]
	kernel, err := f.kernel(f.tuning.program("norm_swiglu", c.w[0].format.name, lanes, size), "norm_swiglu")
	if err != nil {
		return err
	}
	c.terms.weights(kernel, 2)
	rounds := size.rounds(lanes) && n%roundedBlock == 0
	a := activations{mem: out.mem} // some buffer, which is not written to for this
	if rounds {
		if a, err = f.roundable(c.m, n, roundedBlock); err != nil {
			return err
		}
	}
	c.w[0].dims(kernel)
	c.rows(kernel)
	floats(kernel, out).Mem(a.mem).Int(a.stepsAt / 4).Int(a.sumsAt / 2)
	err = f.run("NormSwiGLU", kernel, size.Group, size.blocks(n, lanes), c.m, 1)
	if err == nil && rounds {
		f.fresh = freshlyRounded{out, a, f.commands}
	}
	return err
}
