//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// maxTerms is how many weights a fused product takes.
const maxTerms = 3

// terms are the weights and outputs of a fused product: of one type and K, each in one part.
type terms struct {
	w      [maxTerms]weights
	out    [maxTerms]operand
	counts [maxTerms]int // rows of the weights
	n      int
}

// rows returns how many rows all weights have.
func (t *terms) rows() (n int) {
	for _, count := range t.counts {
		n += count
	}
	return n
}

// add adds a weight and its output; false: no fused kernel takes it with the ones before.
func (t *terms) add(q *queue, w, out *tensor.Tensor, k int) bool {
	if t.n == maxTerms {
		return false
	}
	table, ok := multiplicable(q, w, k)
	if !ok || len(table.parts) != 1 || table.format.name != t.w[0].format.name && t.n > 0 {
		return false
	}
	if t.out[t.n] = q.operand(out); !t.out[t.n].ok {
		return false
	}
	t.w[t.n], t.counts[t.n] = table, w.Shape().Dim(0)
	t.n++
	return true
}

// weights passes the terms' weights to a kernel.
func (t *terms) weights(k *cl.Kernel, slots int) {
	for i := range slots {
		w := &t.w[min(i, t.n-1)] // a slot without a term has some weights and no rows
		w.pass(k, &w.parts[0], w.first, w.first+t.counts[i])
	}
}

// pass passes the terms' weights to a kernel and returns with which group each term begins, and how many groups there are.
func (t *terms) pass(k *cl.Kernel, size teams) (begins [maxTerms]int, blocks int) {
	t.weights(k, maxTerms)
	for i := range begins {
		begins[i] = blocks
		blocks += size.blocks(t.counts[i], t.w[0].lanes)
	}
	return begins, blocks
}

// normProduct is the products of normed rows: out[i] = rmsnorm(x)·w[i]ᵀ for each of the terms.
type normProduct struct {
	what            string // the operation, for errors
	x, gain, normed operand
	eps             float32
	m, k            int // of x
	terms
}

// split reports whether the weights are in blocks.
func (c *normProduct) split() bool { return c.w[0].split() }

// shape is what the product is tuned for, with n rows of weights and m of activations.
func (c *normProduct) shape(kernel string, n, m int) productShape {
	return productShape{kernel, c.w[0].format.name, n, c.k, m}
}

// rows passes x, and how it is normed, to a kernel.
func (c *normProduct) rows(k *cl.Kernel) { quads(k, c.x, c.gain).Float(c.eps) }

// of fills the product in; false: no kernel takes the operands.
func (c *normProduct) of(q *queue, x, norm, normed *tensor.Tensor) bool {
	c.x, c.gain, c.normed = q.operand(x), q.operand(norm), q.operand(normed)
	return c.x.ok && c.gain.ok && c.normed.ok && c.x.float4s() && c.gain.float4s() && c.normed.float4s()
}

