//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// maxTerms is how many weights a fused product takes.
const maxTerms = 3

// terms are the weights and outputs of a fused product: of one K, each in one part, and of one format unless they are mixed.
type terms struct {
	w      [maxTerms]weights
	out    [maxTerms]operand
	counts [maxTerms]int // rows of the weights
	n      int
	mixed  bool // some have another format, of blocks of 256 too: only a chain takes them together
}

// formats returns the names of the terms' formats, the second one "" unless they are mixed.
func (t *terms) formats() (names [2]string) {
	names[0] = t.w[0].format.name
	for i := range t.n {
		if name := t.w[i].format.name; name != names[0] {
			names[1] = name
		}
	}
	return names
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
	if !ok || len(table.parts) != 1 {
		return false
	}
	if t.n > 0 && table.format.name != t.w[0].format.name {
		if table.format.blockLen != 256 || t.w[0].format.blockLen != 256 {
			return false
		}
		t.mixed = true
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

// product returns the product of the normed rows with one of the terms.
func (c *normProduct) product(i int) product {
	w, n := &c.w[i], c.counts[i]
	return product{what: c.what, x: c.normed, m: c.m, w: *w, part: &w.parts[0], lo: w.first, hi: w.first + n, out: c.out[i], width: n}
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

// storable reports whether a kernel can store the products, as queries, keys and values.
func (t *terms) storable() bool {
	if t.n != 3 || t.counts[1] != t.counts[2] || !t.w[0].split() {
		return false
	}
	for i := range t.w {
		if t.w[i].first != 0 {
			return false
		}
	}
	return true
}

// normRow computes a product row by row.
func (p *products) normRow(c *normProduct) error {
	size := p.rowTeams(c)
	if p.chain.learning == c.m || !p.readyProduct("norm_matvec", "norm_matvec", &c.w[0], size) {
		return p.apart(c)
	}
	return p.normMatvec(size, c)
}

// apart norms rows and multiplies them with each term, by kernels that others need too.
func (p *products) apart(c *normProduct) error {
	if err := p.vectors.norm(c.x, c.gain, c.normed, c.m, c.k, c.eps); err != nil {
		return err
	}
	for i := range c.n {
		one := c.product(i)
		if err := p.multiplyPart(&one); err != nil {
			return err
		}
	}
	return nil
}

// rowTeams returns how a product is best divided row by row.
func (p *products) rowTeams(c *normProduct) teams {
	shape := c.shape("norm_matvec", c.terms.rows(), 0)
	size, ok := p.tuning.known(shape)
	if !ok {
		size = p.tuning.tune(shape, p.tuning.try, func(try teams) error { return p.normMatvec(try, c) })
	}
	return size
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
