package kvcache

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Positions returns the position of the token in each slot, for one KV head, or nil when nothing is tracked. The slice is
// the cache's own and valid until the cache changes.
func (r *record) Positions(head int) []int32 {
	if !r.on() {
		return nil
	}
	return r.positions[head]
}

// Rotation returns the model's rotation, nil when nothing is tracked.
func (r *record) Rotation() Rotation { return r.rotation }

// Received returns the attention that each slot has received from all queries that have seen it, summed over the queries and
// over the query heads that share the KV head: [kvHeads][HeadLen]. Tracking.Attention must be on.
//
// Only the sum is recorded, not what each query gave. Truncate therefore cannot take back exactly what the forgotten queries gave:
// it multiplies a slot's sum by the share of the slot's queries that remain. The mean over the queries, by which H2O chooses,
// stays what it was, and so still contains what the forgotten queries gave.
func (r *record) Received() ([][]float32, error) {
	if r.received.sums == nil {
		return nil, fmt.Errorf("kvcache: the attention that slots receive is not tracked")
	}
	sums, err := r.received.read()
	if err != nil {
		return nil, fmt.Errorf("kvcache: read attention: %w", err)
	}
	return r.inUse(sums), nil
}

// RecentQueries returns a copy of the queries of the latest tokens, one row [heads·headDim] a token, up to window rows, in the
// order of the tokens. RoPE has been applied to them, a Hadamard matrix has not. Tracking.Queries must not be 0.
func (r *record) RecentQueries(window int) ([][]float32, error) {
	q, err := r.recent(window)
	if err != nil || q == nil {
		return nil, err
	}
	x := make([]float32, q.Shape().NumElements())
	if err := backend.ReadFloats(r.pages.Backend(), q, x); err != nil {
		return nil, fmt.Errorf("kvcache: read queries %v: %w", q, err)
	}
	r.pages.hadamard.unturn(x, r.pages.HeadDim())
	return slices.Collect(slices.Chunk(x, r.queries.elements())), nil
}

// RecentAttention returns the attention that the queries of the latest tokens, up to window of them, give to each slot, summed
// over the queries and over the query heads that share the KV head: [kvHeads][HeadLen], and the number of queries. The latest slots
// must still hold the latest tokens.
func (r *record) RecentAttention(window int) (sums [][]float32, queries int, err error) {
	q, err := r.recent(window)
	if err != nil || q == nil {
		return nil, 0, err
	}
	flat, err := r.weigh(q)
	if err != nil {
		return nil, 0, fmt.Errorf("kvcache: weigh %d slots: %w", r.pages.Len(), err)
	}
	return r.inUse(flat), q.Shape().Dim(0), nil
}

// recent returns the queries of the latest tokens [n, heads, headDim], n ≤ window, turned if keys are: a view of the record's tensor, valid
// until the cache changes, or nil if there are no such tokens.
func (r *record) recent(window int) (*tensor.Tensor, error) {
	if r.queries.rows == nil {
		return nil, fmt.Errorf("kvcache: queries are not tracked")
	}
	for head := range r.positions {
		window = min(window, r.pages.HeadLen(head))
	}
	return r.queries.latest(window)
}

// weigh returns the attention that queries give to each slot, [kvHeads, Len], summed as RecentAttention says.
func (r *record) weigh(q *tensor.Tensor) ([]float32, error) {
	t, err := tensor.New(r.pages.Backend(), tensor.F32, tensor.ShapeOf(r.pages.KVHeads(), r.pages.Len()))
	if err != nil {
		return nil, err
	}
	defer t.Free()
	if err := r.pages.Backend().Run(&backend.AccumulateAttention{Q: q, Sums: t, Run: backend.Run{Tokens: q.Shape().Dim(0), Slots: &r.pages.slots}}); err != nil {
		return nil, err
	}
	sums := make([]float32, t.Shape().NumElements())
	return sums, backend.ReadFloats(r.pages.Backend(), t, sums)
}

// inUse returns the first HeadLen of each head's numbers, [kvHeads][HeadLen], as views of x [kvHeads, any width].
func (r *record) inUse(x []float32) [][]float32 {
	list := make([][]float32, len(r.positions))
	for h := range list {
		n := r.pages.HeadLen(h)
		list[h] = x[h*len(x)/len(list):][:n:n]
	}
	return list
}
