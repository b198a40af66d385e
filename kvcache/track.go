package kvcache

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
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
	case c.Len() > 0:
		return fmt.Errorf("kvcache: tracking begins with an empty cache: this one has %d slots in use", c.Len())
	case c.slots.Window > 0:
		return fmt.Errorf("kvcache: track a cache with a window of %d: no policy sees it", c.slots.Window)
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

// anchors tells whether keys of the next token are to be recorded before RoPE.
func (c *Cache) anchors() bool {
	r := c.record
	return r != nil && r.anchors != nil && c.seen < r.Anchors && c.seen <= r.anchored
}

// anchor records keys before RoPE, F32 [tokens, kvHeads, headDim], as far as they belong to the first Tracking.Anchors tokens.
// It is called before the keys are rotated and cached, where anchors says so.
func (c *Cache) anchor(k *tensor.Tensor) error {
	r, heads, d := c.record, c.KVHeads(), c.HeadDim()
	n := min(k.Shape().Dim(0), r.Anchors-c.seen)
	for i := range n {
		for head := range heads {
			if err := c.backend.CopySlice(k, r.anchors, (i*heads+head)*d, (head*r.Anchors+c.seen+i)*d, d); err != nil {
				return fmt.Errorf("kvcache: record the keys of the first %d tokens: %w", r.Anchors, err)
			}
		}
	}
	r.anchored = c.seen + n
	return nil
}

// forgetAnchors forgets the recorded keys of tokens that were not appended.
func (c *Cache) forgetAnchors() {
	if c.record != nil {
		c.record.anchored = min(c.record.anchored, c.seen)
	}
}

// appended counts tokens whose keys and values have been stored.
func (c *Cache) appended(tokens int) {
	c.seen += tokens
	if c.record != nil {
		c.record.append(c.seen-tokens, tokens)
	}
}

// Reanchor computes the keys of the first n slots anew, from the keys recorded before RoPE, as if their tokens were at positions
// start, start+1, …. The first n slots of each head must still hold the first n tokens, and n is at most Tracking.Anchors.
func (c *Cache) Reanchor(n, start int) error {
	recorded := 0
	if c.record != nil {
		recorded = c.record.anchored
		for head := range c.slots.Heads {
			recorded = min(recorded, c.HeadLen(head))
		}
	}
	if n < 1 || n > recorded {
		return fmt.Errorf("kvcache: reanchor %d tokens: the keys of %d were recorded before RoPE", n, recorded)
	}
	if err := c.reanchor(n, start); err != nil {
		return fmt.Errorf("kvcache: reanchor %d tokens at position %d: %w", n, start, err)
	}
	return nil
}

func (c *Cache) reanchor(n, start int) error {
	keys, err := c.record.rotatedAnchors(start)
	if err != nil {
		return err
	}
	if c.hadamard != nil {
		turned, err := tensor.New(c.backend, tensor.F32, keys.Shape())
		if err != nil {
			return err
		}
		defer turned.Free()
		if err := c.backend.MatMulTransposed(keys, c.hadamard.matrix, turned); err != nil {
			return fmt.Errorf("turn keys: %w", err)
		}
		keys = turned
	}
	for head := range c.slots.Heads {
		if err := c.own(head, 0, n); err != nil {
			return err
		}
		rows, err := keys.Slice(head*c.record.Anchors, head*c.record.Anchors+n)
		if err != nil {
			return err
		}
		if err := c.backend.WriteSlots(&c.slots, head, 0, rows, nil); err != nil {
			return err
		}
	}
	return nil
}

// Observe records the queries of the latest tokens, F32 [tokens, heads, headDim] with RoPE applied, and the attention that they give, as
// Batch.Attend does. Without tracking it does nothing.
func (c *Cache) Observe(q *tensor.Tensor) error {
	b := NewBatch(c.backend)
	b.Add(c, q.Shape().Dim(0))
	q, err := b.turnQueries(q)
	if err != nil {
		return err
	}
	return b.observe(q)
}

// observe records the queries of the latest tokens, turned where keys are, and the attention that they give. The cache has a record.
func (c *Cache) observe(q *tensor.Tensor) error {
	r, tokens := c.record, q.Shape().Dim(0)
	if err := r.setCheckpoint(c.seen - tokens); err != nil {
		return fmt.Errorf("kvcache: record: %w", err)
	}
	if r.received != nil {
		if err := c.backend.AccumulateAttention(q, r.received, backend.Run{Tokens: tokens, Slots: &c.slots}); err != nil {
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
