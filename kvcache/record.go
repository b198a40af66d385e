package kvcache

import (
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/backend"

	"github.com/antigravity-go/antigravity/tensor"
)

// record is what a cache keeps for eviction policies. It moves with the slots: whatever changes the cache's pages changes the record
// afterwards. It knows the pages, and is given the cache's number of tokens seen. Until start it records nothing: then there are no
// positions and no tensors, and the methods that change the record do nothing.
//
// A Tracking of 2 Queries and of Attention asks for this, here after 5 tokens and an eviction of the second and the third:
//
//	slot         0     1     2
//	positions    0     3     4      for each KV head
//	received     1.9   1.2   0.4    the first token's query gave 1 to slot 0, the second's 0.4 to slot 0, and 0.6 to a slot that is gone, …
//	queries      those of the tokens 3 and 4
//
// Between calls of the cache's methods:
//   - positions has an entry for each slot in use of each KV head; they ascend and are below Cache.seen.
//   - observed ≤ Cache.seen; queries are those of the tokens before observed, and received counts the queries of these tokens.
type record struct {
	tracking  Tracking
	pages     *pages // the cache's
	heads     int    // of queries
	rotation  Rotation
	positions [][]int32 // [kvHeads][HeadLen]: of the token in each slot
	queries   queries
	received  received
	anchors   anchors
	observed  int              // Cache.seen when the latest queries were recorded
	before    checkpoint       // what the record was before the latest step's queries
	tensors   []*tensor.Tensor // all tensors above, which the record owns
}

// checkpoint is what a record was before the latest step's queries, so that TakeBack can undo that step exactly and without the
// device's help. It is no part of the cache's state: Truncate does not use it and copies do not have it. While valid:
// observed ≤ seen ≤ Cache.seen, and recent ≤ record.queries.recent.
type checkpoint struct {
	valid    bool
	seen     int // Cache.seen before the step
	observed int // record.observed before the step
	recent   int // record.queries.recent before the step
}

// start makes the record of an empty cache record from now on.
func (r *record) start(capacity int, t Tracking, heads int, rotation Rotation) (err error) {
	p := r.pages
	kvHeads, headDim, attended := p.KVHeads(), p.HeadDim(), 0
	if t.Attention {
		attended = kvHeads
	}
	*r = record{
		tracking: t, pages: p, heads: heads, rotation: rotation, positions: make([][]int32, kvHeads),
		queries: queries{device: p.Backend(), most: t.Queries}, received: received{pages: p}, anchors: anchors{pages: p, rotation: rotation, most: t.Anchors},
	}
	defer func() {
		if err != nil {
			r.free()
			*r = record{pages: p}
		}
	}()
	for _, w := range []struct {
		to   **tensor.Tensor
		on   tensor.Device
		dims []int
	}{
		{&r.queries.rows, p.Backend(), []int{2 * t.Queries, heads, headDim}},
		{&r.anchors.keys, p.Backend(), []int{kvHeads * t.Anchors, 1, headDim}},
		{&r.anchors.rotated, p.Backend(), []int{kvHeads * t.Anchors, 1, headDim}},
		{&r.anchors.table, nil, []int{kvHeads * t.Anchors, headDim}},
		{&r.anchors.angles, p.Backend(), []int{kvHeads * t.Anchors, headDim}},
		{&r.received.sums, p.Backend(), []int{attended, capacity}},
		{&r.received.previous, p.Backend(), []int{attended, capacity}},
	} {
		if w.dims[0] == 0 {
			continue
		}
		shape, err := tensor.NewShape(w.dims...)
		if err != nil {
			return err
		}
		if *w.to, err = tensor.New(w.on, tensor.F32, shape); err != nil {
			return err
		}
		r.tensors = append(r.tensors, *w.to)
	}
	return nil // new tensors are zeroed
}

// on reports whether the record was started.
func (r *record) on() bool { return r.positions != nil }

// copyFrom makes the record, of a copy of another record's pages, a copy of the other record.
func (r *record) copyFrom(from *record, capacity int) error {
	if !from.on() {
		return nil
	}
	if err := r.start(capacity, from.tracking, from.heads, from.rotation); err != nil {
		return err
	}
	for h, p := range from.positions {
		r.positions[h] = slices.Clone(p)
	}
	r.queries.recent, r.anchors.kept, r.observed = from.queries.recent, from.anchors.kept, from.observed
	for i, t := range from.tensors {
		if err := r.pages.Backend().Run(backend.Copy(t, r.tensors[i])); err != nil {
			return err
		}
	}
	return nil
}

