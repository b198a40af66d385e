package kvcache

import (
	"errors"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// record is what a cache keeps beside keys and values. It moves with the slots.
//
// Tensors are nil where the Tracking does not ask for them. Between calls of the cache's methods:
//   - positions has an entry for each slot in use of each KV head; they ascend and are below Cache.seen.
//   - 0 ≤ recent ≤ 2·Queries, and the rows [0, recent) of queries are those of the tokens before observed, the latest last.
//   - observed ≤ Cache.seen; received counts the queries of the tokens before observed.
//   - 0 ≤ anchored ≤ Anchors, and anchored ≤ Cache.seen; the first anchored of each head's anchors are the first tokens' keys.
type record struct {
	Tracking
	backend   backend.Backend
	slots     *backend.Slots // the cache's
	heads     int            // of queries
	rotation  Rotation
	positions [][]int32        // [kvHeads][HeadLen]: of the token in each slot
	queries   *tensor.Tensor   // [2·Queries, heads, headDim]: twice the room, so that rows are moved only once in Queries tokens
	recent    int              // rows of queries in use, of which the last Queries count
	received  *tensor.Tensor   // [kvHeads, capacity], 0 behind the slots in use
	observed  int              // Cache.seen when the latest queries were recorded
	before    checkpoint       // what the record was before the latest chunk's queries
	previous  *tensor.Tensor   // received as it was at the checkpoint before
	anchors   *tensor.Tensor   // [kvHeads·Anchors, 1, headDim]: those of each head, before RoPE
	rotated   *tensor.Tensor   // anchors with RoPE: what rotatedAnchors returns
	table     *tensor.Tensor   // [kvHeads·Anchors, headDim] on the host: the angles with which rotated was made
	angles    *tensor.Tensor   // table on the device
	anchored  int              // tokens whose keys are among anchors
	tensors   []*tensor.Tensor // all tensors above, which the record owns
}

// checkpoint is what a record was before the latest chunk's queries, so that TakeBack can undo that chunk exactly and without the
// device's help. It is no part of the cache's state: Truncate does not use it and copies do not have it. While valid:
// observed ≤ seen ≤ Cache.seen, and recent ≤ record.recent.
type checkpoint struct {
	valid    bool
	seen     int // Cache.seen before the chunk
	observed int // record.observed before the chunk
	recent   int // rows of queries that are still what they were before the chunk
}

// newRecord makes the record of c, an empty cache.
func newRecord(c *Cache, t Tracking, heads int, rotation Rotation) (r *record, err error) {
	kvHeads, headDim, attended := c.KVHeads(), c.HeadDim(), 0
	if t.Attention {
		attended = kvHeads
	}
	r = &record{Tracking: t, backend: c.backend, slots: &c.slots, heads: heads, rotation: rotation, positions: make([][]int32, kvHeads)}
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
		{&r.anchors, c.backend, []int{kvHeads * t.Anchors, 1, headDim}},
		{&r.rotated, c.backend, []int{kvHeads * t.Anchors, 1, headDim}},
		{&r.table, nil, []int{kvHeads * t.Anchors, headDim}},
		{&r.angles, c.backend, []int{kvHeads * t.Anchors, headDim}},
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
	return r, nil // new tensors are zeroed
}

// bytes returns the memory that the record takes.
func (r *record) bytes() (bytes int64) {
	for _, t := range r.tensors {
		bytes += int64(t.Size())
	}
	const positionBytes = 4
	for _, p := range r.positions {
		bytes += positionBytes * int64(cap(p))
	}
	return bytes
}

// free releases the memory of the tensors.
func (r *record) free() error {
	var errs []error
	for _, t := range r.tensors {
		errs = append(errs, t.Free())
	}
	return errors.Join(errs...)
}

// copyFrom fills an empty record with what another one holds that was made for the same Tracking and the same shape of cache.
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

// append notes that new slots hold the tokens of positions position, position+1, ….
func (r *record) append(position, tokens int) {
	for h := range r.positions {
		for i := range tokens {
			r.positions[h] = append(r.positions[h], int32(position+i))
		}
	}
}

// rotatedAnchors returns the anchors [kvHeads·Anchors, headDim] with RoPE for positions start, start+1, … of each head, in memory that
// is valid until the next call.
func (r *record) rotatedAnchors(start int) (*tensor.Tensor, error) {
	rows, err := tensor.Mut[float32](r.table)
	if err != nil {
		return nil, err
	}
	d := r.table.Shape().Dim(1)
	for i := range r.table.Shape().Dim(0) {
		r.rotation(rows[i*d:][:d], start+i%r.Anchors)
	}
	if err := r.backend.CopySlice(r.table, r.angles, 0, 0, len(rows)); err != nil {
		return nil, err
	}
	if err := r.backend.CopySlice(r.anchors, r.rotated, 0, 0, len(rows)); err != nil {
		return nil, err
	}
	if err := r.backend.RoPE(r.rotated, r.angles); err != nil {
		return nil, err
	}
	return r.rotated.Reshape(r.table.Shape().Dim(0), d)
}

// setCheckpoint notes what the record is before the queries of the tokens from seen on are recorded.
func (r *record) setCheckpoint(seen int) error {
	r.before = checkpoint{seen: seen, observed: r.observed, recent: r.recent}
	if r.received != nil {
		if err := r.backend.CopySlice(r.received, r.previous, 0, 0, r.received.Shape().NumElements()); err != nil {
			return err
		}
	}
	r.before.valid = true
	return nil
}

// restore makes the queries and the attention what they were at the checkpoint, which is used up.
func (r *record) restore() {
	if r.received != nil {
		*r.received, *r.previous = *r.previous, *r.received
	}
	r.observed, r.recent, r.before.valid = r.before.observed, r.before.recent, false
}

// keepQueries appends the latest rows of q, up to Queries. Where there is no room left it first drops all earlier rows but the
// latest Queries.
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

// dropQueries forgets all but the latest n rows of queries and moves the n rows to the front.
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

// queryElements returns the number of elements of one token's queries, heads·headDim.
func (r *record) queryElements() int { return r.queries.Shape().Dim(1) * r.queries.Shape().Dim(2) }

// forgetFrom forgets the positions of slots that are no longer in use, and the anchors of tokens from seen on.
func (r *record) forgetFrom(seen int) {
	for h := range r.positions {
		r.positions[h] = r.positions[h][:r.slots.Heads[h].Len]
	}
	r.anchored = min(r.anchored, seen)
}

// canTakeBack tells whether takeBack can undo the latest chunk, before which there were seen tokens: unless the chunk's queries have been
// recorded and the checkpoint is not the one before the chunk.
func (r *record) canTakeBack(seen int) bool {
	return r.before.valid && r.before.seen == seen || r.observed <= seen
}

// takeBack undoes the latest chunk exactly, before which there were seen tokens. The chunk's slots are no longer in use.
func (r *record) takeBack(seen int) {
	if r.before.valid && r.before.seen == seen {
		r.restore()
	}
	r.forgetFrom(seen)
}

// truncate forgets the tokens from seen on, whose slots are no longer in use. The result does not depend on how the tokens were cut into
// chunks.
func (r *record) truncate(seen int) error {
	r.forgetFrom(seen)
	gone, observed := r.observed-seen, r.observed
	r.before.valid = false
	if gone <= 0 {
		return nil
	}
	r.observed = seen
	if r.queries != nil { // how many rows there are beyond Queries depends on how the tokens were cut into chunks: drop them
		if err := r.dropQueries(r.Queries); err != nil {
			return err
		}
		r.recent = max(0, r.recent-gone)
	}
	return r.rewriteReceived(func(head, i int, sums []float32) float32 {
		position := int(r.positions[head][i])
		return sums[i] * (float32(seen-position) / float32(observed-position))
	})
}

// reset makes the record that of an empty cache.
func (r *record) reset() error {
	for h := range r.positions {
		r.positions[h] = r.positions[h][:0]
	}
	r.anchored, r.observed, r.recent, r.before.valid = 0, 0, 0, false
	if r.received == nil {
		return nil
	}
	return r.writeReceived(make([]float32, r.received.Shape().NumElements()))
}

// keep leaves the slots that are now in use: slot i of a head is what slot keep[head][i] was.
func (r *record) keep(keep [][]int32) error {
	r.before.valid = false
	for h, p := range r.positions {
		for i, slot := range keep[h] {
			p[i] = p[slot]
		}
		r.positions[h] = p[:len(keep[h])]
	}
	return r.rewriteReceived(func(head, i int, sums []float32) float32 { return sums[keep[head][i]] })
}

// rewriteReceived replaces the attention of the slots in use, in their order, by sum(head, i, sums of the head), and clears that of
// the slots behind. Sums of slots before i have been replaced when sum is called for i.
func (r *record) rewriteReceived(sum func(head, i int, sums []float32) float32) error {
	if r.received == nil {
		return nil
	}
	sums, err := r.readReceived()
	if err != nil {
		return err
	}
	width := r.received.Shape().Dim(1)
	for h := range r.positions {
		row, n := sums[h*width:(h+1)*width], r.slots.Heads[h].Len
		for i := range n {
			row[i] = sum(h, i, row)
		}
		clear(row[n:])
	}
	return r.writeReceived(sums)
}

// readReceived copies received to the host, [kvHeads·capacity].
func (r *record) readReceived() ([]float32, error) {
	sums := make([]float32, r.received.Shape().NumElements())
	return sums, backend.ReadFloats(r.backend, r.received, sums)
}

// writeReceived copies sums [kvHeads·capacity] to received.
func (r *record) writeReceived(sums []float32) error {
	host, err := tensor.FromFloats(sums, r.received.Shape().Dims()...)
	if err != nil {
		return err
	}
	defer host.Free()
	if err := r.backend.CopySlice(host, r.received, 0, 0, len(sums)); err != nil {
		return err
	}
	return r.backend.Synchronize() // host is freed on return: the copy must be done by then
}
