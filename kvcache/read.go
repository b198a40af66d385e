package kvcache

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Positions returns the position of the token in each slot, for one KV head, or nil when nothing is tracked. The slice is
// the cache's own and valid until the cache changes.
func (c *Cache) Positions(head int) []int32 {
	if c.record == nil {
		return nil
	}
	return c.record.positions[head]
}

// Received returns the attention that each slot has received from all queries that have seen it, summed over the queries and
// over the query heads that share the KV head: [kvHeads][HeadLen]. Tracking.Attention must be on.
//
// Only the sum is recorded, not what each query gave. Truncate therefore cannot take back exactly what the forgotten queries gave:
// it multiplies a slot's sum by the share of the slot's queries that remain. The mean over the queries, by which H2O chooses,
// stays what it was, and so still contains what the forgotten queries gave.
func (c *Cache) Received() ([][]float32, error) {
	if c.record == nil || c.record.received == nil {
		return nil, fmt.Errorf("kvcache: the attention that slots receive is not tracked")
	}
	sums, err := c.record.readReceived()
	if err != nil {
		return nil, fmt.Errorf("kvcache: read attention: %w", err)
	}
	return c.rows(sums, c.capacity), nil
}

// rows returns the first HeadLen of each head's width numbers, [kvHeads][HeadLen], as views of x [kvHeads, width].
func (c *Cache) rows(x []float32, width int) [][]float32 {
	list := make([][]float32, c.KVHeads())
	for h := range list {
		n := c.HeadLen(h)
		list[h] = x[h*width:][:n:n]
	}
	return list
}

// RecentQueries returns a copy of the queries of the latest tokens, one row [heads·headDim] a token, up to window rows, in the
// order of the tokens. RoPE has been applied to them, a Hadamard matrix has not. Tracking.Queries must not be 0.
func (c *Cache) RecentQueries(window int) ([][]float32, error) {
	q, err := c.recentQueries(window)
	if err != nil || q == nil {
		return nil, err
	}
	x := make([]float32, q.Shape().NumElements())
	if err := backend.ReadFloats(c.backend, q, x); err != nil {
		return nil, fmt.Errorf("kvcache: read queries %v: %w", q, err)
	}
	c.unturn(x)
	return slices.Collect(slices.Chunk(x, c.record.queryElements())), nil
}

// recentQueries returns the queries of the latest tokens [n, heads, headDim], n ≤ window, turned where keys are: a view of the
// record's tensor, valid until the cache changes, or nil when there are none.
func (c *Cache) recentQueries(window int) (*tensor.Tensor, error) {
	r := c.record
	if r == nil || r.queries == nil {
		return nil, fmt.Errorf("kvcache: queries are not tracked")
	}
	n := min(window, r.recent, r.Queries)
	for head := range c.slots.Heads {
		n = min(n, c.HeadLen(head))
	}
	if n <= 0 {
		return nil, nil
	}
	return r.queries.Slice(r.recent-n, r.recent)
}

// RecentAttention returns the attention that the queries of the latest tokens, up to window of them, give to each slot, summed
// over the queries and over the query heads that share the KV head: [kvHeads][HeadLen], and the number of queries. The latest slots
// must still hold the latest tokens.
func (c *Cache) RecentAttention(window int) (sums [][]float32, queries int, err error) {
	q, err := c.recentQueries(window)
	if err != nil || q == nil {
		return nil, 0, err
	}
	flat, err := c.weigh(q)
	if err != nil {
		return nil, 0, fmt.Errorf("kvcache: weigh %d slots: %w", c.Len(), err)
	}
	return c.rows(flat, c.Len()), q.Shape().Dim(0), nil
}

// weigh returns the attention that queries give to each slot, [kvHeads, Len], summed as RecentAttention says.
func (c *Cache) weigh(q *tensor.Tensor) ([]float32, error) {
	t, err := tensor.New(c.backend, tensor.F32, tensor.ShapeOf(c.KVHeads(), c.Len()))
	if err != nil {
		return nil, err
	}
	defer t.Free()
	if err := c.backend.AccumulateAttention(q, t, backend.Run{Tokens: q.Shape().Dim(0), Slots: &c.slots}); err != nil {
		return nil, err
	}
	sums := make([]float32, t.Shape().NumElements())
	return sums, backend.ReadFloats(c.backend, t, sums)
}

// Rotation returns the model's rotation, nil when nothing is tracked.
func (c *Cache) Rotation() Rotation {
	if c.record == nil {
		return nil
	}
	return c.record.rotation
}

// Each calls f for every slot of a KV head, in order, with its key and its value [headDim] as F32, not turned. The slices are
// valid during the call of f.
func (c *Cache) Each(head int, f func(slot int, key, value []float32)) error {
	return c.each(head, 2, func(slot int, sides [2][]float32) { f(slot, sides[0], sides[1]) })
}

// EachKey is Each for the keys alone: it reads half as much.
func (c *Cache) EachKey(head int, f func(slot int, key []float32)) error {
	return c.each(head, 1, func(slot int, sides [2][]float32) { f(slot, sides[0]) })
}

// readRows is how many slots are read at once.
const readRows = 2 * backend.PageSlots

// each calls f for every slot of a KV head with its key and, where sides is 2, its value.
func (c *Cache) each(head, sides int, f func(slot int, sides [2][]float32)) error {
	if head < 0 || head >= c.KVHeads() {
		return fmt.Errorf("kvcache: read slots of head %d: there are %d KV heads", head, c.KVHeads())
	}
	d := c.HeadDim()
	wide, err := tensor.New(c.backend, tensor.F32, tensor.ShapeOf(2*readRows, d))
	if err != nil {
		return fmt.Errorf("kvcache: read slots: %w", err)
	}
	defer wide.Free()
	var parts [2]*tensor.Tensor // the keys and the values of some slots
	floats := make([]float32, sides*readRows*d)
	for lo := 0; lo < c.HeadLen(head); lo += readRows {
		n := min(readRows, c.HeadLen(head)-lo)
		for i := range sides {
			if parts[i], err = wide.Slice(i*readRows, i*readRows+n); err != nil {
				return err
			}
		}
		if err := c.backend.ReadSlots(&c.slots, head, lo, parts[0], parts[1]); err != nil {
			return fmt.Errorf("kvcache: read slots from %d on: %w", lo, err)
		}
		for i := range sides {
			if err := backend.ReadFloats(c.backend, parts[i], floats[i*readRows*d:][:n*d]); err != nil {
				return fmt.Errorf("kvcache: read slots from %d on: %w", lo, err)
			}
		}
		c.unturn(floats[:n*d])
		var rows [2][]float32
		for j := range n {
			for i := range sides {
				rows[i] = floats[(i*readRows+j)*d:][:d]
			}
			f(lo+j, rows)
		}
	}
	return nil
}