// free releases the memory of the tensors.
func (r *record) free() error {
	var errs []error
	for _, t := range r.tensors {
		errs = append(errs, t.Free())
	}
	return errors.Join(errs...)
}

// RecordBytes returns the memory that tracking takes besides keys and values, in bytes.
func (r *record) RecordBytes() (bytes int64) {
	for _, t := range r.tensors {
		bytes += int64(t.Size())
	}
	const positionBytes = 4
	for _, p := range r.positions {
		bytes += positionBytes * int64(cap(p))
	}
	return bytes
}

// appended notes that new slots hold the tokens after the first seen.
func (r *record) appended(seen, tokens int) {
	for h := range r.positions {
		for i := range tokens {
			r.positions[h] = append(r.positions[h], int32(seen+i))
		}
	}
}

// observe records the queries q [tokens, heads, headDim] of the latest tokens of the first seen, with RoPE applied and turned if keys are,
// and the attention that they give. together says that they see each other.
func (r *record) observe(q *tensor.Tensor, seen int, together bool) error {
	tokens := q.Shape().Dim(0)
	if err := r.queries.makeRoom(tokens); err != nil {
		return fmt.Errorf("kvcache: record queries: %w", err)
	}
	r.before = checkpoint{seen: seen - tokens, observed: r.observed, recent: r.queries.recent}
	if err := r.received.save(); err != nil {
		return fmt.Errorf("kvcache: record: %w", err)
	}
	r.before.valid = true
	if err := r.received.add(q, together); err != nil {
		return fmt.Errorf("kvcache: record attention: %w", err)
	}
	if err := r.queries.add(q); err != nil {
		return fmt.Errorf("kvcache: record queries: %w", err)
	}
	r.observed = seen
	return nil
}

// forgetFrom forgets the positions of slots that are no longer in use, and the anchors of the tokens after the first seen.
func (r *record) forgetFrom(seen int) {
	for h := range r.positions {
		r.positions[h] = r.positions[h][:r.pages.HeadLen(h)]
	}
	r.anchors.forgetFrom(seen)
}

// canTakeBack reports whether takeBack can undo the latest step, before which there were seen tokens: unless the step's queries have been
// recorded and the checkpoint is not the one before the step.
func (r *record) canTakeBack(seen int) bool {
	return r.before.valid && r.before.seen == seen || r.observed <= seen
}

// takeBack undoes the latest step exactly, before which there were seen tokens. The step's slots are no longer in use.
func (r *record) takeBack(seen int) {
	if r.before.valid && r.before.seen == seen {
		r.received.restore()
		r.observed, r.queries.recent, r.before.valid = r.before.observed, r.before.recent, false
	}
	r.forgetFrom(seen)
}

// truncate forgets all tokens but the first seen. The forgotten tokens' slots are no longer in use. The result does not depend on how the
// tokens were cut into steps.
func (r *record) truncate(seen int) error {
	r.forgetFrom(seen)
	gone, observed := r.observed-seen, r.observed
	r.before.valid = false
	if gone <= 0 {
		return nil
	}
	r.observed = seen
	if err := r.queries.forget(gone); err != nil {
		return err
	}
	return r.received.rewrite(func(head, i int, sums []float32) float32 {
		position := int(r.positions[head][i])
		return sums[i] * (float32(seen-position) / float32(observed-position))
	})
}

// reset makes the record that of an empty cache.
func (r *record) reset() error {
	for h := range r.positions {
		r.positions[h] = r.positions[h][:0]
	}
	r.anchors.kept, r.observed, r.queries.recent, r.before.valid = 0, 0, 0, false
	return r.received.clear()
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
	return r.received.rewrite(func(head, i int, sums []float32) float32 { return sums[keep[head][i]] })
}

// Reanchor computes the keys of the first n slots anew, from the keys recorded before RoPE, as if their tokens were at positions
// start, start+1, …. The first n slots of each head must still hold the first n tokens, and n is at most Tracking.Anchors.
func (r *record) Reanchor(n, start int) error {
	recorded := r.anchors.kept
	for head := range r.positions {
		recorded = min(recorded, r.pages.HeadLen(head))
	}
	if n < 1 || n > recorded {
		return fmt.Errorf("kvcache: reanchor %d tokens: the keys of %d were recorded before RoPE", n, recorded)
	}
	if err := r.anchors.reanchor(n, start); err != nil {
		return fmt.Errorf("kvcache: reanchor %d tokens at position %d: %w", n, start, err)
	}
	return nil
}
