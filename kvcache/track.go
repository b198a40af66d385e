package kvcache

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Tracking says what a cache records beside keys and values. The zero value records only which token is in which slot.
type Tracking struct {
	// Queries is how many of the latest tokens' queries are kept.
	Queries int
	// Attention asks for the sum of the attention that each slot has received from all queries.
	Attention bool
	// Anchors is how many of the first keys are kept as they were before RoPE, so that Reanchor can give them other positions.
	Anchors int
}

// Union returns what serves both.
func (t Tracking) Union(o Tracking) Tracking {
	return Tracking{max(t.Queries, o.Queries), t.Attention || o.Attention, max(t.Anchors, o.Anchors)}
}

// Rotation writes the cosines and then the sines of a position's RoPE angles to row [headDim]; see backend.Backend's RoPE.
type Rotation func(row []float32, position int)

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
	anchors   *tensor.Tensor // [Anchors, kvHeads, headDim], before RoPE
	rotated   *tensor.Tensor // anchors with RoPE
	table     *tensor.Tensor // [Anchors, headDim] on the host, and on the device
	angles    *tensor.Tensor
	anchored  int // rows of anchors that are known
	view      tensor.Tensor
	tensors   []*tensor.Tensor // all of these
}

// Track begins to record. The cache must be empty; heads is the number of query heads, and rotation the model's.
func (c *Cache) Track(t Tracking, heads int, rotation Rotation) (err error) {
	if c.len > 0 || c.record != nil {
		return fmt.Errorf("kvcache: tracking begins with an empty cache: this one has %d slots in use", c.len)
	}
	if t.Queries < 0 || t.Anchors < 0 || t.Queries > c.capacity || t.Anchors > c.capacity {
		return fmt.Errorf("kvcache: track %d queries and %d anchors: both must be 0 to %d, the capacity", t.Queries, t.Anchors, c.capacity)
	}
	kvHeads, headDim, attended := c.KVHeads(), c.HeadDim(), 0
	if t.Attention {
		attended = kvHeads
	}
	r := &record{Tracking: t, backend: c.backend, heads: heads, rotation: rotation, positions: make([][]int32, kvHeads)}
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
	} {
		if w.dims[0] == 0 {
			continue
		}
		shape, err := tensor.NewShape(w.dims...)
		if err == nil {
			*w.to, err = tensor.New(w.on, tensor.F32, shape)
		}
		if err != nil {
			r.free()
			return fmt.Errorf("kvcache: a record of %+v: %w", t, err)
		}
		r.tensors = append(r.tensors, *w.to)
	}
	c.record = r
	if t.Attention { // device memory need not begin with zeros
		return r.writeReceived(make([]float32, c.KVHeads()*c.capacity))
	}
	return nil
}

func (r *record) free() error {
	var errs []error
	for _, t := range r.tensors {
		errs = append(errs, t.Free())
	}
	return errors.Join(errs...)
}

// Tracking returns what the cache records, and whether it records at all.
func (c *Cache) Tracking() (t Tracking, on bool) {
	if c.record == nil {
		return Tracking{}, false
	}
	return c.record.Tracking, true
}

// RecordBytes returns the memory that tracking takes beside keys and values.
func (c *Cache) RecordBytes() (bytes int64) {
	if c.record == nil {
		return 0
	}
	for _, t := range c.record.tensors {
		bytes += int64(t.Size())
	}
	for _, p := range c.record.positions {
		bytes += 4 * int64(cap(p))
	}
	return bytes
}

// append notes tokens in new slots.
func (r *record) append(position, tokens int) {
	for h := range r.positions {
		for i := range tokens {
			r.positions[h] = append(r.positions[h], int32(position+i))
		}
	}
}

// Anchor records keys before RoPE, F32 [tokens, kvHeads, headDim], as long as they belong to the first tokens. It is called
// before the Update that caches them.
func (c *Cache) Anchor(k *tensor.Tensor) error {
	r := c.record
	if r == nil || r.anchors == nil || c.seen >= r.Anchors || c.seen > r.anchored {
		return nil
	}
	row := c.KVHeads() * c.HeadDim()
	n := min(k.Shape().Dim(0), r.Anchors-c.seen)
	if err := c.backend.CopySlice(k, r.anchors, 0, c.seen*row, n*row); err != nil {
		return fmt.Errorf("kvcache: record the keys of the first %d tokens: %w", r.Anchors, err)
	}
	r.anchored = c.seen + n
	return nil
}

