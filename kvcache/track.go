package kvcache

import (
	"fmt"

	"github.com/antigravity-go/antigravity/tensor"
)

// Tracking says what a cache records beside keys and values. The zero value records only which token is in which slot.
type Tracking struct {
	// Queries is how many of the latest tokens' queries are kept.
	Queries int
	// Attention asks for the sum of the attention that each slot has received from all queries; see Cache.Received.
	Attention bool
	// Anchors is how many of the first keys are kept as they were before RoPE, so that Reanchor can give them other positions.
	Anchors int
}

// Rotation writes the headDim/2 cosines and then the headDim/2 sines of a position's RoPE angles to row [headDim]; see
// backend.Backend's RoPE.
type Rotation func(row []float32, position int)

// Track makes the empty cache record from now on. heads is the number of query heads, and rotation the model's, which may be nil
// when there are no anchors and no policy asks for Rotation.
func (c *Cache) Track(t Tracking, heads int, rotation Rotation) error {
	switch {
	case c.len > 0:
		return fmt.Errorf("kvcache: tracking begins with an empty cache: this one has %d slots in use", c.len)
	case c.record != nil:
		return fmt.Errorf("kvcache: tracking has begun already, with %+v", c.record.Tracking)
	case t.Queries < 0 || t.Anchors < 0 || t.Queries > c.capacity || t.Anchors > c.capacity:
		return fmt.Errorf("kvcache: track %d queries and %d anchors: both must be 0 to %d, the capacity", t.Queries, t.Anchors, c.capacity)
	}
	r, err := newRecord(c, t, heads, rotation)
	if err != nil {
		return fmt.Errorf("kvcache: a record of %+v: %w", t, err)
	}
	c.record = r
	return nil
}

// RecordBytes returns the memory that tracking takes beside keys and values.
func (c *Cache) RecordBytes() int64 {
	if c.record == nil {
		return 0
	}
	return c.record.bytes()
}

// anchor records keys before RoPE, F32 [tokens, kvHeads, headDim], as far as they belong to the first Tracking.Anchors tokens.
// It is called before the keys are rotated and cached.
func (c *Cache) anchor(k *tensor.Tensor) error {
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

// Reanchor computes the keys of the first n slots anew, from the keys recorded before RoPE, as if their tokens were at positions
// start, start+1, …. The first n slots must still hold the first n tokens, and n is at most Tracking.Anchors.
func (c *Cache) Reanchor(n, start int) error {
	recorded := 0
	if c.record != nil {
		recorded = min(c.record.anchored, c.len)
	}
	if n < 1 || n > recorded {
		return fmt.Errorf("kvcache: reanchor %d tokens: the keys of %d were recorded before RoPE", n, recorded)
	}
	keys, err := c.record.rotatedAnchors(n, start)
	if err == nil && c.hadamard != nil {
		keys, err = c.hadamard.turn(&c.hadamard.keys, keys)
	}
	if err == nil {
		err = c.keys.SliceInto(&c.slots[0], 0, n)
	}
	if err == nil {
		err = c.backend.Cast(keys, &c.slots[0])
	}
	if err != nil {
		return fmt.Errorf("kvcache: reanchor %d tokens at position %d: %w", n, start, err)
	}
	return nil
}

// Observe records the queries of the latest tokens, F32 [tokens, heads, headDim] as Query returned them, and the attention that they
// give, as far as the Tracking asks for it. It is called after the Append or Update that cached the tokens' keys. Without tracking
// it does nothing.
func (c *Cache) Observe(q *tensor.Tensor) error {
	r := c.record
	if r == nil {
		return nil
	}
	if err := r.setCheckpoint(c.seen - q.Shape().Dim(0)); err != nil {
		return fmt.Errorf("kvcache: record: %w", err)
	}
	if r.received != nil {
		if err := c.backend.AccumulateAttention(q, c.keys, r.received, c.len); err != nil {
			return fmt.Errorf("kvcache: record attention: %w", err)
		}
	}
	if r.queries != nil {
		if err := r.keepQueries(q); err != nil {
			return fmt.Errorf("kvcache: record queries: %w", err)
		}
	}
	r.observed = c.seen
	return nil
}
