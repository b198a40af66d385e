package kvcache

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// NewPlain makes a cache of a store of its own, without turned keys whatever its type.
func NewPlain(b backend.Backend, d tensor.DType, capacity, heads, kvHeads, headDim int) (*Cache, error) {
	c, err := NewStore(b, 1, heads, kvHeads, headDim).New(d, capacity)
	if err == nil {
		c.hadamard = nil
	}
	return c, err
}

// Anchor records keys before RoPE as Batch.Append does, so that tests can hold Append against its parts.
func (c *Cache) Anchor(k *tensor.Tensor) error {
	if !c.anchors.wants(c.seen) {
		return nil
	}
	return c.anchors.add(k, c.seen)
}

// Observe records the queries of the latest tokens, F32 [tokens, heads, headDim] with RoPE applied, and the attention that they give, as
// Batch.Attend does.
func (c *Cache) Observe(q *tensor.Tensor) error {
	b := NewBatch(c.Backend())
	b.Add(c, q.Shape().Dim(0))
	q, err := b.turnQueries(q)
	if err != nil {
		return err
	}
	return b.observe(q)
}

// Turned reports whether the cache turns keys.
func (c *Cache) Turned() bool { return c.hadamard != nil }

// Slots returns the cache's lists of pages.
func (c *Cache) Slots() *backend.Slots { return &c.slots }

// TurnQueries returns queries as the cache's keys need them.
func (c *Cache) TurnQueries(q *tensor.Tensor) (*tensor.Tensor, error) {
	b := NewBatch(c.Backend())
	b.Add(c, q.Shape().Dim(0))
	return b.turnQueries(q)
}

// Check returns an error unless the store's pages are what the caches, all that it has, refer to, and its counts are right.
func (s *Store) Check(caches ...*Cache) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, p := range s.pools {
		p.mu.Lock()
		defer p.mu.Unlock()
		refs := map[backend.Page]int32{}
		for _, c := range caches {
			if (poolKind{c.DType(), c.KVHeads(), c.HeadDim(), c.Kind(), c.pool.latent}) != kind {
				continue
			}
			for head, h := range c.slots.Heads {
				if h.Len > len(h.Pages)*backend.PageSlots {
					return fmt.Errorf("%v: head %d has %d slots and %d pages", kind, head, h.Len, len(h.Pages))
				}
				for _, page := range h.Pages {
					refs[page]++
				}
			}
		}
		pages, used, stale := 0, 0, 0
		for t, slab := range p.slabs {
			free := 0
			for i, n := range slab.refs {
				if want := refs[backend.Page{Slab: t, Index: i}]; n != want {
					return fmt.Errorf("%v: a page has %d references, and %d caches have it", kind, n, want)
				}
				pages++
				switch {
				case n > 0:
					used++
				case !slices.Contains(slab.free, i):
					return fmt.Errorf("%v: page %d is lost", kind, i)
				default:
					free++
				}
				if slab.stale[i] {
					stale++
				}
			}
			if free != len(slab.free) || (free == 0) != (slab.place < 0) || free > 0 && p.open[slab.place] != slab {
				return fmt.Errorf("%v: a slab has %d free pages of %d, at %d", kind, len(slab.free), free, slab.place)
			}
		}
		if used != len(refs) || used != p.used || pages != p.pages || stale != p.stale || int64(stale)*p.pageBytes() > staleBytes {
			return fmt.Errorf("%v: %d pages of %d in use, %d stale; counted %d of %d and %d", kind, p.used, p.pages, p.stale, used, pages, stale)
		}
	}
	return nil
}
