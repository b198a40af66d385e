package kvcache

import (
	"errors"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// record is what a cache keeps beside keys and values. It moves with the slots.
type record struct {
	Tracking
	backend   backend.Backend
	heads     int // of queries
	rotation  Rotation
	positions [][]int32      // [kvHeads][len]: of the token in each slot
	queries   *tensor.Tensor // [2·Queries, heads, headDim]: room for a while of appending
	recent    int            // rows of queries in use, of which the last Queries count
	received  *tensor.Tensor // [kvHeads, capacity], 0 behind the slots in use
	observed  int            // tokens seen when the latest queries came: those that queries and received know of
	before    checkpoint
	previous  *tensor.Tensor // received as it was there
	anchors   *tensor.Tensor // [Anchors, kvHeads, headDim], before RoPE
	rotated   *tensor.Tensor // anchors with RoPE
	table     *tensor.Tensor // [Anchors, headDim] on the host, and on the device
	angles    *tensor.Tensor
	anchored  int // rows of anchors that are known
	view      tensor.Tensor
	tensors   []*tensor.Tensor // all of these
}

// checkpoint is what a record was before the latest queries, so that TakeBack can undo a chunk of tokens exactly and without the
// device's help. It is no part of the cache's state: a Truncate does not use it and copies do not have it.
type checkpoint struct {
	there    bool
	seen     int // ≤ Cache.seen
	observed int // ≤ seen
	recent   int // ≤ record.recent: these rows of queries are still what they were
}

// newRecord makes the record of an empty cache.
func newRecord(c *Cache, t Tracking, heads int, rotation Rotation) (r *record, err error) {
	kvHeads, headDim, attended := c.KVHeads(), c.HeadDim(), 0
	if t.Attention {
		attended = kvHeads
	}
	r = &record{Tracking: t, backend: c.backend, heads: heads, rotation: rotation, positions: make([][]int32, kvHeads)}
	defer func() {
		if err != nil {
			r.free()
		}
	}()
	for _, w := range []struct {
		to   **tensor.Tensor
		on   tensor.Device
		dims []int
	}{
		{&r.queries, c.backend, []int{2 * t.Queries, heads, headDim}},
		{&r.anchors, c.backend, []int{t.Anchors, kvHeads, headDim}},
		{&r.rotated, c.backend, []int{t.Anchors, kvHeads, headDim}},
		{&r.table, nil, []int{t.Anchors, headDim}},
		{&r.angles, c.backend, []int{t.Anchors, headDim}},
		{&r.received, c.backend, []int{attended, c.capacity}},
		{&r.previous, c.backend, []int{attended, c.capacity}},
	} {
		if w.dims[0] == 0 {
			continue
		}
		shape, err := tensor.NewShape(w.dims...)
		if err != nil {
			return r, err
		}
		if *w.to, err = tensor.New(w.on, tensor.F32, shape); err != nil {
			return r, err
		}
		r.tensors = append(r.tensors, *w.to)
	}
	return r, r.reset() // device memory need not begin with zeros
}

// bytes returns the memory that it takes.
func (r *record) bytes() (bytes int64) {
	for _, t := range r.tensors {
		bytes += int64(t.Size())
	}
	for _, p := range r.positions {
		bytes += 4 * int64(cap(p))
	}
	return bytes
}

// free releases the memory.
func (r *record) free() error {
	var errs []error
	for _, t := range r.tensors {
		errs = append(errs, t.Free())
	}
	return errors.Join(errs...)
}

// copyFrom takes over another cache's record, made for the same.
func (r *record) copyFrom(from *record) error {
	for h, p := range from.positions {
		r.positions[h] = slices.Clone(p)
	}
	r.recent, r.anchored, r.observed = from.recent, from.anchored, from.observed
	for i, t := range from.tensors {
		if err := r.backend.CopySlice(t, r.tensors[i], 0, 0, t.Shape().NumElements()); err != nil {
			return err
		}
	}
	return nil
}

// append notes tokens in new slots.
func (r *record) append(position, tokens int) {
	for h := range r.positions {
		for i := range tokens {
			r.positions[h] = append(r.positions[h], int32(position+i))
		}
	}
}

// rotatedAnchors returns the first n anchors with RoPE for positions start, start+1, …, in memory that is valid until the
// next call.
func (r *record) rotatedAnchors(n, start int) (*tensor.Tensor, error) {
	rows, err := tensor.Mut[float32](r.table)
	if err != nil {
		return nil, err
	}
	d := r.table.Shape().Dim(1)
	for i := range r.Anchors {
		r.rotation(rows[i*d:][:d], start+i)
	}
	if err := r.backend.CopySlice(r.table, r.angles, 0, 0, len(rows)); err != nil {
		return nil, err
	}
	if err := r.backend.CopySlice(r.anchors, r.rotated, 0, 0, r.anchors.Shape().NumElements()); err != nil {
		return nil, err
	}
	if err := r.backend.RoPE(r.rotated, r.angles); err != nil {
		return nil, err
	}
	return &r.view, r.rotated.SliceInto(&r.view, 0, n)
}

// checkpoint notes what there is before the queries of the tokens from seen on.
func (r *record) checkpoint(seen int) error {
	r.before = checkpoint{seen: seen, observed: r.observed, recent: r.recent}
	if r.received != nil {
		if err := r.backend.CopySlice(r.received, r.previous, 0, 0, r.received.Shape().NumElements()); err != nil {
			return err
		}
	}
	r.before.there = true
	return nil
}

// back goes back to the checkpoint.
func (r *record) back() {
	if r.received != nil {
		*r.received, *r.previous = *r.previous, *r.received
	}
	r.observed, r.recent, r.before.there = r.before.observed, r.before.recent, false
}

// keepQueries appends the latest rows of q, making room first: of those before, the latest Queries stay.
func (r *record) keepQueries(q *tensor.Tensor) error {
	tokens := q.Shape().Dim(0)
	n := min(tokens, r.Queries)
	if r.recent+n > 2*r.Queries {
		if err := r.dropQueries(r.Queries); err != nil {
			return err
		}
		r.before.recent = r.recent
	}
	row := r.queryElements()
	if err := r.backend.CopySlice(q, r.queries, (tokens-n)*row, r.recent*row, n*row); err != nil {
		return err
	}
	r.recent += n
	return nil
}

// dropQueries forgets all but the latest n rows of queries and moves these to the front.
func (r *record) dropQueries(n int) error {
	if r.recent <= n {
		return nil
	}
	row := r.queryElements()
	if err := r.backend.CopySlice(r.queries, r.queries, (r.recent-n)*row, 0, n*row); err != nil {
		return err
	}
	r.recent = n
	return nil
}

// queryElements returns the elements of a token's queries.
func (r *record) queryElements() int { return r.queries.Shape().Dim(1) * r.queries.Shape().Dim(2) }

// cut forgets which tokens were in the slots behind n, and the first keys of tokens from seen on.
func (r *record) cut(n, seen int) {
	for h := range r.positions {
		r.positions[h] = r.positions[h][:n]
	}
	r.anchored = min(r.anchored, seen)
}

// takeBack forgets the latest chunk, which left n slots and seen tokens before it, exactly. It tells whether it could: not when
// the record has no checkpoint there.
func (r *record) takeBack(n, seen int) bool {
	switch {
	case r.before.there && r.before.seen == seen:
		r.back()
	case r.observed > seen:
		return false
	}
	r.cut(n, seen)
	return true
}

// truncate forgets what came after n slots and seen tokens. The result does not depend on how the tokens were cut into chunks.
func (r *record) truncate(n, seen int) error {
	r.cut(n, seen)
	gone, observed := r.observed-seen, r.observed
	r.before.there = false
	if gone <= 0 {
		return nil
	}
	r.observed = seen
	if r.queries != nil { // how many more than are asked for happen to be there depends on how the tokens were cut into chunks
		if err := r.dropQueries(r.Queries); err != nil {
			return err
		}
		r.recent = max(0, r.recent-gone)
	}
	return r.rewriteReceived(n, func(head, i int, sums []float32) float32 {
		position := int(r.positions[head][i])
		return sums[i] * (float32(seen-position) / float32(observed-position))
	})
}

// reset forgets everything.
func (r *record) reset() error {
	for h := range r.positions {
		r.positions[h] = r.positions[h][:0]
	}
	r.anchored, r.observed, r.recent, r.before.there = 0, 0, 0, false
	if r.received == nil {
		return nil
	}
	return r.writeReceived(make([]float32, r.received.Shape().NumElements()))
}

// keep moves the record of the slots from(head, 0…n-1) to the front.
func (r *record) keep(n int, from func(head, i int) int) error {
	r.before.there = false
	for h, p := range r.positions {
		for i := range n {
			p[i] = p[from(h, i)]
		}
		r.positions[h] = p[:n]
	}
	return r.rewriteReceived(n, func(head, i int, sums []float32) float32 { return sums[from(head, i)] })
}

// rewriteReceived gives n slots, one after the other, new sums, computed from a head's, and clears those behind.
func (r *record) rewriteReceived(n int, sum func(head, i int, sums []float32) float32) error {
	if r.received == nil {
		return nil
	}
	sums, err := r.readReceived()
	if err != nil {
		return err
	}
	width := r.received.Shape().Dim(1)
	for h := range r.positions {
		row := sums[h*width : (h+1)*width]
		for i := range n {
			row[i] = sum(h, i, row)
		}
		clear(row[n:])
	}
	return r.writeReceived(sums)
}

// readReceived copies the sums to the host, [kvHeads·capacity].
func (r *record) readReceived() ([]float32, error) {
	sums := make([]float32, r.received.Shape().NumElements())
	return sums, backend.ReadFloats(r.backend, r.received, sums)
}

// writeReceived replaces the sums.
func (r *record) writeReceived(sums []float32) error {
	host, err := tensor.FromFloats(sums, r.received.Shape().Dims()...)
	if err != nil {
		return err
	}
	defer host.Free()
	if err := r.backend.CopySlice(host, r.received, 0, 0, len(sums)); err != nil {
		return err
	}
	return r.backend.Synchronize() // the host's side goes away
}
