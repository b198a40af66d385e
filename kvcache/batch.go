package kvcache

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Batch is what one layer does in a step for several conversations at once: their rows lie one after the other in the step's tensors, and
// each conversation has a cache of its own. It keeps its memory from step to step and is not safe for concurrent use. Caches of one store
// with turned keys share the memory for turned rows: only one batch with such caches may be in use at a time.
//
// If the first of three conversations computes 5 tokens of a prompt, and the others the next token of their answers, the step has 7 rows:
//
//	b.Reset()
//	b.Add(first, 5)           // rows 0 … 4
//	b.Add(second, 1)          // row 5
//	b.Add(third, 1)           // row 6
//	b.Append(q, k, v, table)  // the key and the value of row 5 come to the second cache's next slot
//	b.Attend(q, out)          // the query of row 2 sees the first cache's slots up to the one of row 2
type Batch struct {
	backend backend.Backend
	caches  []*Cache
	runs    []backend.Run // of the caches, in their order
	rows    int           // of all runs
	turned  *hadamard     // that of the caches with turned keys; nil if no cache has them
	view    tensor.Tensor // some rows

	// The operations, which allocate nothing.
	rotated  backend.Call[backend.RoPE, *backend.RoPE]
	stored   backend.Call[backend.RoPEStore, *backend.RoPEStore]
	attended backend.Call[backend.Attend, *backend.Attend]
	copied   copying
	product  backend.Call[backend.MatMulTransposed, *backend.MatMulTransposed]
}

// copying is a copy of elements that allocates nothing.
type copying = backend.Call[backend.CopySlice, *backend.CopySlice]

// NewBatch makes an empty batch for caches on a device.
func NewBatch(b backend.Backend) *Batch { return &Batch{backend: b} }

// Reset empties the batch.
func (b *Batch) Reset() {
	clear(b.caches)
	clear(b.runs)
	b.caches, b.runs, b.rows, b.turned = b.caches[:0], b.runs[:0], 0, nil
}

// Add adds a cache and the rows of the step that belong to it: the next ones, as many as tokens. Cache.Reserve should have made room for
// them, so that Append cannot fail for want of memory. No cache is added twice.
func (b *Batch) Add(c *Cache, tokens int) {
	b.caches = append(b.caches, c)
	b.runs = append(b.runs, backend.Run{Tokens: tokens, Slots: &c.slots})
	b.rows += tokens
	if c.hadamard != nil {
		b.turned = c.hadamard
	}
}

// AddTogether is Add for rows that see each other, as those of an image do in some models; if whole, the cache's window hides no row of the image.
func (b *Batch) AddTogether(c *Cache, tokens int, whole bool) {
	b.Add(c, tokens)
	run := &b.runs[len(b.runs)-1]
	run.Together, run.Whole = true, whole
}

// Append rotates queries q [rows, heads, headDim] and keys k [rows, kvHeads, headDim] by table [rows, headDim], as backend.RoPE
// does, and appends keys and values v, of k's shape, to the caches, converting them to their types; all are F32. Caches record the keys of
// the first tokens if Tracking.Anchors asks for that. Without a table the keys have been rotated: nothing is rotated nor recorded, and q may
// be nil. What k holds afterwards is undefined. When the tokens of a cache do not fit, the error wraps ErrFull, and q
// and k are as they were; whatever the error, the caches are unchanged.
func (b *Batch) Append(q, k, v, table *tensor.Tensor) error {
	if err := b.append(q, k, v, table); err != nil {
		for _, c := range b.caches {
			c.anchors.forgetFrom(c.seen)
		}
		return err
	}
	for i, c := range b.caches {
		c.appended(b.runs[i].Tokens)
	}
	return nil
}

// appended counts tokens after their keys and values have been stored.
func (c *Cache) appended(tokens int) {
	c.record.appended(c.seen, tokens)
	c.seen += tokens
}

// append is Append before tokens are counted.
func (b *Batch) append(q, k, v, table *tensor.Tensor) error {
	if k.Shape().Dim(0) != b.rows {
		return fmt.Errorf("kvcache: append keys %v: the caches have %d rows", k, b.rows)
	}
	row := 0
	for i, c := range b.caches {
		n := b.runs[i].Tokens
		if err := c.Reserve(n); err != nil {
			return err
		}
		if table != nil && c.anchors.wants(c.seen) {
			if err := k.SliceInto(&b.view, row, row+n); err != nil {
				return fmt.Errorf("kvcache: append rows %d to %d: %w", row, row+n, err)
			}
			if err := c.anchors.add(&b.view, c.seen); err != nil {
				return err
			}
		}
		row += n
	}
	b.grow(1)
	if err := b.store(q, k, v, table); err != nil {
		b.grow(-1)
		return fmt.Errorf("kvcache: append %d rows to %d caches: %w", b.rows, len(b.caches), err)
	}
	return nil
}

// grow adds the runs' tokens to the slots in use if sign is 1, and takes them away if sign is -1.
func (b *Batch) grow(sign int) {
	for i := range b.runs {
		heads := b.runs[i].Slots.Heads
		for head := range heads {
			heads[head].Len += sign * b.runs[i].Tokens
		}
	}
}

