package kvcache

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// queries are the queries of the latest tokens, in the order of the tokens. rows has twice the room that is needed, so that rows are moved
// only once in most tokens. With most = 3:
//
//	after 6 tokens    1 2 3 4 5 6    the latest 3 count
//	after 7           4 5 6 7        makeRoom has moved the latest 3 to the front
//
// The rows [0, recent) are in use, 0 ≤ recent ≤ 2·most; the last most of them count. Without rows no queries are recorded, and the methods
// that change them do nothing.
type queries struct {
	device backend.Backend
	rows   *tensor.Tensor // [2·most, heads, headDim]
	most   int
	recent int
	copied copying
}

// elements returns the number of elements of one token's queries, heads·headDim.
func (q *queries) elements() int { return q.rows.Shape().Dim(1) * q.rows.Shape().Dim(2) }

// makeRoom makes room for the queries of further tokens: if there is too little, only the latest most rows stay.
func (q *queries) makeRoom(tokens int) error {
	if q.recent+min(tokens, q.most) <= 2*q.most {
		return nil
	}
	return q.keepLatest()
}

// add appends the latest rows of x [tokens, heads, headDim], most at most. makeRoom has made room for them.
func (q *queries) add(x *tensor.Tensor) error {
	if q.rows == nil {
		return nil
	}
	tokens, row := x.Shape().Dim(0), q.elements()
	n := min(tokens, q.most)
	if err := q.copied.Run(q.device, backend.CopySlice{Src: x, Dst: q.rows, From: (tokens - n) * row, To: q.recent * row, N: n * row}); err != nil {
		return err
	}
	q.recent += n
	return nil
}

// keepLatest forgets all but the latest most rows and moves these to the front.
func (q *queries) keepLatest() error {
	if q.recent <= q.most {
		return nil
	}
	row := q.elements()
	if err := q.copied.Run(q.device, backend.CopySlice{Src: q.rows, Dst: q.rows, From: (q.recent - q.most) * row, N: q.most * row}); err != nil {
		return err
	}
	q.recent = q.most
	return nil
}

// forget forgets the queries of the latest tokens. How many rows there are beyond most depends on how the tokens were cut into steps:
// these go, too.
func (q *queries) forget(tokens int) error {
	if err := q.keepLatest(); err != nil {
		return err
	}
	q.recent = max(0, q.recent-tokens)
	return nil
}

// latest returns the latest rows that count, n at most: a view, or nil.
func (q *queries) latest(n int) (*tensor.Tensor, error) {
	if n = min(n, q.recent, q.most); n <= 0 {
		return nil, nil
	}
	return q.rows.Slice(q.recent-n, q.recent)
}
