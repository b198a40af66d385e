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

// NormMatMul computes outs[i] = rmsnorm(x)·ws[i]ᵀ: for few rows in one kernel, for more with activations that are rounded once.
func (f *fused) NormMatMul(x, norm *tensor.Tensor, eps float32, normed *tensor.Tensor, ws, outs []*tensor.Tensor) error {
	if norm == nil {
		return f.composed.NormMatMul(x, nil, 0, normed, ws, outs)
	}
	m, k, err := backend.CheckRMSNorm(x, norm)
	if err != nil {
		return err
	}
	if err := backend.CheckNormMatMul(x, normed, ws, outs); err != nil {
		return err
	}
	f.mu.Lock()
	c := normProduct{what: "NormMatMul", eps: eps, m: m, k: k}
	if !c.of(f.queue, x, norm, normed) {
		f.mu.Unlock()
		return f.composed.NormMatMul(x, norm, eps, normed, ws, outs)
	}
	together := true
	for i := 0; i < len(ws) && together; i++ {
		together = c.add(f.queue, ws[i], outs[i], k)
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
	err = f.vectors.norm(c.x, c.gain, c.normed, m, k, eps)
	f.mu.Unlock()
	if err != nil {
		return err
	}
	for i, w := range ws {
		if err := f.MatMulTransposed(normed, w, outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// normMultiply computes a product in a way: row by row it is one kernel.
func (p *products) normMultiply(by teams, c *normProduct) error {
	if by != rowByRow {
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

// NormSwiGLU computes out = silu(n·gateᵀ)·(n·upᵀ) of the normed x: for few rows in one kernel, for more as NormMatMul does.
func (f *fused) NormSwiGLU(x, norm *tensor.Tensor, eps float32, normed, gate, up, product, out *tensor.Tensor) error {
	m, k, err := backend.CheckRMSNorm(x, norm)
	if err != nil {
		return err
	}
	ws, outs := [2]*tensor.Tensor{gate, up}, [2]*tensor.Tensor{out, product}
	if err := backend.CheckNormMatMul(x, normed, ws[:], outs[:]); err != nil {
		return err
	}
	f.mu.Lock()
	c := normProduct{what: "NormSwiGLU", eps: eps, m: m, k: k}
	if gate.Shape() == up.Shape() && c.of(f.queue, x, norm, normed) && c.add(f.queue, gate, out, k) && c.add(f.queue, up, product, k) && !c.mixed {
		defer f.mu.Unlock()
		if ok, err := f.chain.swiGLU(&c); ok || err != nil {
			return err
		}
		by := f.tuning.way(c.shape("norm_swiglu", c.counts[0], m), c.split(), func(by teams) error { return f.normSwiGLU(by, &c) })
		return f.normSwiGLU(by, &c)
	}
	f.mu.Unlock()
	if err := f.NormMatMul(x, norm, eps, normed, ws[:], outs[:]); err != nil {
		return err
	}
	return f.vectors.SiLUMul(out, product)
}

// normSwiGLU computes NormSwiGLU in a way: row by row it is one kernel.
func (f *fused) normSwiGLU(by teams, c *normProduct) error {
	n := c.counts[0]
	switch {
	case by == tiled && f.matrix != nil && c.split():
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
	return f.swiGLU(size, c)
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
