//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// waitingProduct is a NormMatMul of one row with three weights that has not been enqueued yet: if RoPEStore comes next, for the queries, keys
// and values that it computes, one kernel does both. Whatever else comes, settle enqueues it first: b.kernel, the context's Before and
// whoever frees memory call that.
type waitingProduct struct {
	waits   bool
	size    teams
	x, gain operand
	eps     float32
	terms   terms
	k       int
}

// storable tells whether a kernel can store the products, as queries, keys and values.
func (p *waitingProduct) storable() bool {
	if p.terms.n != 3 || p.terms.counts[1] != p.terms.counts[2] || !p.terms.w[0].split() {
		return false
	}
	for i := range p.terms.w {
		if p.terms.w[i].first != 0 {
			return false
		}
	}
	return true
}

// settle enqueues the product that waits, if there is one. The caller holds the lock.
func (b *Backend) settle() error {
	if !b.waiting.waits {
		return nil
	}
	p := b.waiting
	b.waiting = waitingProduct{}
	return b.normMatvec(p.size, p.x, p.gain, p.eps, &p.terms, 1, p.k)
}

// stores tells whether what waits are the products that a RoPEStore of one token is to rotate and store, in a cache whose elements are
// stored one by one.
func (p *waitingProduct) stores(d backend.AttentionDims, cache tensor.DType, q, k, v operand) bool {
	return p.waits && p.terms.out == [maxTerms]operand{q, k, v} && (cache == tensor.F16 || cache == tensor.F32) &&
		d.Tokens == 1 && d.HeadDim%2 == 0 && p.terms.counts[0] == d.Heads*d.HeadDim && p.terms.counts[1] == d.KVHeads*d.HeadDim
}

// storeVariant is what programs of norm_store are compiled for, beside the shape of the pages and how many slabs there may be.
type storeVariant struct {
	format string
	lanes  int
	size   teams
	pages  pageShape
}

// storePrograms returns the programs of norm_store.
func (b *Backend) storePrograms(v storeVariant) *pagedProgram {
	p := b.programs.stores[v]
	if p == nil {
		product := b.tuning.program("norm_store", v.format, v.lanes, v.size)
		made := pagedProgramOf(program{product.files, fmt.Sprintf("%s -DHEAD_DIM=%d -DKV_%v -DWRITES", product.options, v.pages.headDim, v.pages.cache)})
		p = &made
		b.programs.stores[v] = p
	}
	return p
}

// normStore enqueues the product that waits together with the RoPEStore of the launch's only run.
func (b *Backend) normStore(shape pageShape, angles operand, l *launch) error {
	p := b.waiting
	b.waiting = waitingProduct{}
	t, w := &p.terms, &p.terms.w[0]
	kernel, err := b.kernel(b.storePrograms(storeVariant{w.format.name, w.lanes, p.size, shape}).of(l), "norm_store")
	if err != nil {
		return err
	}
	begins, blocks := t.pass(kernel, p.size)
	kernel.Int(begins[1]).Int(begins[2])
	w.dims(kernel, p.k)
	kernel.Mem(p.x.mem).Int(p.x.elements(16)).Mem(p.gain.mem).Int(p.gain.elements(16)).Float(p.eps)
	for _, floats := range [...]operand{t.out[0], t.out[2], angles} {
		kernel.Mem(floats.mem).Int(floats.elements(4))
	}
	return b.enqueued("NormMatMul and RoPEStore", b.pass(kernel, l).Run([3]int{blocks, 1, 1}, [3]int{p.size.Group, 1, 1}))
}
