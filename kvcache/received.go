package kvcache

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// received is the attention that a cache's slots have received from all queries. Without tensors it is not recorded, and the methods that
// change it do nothing.
type received struct {
	pages    *pages
	sums     *tensor.Tensor // [kvHeads, capacity], 0 behind the slots in use
	previous *tensor.Tensor // sums as they were at the latest save

	added  backend.Call[backend.AccumulateAttention, *backend.AccumulateAttention]
	copied copying
}

// add adds the attention that queries give to sums.
func (r *received) add(q *tensor.Tensor, together bool) error {
	if r.sums == nil {
		return nil
	}
	return r.added.Run(r.pages.Backend(), backend.AccumulateAttention{Q: q, Sums: r.sums, Run: backend.Run{Tokens: q.Shape().Dim(0), Slots: &r.pages.slots, Together: together}})
}

// save copies sums, so that restore can bring them back without the device's help.
func (r *received) save() error {
	if r.sums == nil {
		return nil
	}
	return r.copied.Run(r.pages.Backend(), *backend.Copy(r.sums, r.previous))
}

// restore makes sums what they were at the latest save, which is used up.
func (r *received) restore() {
	if r.sums != nil {
		*r.sums, *r.previous = *r.previous, *r.sums
	}
}

// clear makes all sums 0.
func (r *received) clear() error {
	if r.sums == nil {
		return nil
	}
	return r.write(make([]float32, r.sums.Shape().NumElements()))
}

// rewrite replaces the attention of the slots in use, in their order, by sum(head, i, sums of the head), and clears that of
// the slots behind. Sums of slots before i have been replaced when sum is called for i.
func (r *received) rewrite(sum func(head, i int, sums []float32) float32) error {
	if r.sums == nil {
		return nil
	}
	sums, err := r.read()
	if err != nil {
		return err
	}
	width := r.sums.Shape().Dim(1)
	for h := range r.pages.KVHeads() {
		row, n := sums[h*width:(h+1)*width], r.pages.HeadLen(h)
		for i := range n {
			row[i] = sum(h, i, row)
		}
		clear(row[n:])
	}
	return r.write(sums)
}

// read copies sums to the host, [kvHeads·capacity].
func (r *received) read() ([]float32, error) {
	sums := make([]float32, r.sums.Shape().NumElements())
	return sums, backend.ReadFloats(r.pages.Backend(), r.sums, sums)
}

// write copies sums [kvHeads·capacity] from the host.
func (r *received) write(sums []float32) error { return writeFloats(r.pages.Backend(), r.sums, sums) }

// writeFloats copies x from the host to a tensor of as many elements, and waits until it is there.
func writeFloats(b backend.Backend, to *tensor.Tensor, x []float32) error {
	host, err := tensor.FromFloats(x, to.Shape().Dims()...)
	if err != nil {
		return err
	}
	defer host.Free()
	if err := b.Run(&backend.CopySlice{Src: host, Dst: to, N: len(x)}); err != nil {
		return err
	}
	return b.Synchronize() // host is freed on return: the copy must be done by then
}
