//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// waitingProduct is a NormMatMul of one row with three weights that has not been enqueued yet: if RoPEStore comes next, for the queries, keys
// and values that it computes, one kernel does both. Whatever else comes, settle enqueues it first: the queue calls that before each other
// kernel and command, and so does whoever frees memory.
type waitingProduct struct {
	waits bool
	size  teams
	normProduct
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

// hold lets a product wait. The caller holds the lock.
func (p *products) hold(w waitingProduct) error {
	if err := p.settle(); err != nil {
		return err
	}
	p.waiting = w
	p.commands++ // as if it were enqueued now
	return nil
}

// settle enqueues the product that waits, if there is one. The caller holds the lock.
func (p *products) settle() error {
	if !p.waiting.waits {
		return nil
	}
	w := p.waiting
	p.waiting = waitingProduct{}
	return p.normMatvec(w.size, &w.normProduct)
}

// stores reports whether what waits are the products that a RoPEStore of one token is to rotate and store, in a cache whose elements are
// stored one by one.
func (w *waitingProduct) stores(d backend.AttentionDims, cache tensor.DType, q, k, v operand) bool {
	return w.waits && w.out == [maxTerms]operand{q, k, v} && (cache == tensor.F16 || cache == tensor.F32) &&
		d.Tokens == 1 && d.HeadDim%2 == 0 && w.counts[0] == d.Heads*d.HeadDim && w.counts[1] == d.KVHeads*d.HeadDim
}

// storeVariant is what programs of norm_store are compiled for, besides how many runs and slabs they take.
type storeVariant struct {
	format string
	lanes  int
	size   teams
	pages  pageShape
}

// storePrograms returns the programs of norm_store.
func (p *products) storePrograms(v storeVariant) *pagedProgram {
	s := p.stores[v]
	if s == nil {
		product := p.tuning.program("norm_store", v.format, v.lanes, v.size)
		made := pagedProgramOf(program{product.files, fmt.Sprintf("%s -DHEAD_DIM=%d -DKV_%v -DWRITES", product.options, v.pages.headDim, v.pages.cache)})
		s = &made
		p.stores[v] = s
	}
	return s
}

// normStore enqueues the product that waits together with the RoPEStore of the launch's only run.
func (p *products) normStore(shape pageShape, angles operand, l *launch) error {
	c := p.waiting
	p.waiting = waitingProduct{}
	w := &c.w[0]
	kernel, err := p.kernel(p.storePrograms(storeVariant{w.format.name, w.lanes, c.size, shape}).of(l), "norm_store")
	if err != nil {
		return err
	}
	begins, blocks := c.pass(kernel, c.size)
	kernel.Int(begins[1]).Int(begins[2])
	w.dims(kernel)
	c.rows(kernel)
	return p.run("NormMatMul and RoPEStore", l.pass(floats(kernel, c.out[0], c.out[2], angles)), c.size.Group, blocks, 1, 1)
}
