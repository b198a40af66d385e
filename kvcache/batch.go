package kvcache

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Batch is what one layer does in a step for several conversations at once: their rows lie one after the other in the step's
// tensors, and each conversation has a cache of its own. It keeps its memory from step to step and is not safe for concurrent
// use.
type Batch struct {
	attend backend.PrefillAttender
	b      backend.Backend
	runs   []batchRun
	// views of a run's rows
	q, k, v, table, out tensor.Tensor
}

// batchRun is the rows of one conversation.
type batchRun struct {
	cache  *Cache
	lo, hi int // rows of the step's tensors
}

// NewBatch makes an empty batch for caches on a device.
func NewBatch(b backend.Backend) *Batch {
	return &Batch{b: b, attend: backend.Attender(b)}
}

// Reset empties the batch.
func (b *Batch) Reset() {
	clear(b.runs)
	b.runs = b.runs[:0]
}

// Add adds a cache, to which the next tokens rows of the step belong. Cache.Reserve must have made room for them.
func (b *Batch) Add(c *Cache, tokens int) {
	lo := 0
	if n := len(b.runs); n > 0 {
		lo = b.runs[n-1].hi
	}
	b.runs = append(b.runs, batchRun{c, lo, lo + tokens})
}

// Append rotates queries q [rows, heads, headDim] and keys k [rows, kvHeads, headDim] by table [rows, headDim] and appends keys and
// values v, of k's shape, to the caches. After an error call TakeBack of all caches.
func (b *Batch) Append(q, k, v, table *tensor.Tensor) error {
	for _, r := range b.runs {
		if err := b.cut(r, q, k, v, table); err != nil {
			return err
		}
		if err := r.cache.Append(&b.q, &b.k, &b.v, &b.table); err != nil {
			return err
		}
	}
	return nil
}

// Attend lets the rows of q [rows, heads, headDim] attend to their caches and records their queries where a cache tracks:
// out [rows, heads, headDim].
func (b *Batch) Attend(q, out *tensor.Tensor) error {
	for _, r := range b.runs {
		if err := b.cut(r, q, nil, nil, nil); err != nil {
			return err
		}
		if err := out.SliceInto(&b.out, r.lo, r.hi); err != nil {
			return err
		}
		query, err := r.cache.Query(&b.q)
		if err != nil {
			return err
		}
		k, v := r.cache.View()
		if r.hi-r.lo == 1 {
			err = b.b.AttentionGen(query, k, v, &b.out, r.cache.Len())
		} else {
			err = b.attend.Attention(query, k, v, &b.out, r.cache.Len())
		}
		if err != nil {
			return err
		}
		if err := r.cache.Observe(query); err != nil {
			return err
		}
	}
	return nil
}

// cut makes the views of a run's rows.
func (b *Batch) cut(r batchRun, q, k, v, table *tensor.Tensor) error {
	for _, t := range [...]struct{ from, to *tensor.Tensor }{{q, &b.q}, {k, &b.k}, {v, &b.v}, {table, &b.table}} {
		if t.from == nil {
			continue
		}
		if err := t.from.SliceInto(t.to, r.lo, r.hi); err != nil {
			return fmt.Errorf("kvcache: rows %d to %d: %w", r.lo, r.hi, err)
		}
	}
	return nil
}