// Reanchor writes the keys of the first n slots anew, from how they were before RoPE, as if their tokens were at positions
// start, start+1, …. These slots must still hold the first n tokens, and n is at most Tracking.Anchors.
func (c *Cache) Reanchor(n, start int) error {
	r := c.record
	if r == nil || n > r.anchored || n > c.len {
		return fmt.Errorf("kvcache: reanchor %d tokens: their keys before RoPE were not recorded", n)
	}
	rows, err := tensor.Mut[float32](r.table)
	if err != nil {
		return err
	}
	d := c.HeadDim()
	for i := range r.Anchors {
		r.rotation(rows[i*d:][:d], start+i)
	}
	if err := c.backend.CopySlice(r.table, r.angles, 0, 0, r.Anchors*d); err != nil {
		return fmt.Errorf("kvcache: reanchor: %w", err)
	}
	if err := c.backend.CopySlice(r.anchors, r.rotated, 0, 0, r.Anchors*c.KVHeads()*d); err != nil {
		return fmt.Errorf("kvcache: reanchor: %w", err)
	}
	if err := c.backend.RoPE(r.rotated, r.angles); err != nil {
		return fmt.Errorf("kvcache: reanchor: %w", err)
	}
	if err := r.rotated.SliceInto(&r.view, 0, n); err != nil {
		return err
	}
	keys := &r.view
	if c.hadamard != nil {
		if keys, err = c.hadamard.turn(&c.hadamard.keys, keys); err != nil {
			return fmt.Errorf("kvcache: reanchor: turn keys: %w", err)
		}
	}
	if err := c.keys.SliceInto(&c.target, 0, n); err != nil {
		return err
	}
	if err := c.backend.Cast(keys, &c.target); err != nil {
		return fmt.Errorf("kvcache: reanchor: %w", err)
	}
	return nil
}

// Observe records the queries of the latest tokens, F32 [tokens, heads, headDim] as Query returned them. It is called after the
// Update that cached the tokens' keys. Without tracking it does nothing.
func (c *Cache) Observe(q *tensor.Tensor) error {
	r := c.record
	if r == nil {
		return nil
	}
	if r.received != nil {
		if err := c.backend.Weigh(q, c.keys, r.received, c.len); err != nil {
			return fmt.Errorf("kvcache: record attention: %w", err)
		}
	}
	if r.queries != nil {
		if err := r.keepQueries(q); err != nil {
			return fmt.Errorf("kvcache: record queries: %w", err)
		}
	}
	return nil
}

// keepQueries appends the latest rows of q, making room first.
func (r *record) keepQueries(q *tensor.Tensor) error {
	tokens := q.Shape().Dim(0)
	n := min(tokens, r.Queries)
	if r.recent+n > 2*r.Queries {
		if err := r.dropQueries(r.Queries - n); err != nil {
			return err
		}
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

// truncate forgets the last slots' part of the record: n slots stay, and seen tokens.
func (r *record) truncate(n, gone, seen int) error {
	for h := range r.positions {
		r.positions[h] = r.positions[h][:n]
	}
	r.anchored = min(r.anchored, seen)
	if gone == 0 {
		return nil
	}
	if r.queries != nil { // how many more than are asked for happen to be there depends on how the tokens were cut into chunks
		if err := r.dropQueries(r.Queries); err != nil {
			return err
		}
		r.recent = max(0, r.recent-gone)
	}
	if r.received == nil {
		return nil
	}
	return r.keepReceived(n, func(_, i int) int { return i })
}

// keep moves the record of the slots from(head, 0…n-1) to the front.
func (r *record) keep(n int, from func(head, i int) int) error {
	for h, p := range r.positions {
		for i := range n {
			p[i] = p[from(h, i)]
		}
		r.positions[h] = p[:n]
	}
	if r.received == nil {
		return nil
	}
	return r.keepReceived(n, from)
}

// keepReceived moves sums and clears those behind.
func (r *record) keepReceived(n int, from func(head, i int) int) error {
	sums, err := r.readReceived()
	if err != nil {
		return err
	}
	width := r.received.Shape().Dim(1)
	for h := range r.positions {
		row := sums[h*width : (h+1)*width]
		for i := range n {
			row[i] = row[from(h, i)]
		}
		clear(row[n:])
	}
	return r.writeReceived(sums)
}

func (r *record) readReceived() ([]float32, error) {
	sums := make([]float32, r.received.Shape().NumElements())
	return sums, r.backend.ReadBuffer(r.received, floatBytes(sums))
}

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

// floatBytes views floats as bytes.
func floatBytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}