// store rotates queries and keys, and stores keys and values. Keys that are to be turned are turned in between.
func (b *Batch) store(q, k, v, table *tensor.Tensor) error {
	if b.turned == nil {
		return b.stored.Run(b.backend, backend.RoPEStore{Q: q, K: k, V: v, Table: table, Runs: b.runs})
	}
	if table != nil {
		for _, x := range [2]*tensor.Tensor{q, k} {
			if err := b.rotated.Run(b.backend, backend.RoPE{X: x, Table: table}); err != nil {
				return err
			}
		}
	}
	keys, err := b.turn(&b.turned.keys, k)
	if err != nil {
		return fmt.Errorf("turn keys: %w", err)
	}
	return b.stored.Run(b.backend, backend.RoPEStore{K: keys, V: v, Runs: b.runs})
}

// turn returns x [rows, heads, headDim], with those rows turned that belong to caches with turned keys. The result is in the memory of side
// and valid until the next call for the same side. Rows that lie one after the other are turned together.
func (b *Batch) turn(side *turnedRows, x *tensor.Tensor) (*tensor.Tensor, error) {
	if b.turned == nil {
		return x, nil
	}
	if err := side.full.SliceInto(&side.view, 0, x.Shape().Dim(0)); err != nil {
		return nil, err
	}
	width := x.Shape().Dim(1) * x.Shape().Dim(2)
	for i, lo := 0, 0; i < len(b.caches); {
		turns, hi := b.caches[i].hadamard != nil, lo
		for ; i < len(b.caches) && (b.caches[i].hadamard != nil) == turns; i++ {
			hi += b.runs[i].Tokens
		}
		if !turns {
			if err := b.copied.Run(b.backend, backend.CopySlice{Src: x, Dst: &side.view, From: lo * width, To: lo * width, N: (hi - lo) * width}); err != nil {
				return nil, err
			}
		} else {
			if err := x.SliceInto(&side.from, lo, hi); err != nil {
				return nil, err
			}
			if err := side.view.SliceInto(&side.to, lo, hi); err != nil {
				return nil, err
			}
			if err := b.product.Run(b.backend, backend.MatMulTransposed{X: &side.from, W: b.turned.matrix, Out: &side.to}); err != nil {
				return nil, err
			}
		}
		lo = hi
	}
	return &side.view, nil
}

// Attend lets the rows of q [rows, heads, headDim], to which RoPE has been applied, attend to their caches and records queries, and the
// attention that they give, as far as the caches' Tracking asks for it: out [rows, heads, headDim].
func (b *Batch) Attend(q, out *tensor.Tensor) error {
	q, err := b.attend(q, out)
	if err != nil {
		return err
	}
	return b.observe(q)
}

// Read is Attend for a layer that reads the caches of another layer: nothing is recorded. The other layer has appended the rows' keys and values; only the
// last rows of each conversation need be among those that read.
func (b *Batch) Read(q, out *tensor.Tensor) error {
	_, err := b.attend(q, out)
	return err
}

// attend computes the attention of Attend, and returns the queries, turned if the keys of their caches are.
func (b *Batch) attend(q, out *tensor.Tensor) (*tensor.Tensor, error) {
	if q.Shape().Dim(0) != b.rows {
		return nil, fmt.Errorf("kvcache: attend with queries %v: the caches have %d rows", q, b.rows)
	}
	q, err := b.turnQueries(q)
	if err != nil {
		return nil, err
	}
	if err := b.attended.Run(b.backend, backend.Attend{Q: q, Out: out, Runs: b.runs}); err != nil {
		return nil, fmt.Errorf("kvcache: attend with %d rows to %d caches: %w", b.rows, len(b.caches), err)
	}
	return q, nil
}

// turnQueries returns the queries, turned if the keys of their caches are.
func (b *Batch) turnQueries(q *tensor.Tensor) (*tensor.Tensor, error) {
	if b.turned == nil {
		return q, nil
	}
	q, err := b.turn(&b.turned.queries, q)
	if err != nil {
		return nil, fmt.Errorf("kvcache: turn queries: %w", err)
	}
	return q, nil
}

// observe records queries as turnQueries returned them.
func (b *Batch) observe(q *tensor.Tensor) error {
	row := 0
	for i, c := range b.caches {
		n := b.runs[i].Tokens
		if c.record.on() {
			if err := q.SliceInto(&b.view, row, row+n); err != nil {
				return fmt.Errorf("kvcache: record rows %d to %d: %w", row, row+n, err)
			}
			if err := c.record.observe(&b.view, c.seen, b.runs[i].Together); err != nil {
				return err
			}
		}
		row += n
	}
	return nil
}

// Update appends the keys and values of new tokens, F32 [tokens, KVHeads, HeadDim] with RoPE applied to keys, as a Batch of this cache
// alone does. When they do not fit, the error wraps ErrFull; whatever the error, the cache is unchanged.
func (c *Cache) Update(k, v *tensor.Tensor) error {
	b := NewBatch(c.Backend())
	b.Add(c, k.Shape().Dim(0))
	return b.Append(nil, k, v, nil)
}