// NormMatMul computes outs[i] = rmsnorm(x)·ws[i]ᵀ: for few rows in one kernel, for more with activations that are rounded once.
func (p *products) NormMatMul(x, norm *tensor.Tensor, eps float32, normed *tensor.Tensor, ws, outs []*tensor.Tensor) error {
	m, k, err := backend.CheckRMSNorm(x, norm)
	if err != nil {
		return err
	}
	if err := backend.CheckNormMatMul(x, normed, ws, outs); err != nil {
		return err
	}
	p.mu.Lock()
	c := normProduct{what: "NormMatMul", eps: eps, m: m, k: k}
	if !c.of(p.queue, x, norm, normed) {
		p.mu.Unlock()
		return p.composed.NormMatMul(x, norm, eps, normed, ws, outs)
	}
	together := true
	for i := 0; i < len(ws) && together; i++ {
		together = c.add(p.queue, ws[i], outs[i], k)
	}
	if together && c.n > 0 {
		defer p.mu.Unlock()
		by := p.tuning.way(c.shape("norm_matvec", c.terms.rows(), m), c.split(), func(by teams) error { return p.normMultiply(by, &c) })
		return p.normMultiply(by, &c)
	}
	err = p.vectors.norm(c.x, c.gain, c.normed, m, k, eps)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	for i, w := range ws {
		if err := p.MatMulTransposed(normed, w, outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// normMultiply computes a product in a way: row by row it is one kernel, which for one row may wait for what comes next.
func (p *products) normMultiply(by teams, c *normProduct) error {
	if by != rowByRow {
		return p.normThenMultiply(by, c)
	}
	shape := c.shape("norm_matvec", c.terms.rows(), 0)
	size, ok := p.tuning.known(shape)
	if !ok {
		size = p.tuning.tune(shape, p.tuning.try, func(try teams) error { return p.normMatvec(try, c) })
	}
	if c.m == 1 && c.storable() && !p.closed {
		return p.hold(waitingProduct{true, size, *c})
	}
	return p.normMatvec(size, c)
}

// normThenMultiply norms rows, rounds them once where weights are in blocks, and multiplies them with each term.
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
		w, n := &c.w[i], c.counts[i]
		one := product{what: c.what, x: c.normed, m: c.m, w: w, part: &w.parts[0], lo: w.first, hi: w.first + n, out: c.out[i], width: n}
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

// normMatvec enqueues the kernel.
func (p *products) normMatvec(size teams, c *normProduct) error {
	kernel, err := p.kernel(p.tuning.program("norm_matvec", c.w[0].format.name, c.w[0].lanes, size), "norm_matvec")
	if err != nil {
		return err
	}
	begins, blocks := c.pass(kernel, size)
	kernel.Int(begins[1]).Int(begins[2])
	c.w[0].dims(kernel)
	c.rows(kernel)
	for i := range begins {
		floats(kernel, c.out[min(i, c.n-1)])
	}
	return p.run("NormMatMul", kernel, size.Group, blocks, c.m, 1)
}

// NormSwiGLU computes out = silu(n·gateᵀ)·(n·upᵀ) of the normed x: for few rows in one kernel, for more as NormMatMul does.
func (p *products) NormSwiGLU(x, norm *tensor.Tensor, eps float32, normed, gate, up, product, out *tensor.Tensor) error {
	m, k, err := backend.CheckRMSNorm(x, norm)
	if err != nil {
		return err
	}
	ws, outs := [2]*tensor.Tensor{gate, up}, [2]*tensor.Tensor{out, product}
	if err := backend.CheckNormMatMul(x, normed, ws[:], outs[:]); err != nil {
		return err
	}
	p.mu.Lock()
	c := normProduct{what: "NormSwiGLU", eps: eps, m: m, k: k}
	if gate.Shape() == up.Shape() && c.of(p.queue, x, norm, normed) && c.add(p.queue, gate, out, k) && c.add(p.queue, up, product, k) {
		defer p.mu.Unlock()
		by := p.tuning.way(c.shape("norm_swiglu", c.counts[0], m), c.split(), func(by teams) error { return p.normSwiGLU(by, &c) })
		return p.normSwiGLU(by, &c)
	}
	p.mu.Unlock()
	if err := p.NormMatMul(x, norm, eps, normed, ws[:], outs[:]); err != nil {
		return err
	}
	return p.vectors.SiLUMul(out, product)
}

// normSwiGLU computes NormSwiGLU in a way: row by row it is one kernel.
func (p *products) normSwiGLU(by teams, c *normProduct) error {
	n := c.counts[0]
	if by != rowByRow {
		if err := p.normThenMultiply(by, c); err != nil {
			return err
		}
		return p.vectors.siluMul(c.out[0], c.out[1], c.m*n)
	}
	shape := c.shape("norm_swiglu", n, 0)
	size, ok := p.tuning.known(shape)
	if !ok {
		size = p.tuning.tune(shape, rounding32(p.tuning.try, &c.w[0]), func(try teams) error { return p.swiGLU(try, c) })
	}
	return p.swiGLU(size, c)
}

// swiGLU enqueues the kernel, which rounds what it computes for the product that comes next if its groups have whole blocks of it.
func (p *products) swiGLU(size teams, c *normProduct) error {
	n, lanes, out := c.counts[0], c.w[0].lanes, c.out[0]
	kernel, err := p.kernel(p.tuning.program("norm_swiglu", c.w[0].format.name, lanes, size), "norm_swiglu")
	if err != nil {
		return err
	}
	c.terms.weights(kernel, 2)
	rounds := size.rounds(lanes) && n%roundedBlock == 0
	a := activations{mem: out.mem} // some buffer, which is not written to for this
	if rounds {
		if a, err = p.roundable(c.m, n, roundedBlock); err != nil {
			return err
		}
	}
	c.w[0].dims(kernel)
	c.rows(kernel)
	floats(kernel, out).Mem(a.mem).Int(a.stepsAt / 4).Int(a.sumsAt / 2)
	err = p.run("NormSwiGLU", kernel, size.Group, size.blocks(n, lanes), c.m, 1)
	if err == nil && rounds {
		p.fresh = freshlyRounded{out, a, p.commands}
	}
	return err
}
