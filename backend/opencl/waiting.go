//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
	"github.com/antigravity-go/antigravity/tensor"
)

// waiting holds a NormMatMul of few rows with three weights back: if RoPEStore comes next, for the queries, keys and values that it
// computes, one kernel does both. Whatever else comes, settle enqueues it first: the queue calls that before each other kernel and command,
// and so does code that frees memory.
type waiting struct {
	*products
	waits    bool // there is such a product: the field below
	c        normProduct
	by       teams                          // in which way it is computed if nothing takes it
	programs map[storeVariant]*pagedProgram // of norm_store
}

// hold lets a product wait. The caller holds the lock.
func (w *waiting) hold(c *normProduct, by teams) error {
	if err := w.settle(); err != nil {
		return err
	}
	w.waits, w.c, w.by = true, *c, by
	w.commands++ // as if it were enqueued now
	return nil
}

// forget drops the product that waits.
func (w *waiting) forget() { w.waits, w.c = false, normProduct{} }

// settle enqueues the product that waits, if there is one. The caller holds the lock.
func (w *waiting) settle() error {
	if !w.waits {
		return nil
	}
	c := w.c
	w.forget()
	if c.mixed {
		return w.apart(&c)
	}
	return w.normMultiply(w.by, &c)
}

// stores reports whether what waits are the products that a RoPEStore is to rotate and store, in a cache with elements that
// are stored one by one.
func (w *waiting) stores(d backend.AttentionDims, cache tensor.DType, q, k, v operand) bool {
	return w.waits && w.c.out == [maxTerms]operand{q, k, v} && (cache == tensor.F16 || cache == tensor.F32) &&
		d.Tokens == w.c.m && d.HeadDim%2 == 0 && w.c.counts[0] == d.Heads*d.HeadDim && w.c.counts[1] == d.KVHeads*d.HeadDim
}

// storeVariant is what programs of norm_store are compiled for, besides how many runs and slabs they take.
type storeVariant struct {
	format string
	lanes  int
	size   teams
	pages  pageShape
}

// storePrograms returns the programs of norm_store.
func (w *waiting) storePrograms(v storeVariant) *pagedProgram {
	p := w.programs[v]
	if p == nil {
		product := w.tuning.program("norm_store", v.format, v.lanes, v.size)
		made := pagedProgramOf(compiler.Of(product.Files, fmt.Sprintf("%s -DHEAD_DIM=%d -DKV_%v -DWRITES", product.Options, v.pages.headDim, v.pages.cache)))
		p = &made
		w.programs[v] = p
	}
	return p
}

// normStore enqueues the product that waits together with the RoPEStore of the launch; ok is false if no kernel does both: the product still
// waits.
func (w *waiting) normStore(shape pageShape, angles operand, l *launch) (ok bool, err error) {
	c, by := w.c, w.by
	w.forget()
	if ok, err := w.chain.store(&c, shape, angles, l); ok || err != nil {
		return ok, err
	}
	if c.m > 1 || c.mixed {
		w.waits, w.c, w.by = true, c, by
		return false, nil
	}
	first, size := &c.w[0], w.rowTeams(&c)
	programs := w.storePrograms(storeVariant{first.format.name, first.lanes, size, shape})
	if w.chain.learning == c.m || !w.ready(programs.sized(int(l.runs.count), l.slabs), "norm_store") {
		w.waits, w.c, w.by = true, c, by
		return false, nil
	}
	kernel, err := w.pagedKernel(programs, l, "norm_store")
	if err != nil {
		return false, err
	}
	begins, blocks := c.pass(kernel, size)
	kernel.Int(begins[1]).Int(begins[2])
	first.dims(kernel)
	c.rows(kernel)
	return true, w.run("NormMatMul and RoPEStore", l.pass(floats(kernel, c.out[0], c.out[2], angles)), size.Group, blocks, 1, 1)
}
