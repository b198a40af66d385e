package kvcache

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Store is the memory of the caches of one model on one device. It holds their keys and values in pages of backend.PageSlots slots of one KV
// head, which count their references: copies of a cache share pages until one of them writes there. A page that no cache has any more is
// used again, and what is too much of goes back to the system. A Store is safe for concurrent use.
type Store struct {
	backend                 backend.Backend
	rows                    int // of a step, at most
	heads, kvHeads, headDim int

	mu       sync.Mutex // guards what follows
	pools    map[tensor.DType]*pool
	turning  int       // caches whose keys are turned
	hadamard *hadamard // nil while there are none
}

// NewStore makes a store of caches for steps of up to the given number of rows, of query heads and KV heads of headDim elements.
func NewStore(b backend.Backend, rows, heads, kvHeads, headDim int) *Store {
	return &Store{backend: b, rows: rows, heads: heads, kvHeads: kvHeads, headDim: headDim, pools: map[tensor.DType]*pool{}}
}

// New makes an empty cache for up to capacity slots of each head, of type F32, F16, Q8_0 or Q4_0. It takes memory as slots are used.
func (s *Store) New(d tensor.DType, capacity int) (*Cache, error) {
	if !backend.CacheType(d) {
		return nil, fmt.Errorf("kvcache: a cache of type %v: the types are f32, f16, q8_0 and q4_0", d)
	}
	if _, err := tensor.NewShape(capacity, s.kvHeads, s.headDim); err != nil {
		return nil, fmt.Errorf("kvcache: a cache: %w", err)
	}
	if _, err := d.Bytes(s.headDim); err != nil {
		return nil, fmt.Errorf("kvcache: a cache with heads of %d: %w", s.headDim, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pools[d] == nil {
		s.pools[d] = &pool{device: s.backend, dtype: d, headDim: s.headDim, slabs: map[*tensor.Tensor]*slab{}}
	}
	if turns(d, s.headDim) && s.hadamard == nil {
		h, err := newHadamard(s.backend, s.rows, s.heads, s.kvHeads, s.headDim)
		if err != nil {
			return nil, err
		}
		s.hadamard = h
	}
	return s.newCache(d, capacity, make([]backend.HeadSlots, s.kvHeads)), nil
}

// newCache makes a cache with the given lists of pages, to which it has references. When it is forgotten without Free, they are
// given back at a later garbage collection. The store's lock is held.
func (s *Store) newCache(d tensor.DType, capacity int, heads []backend.HeadSlots) *Cache {
	p := &pages{store: s, slots: backend.Slots{DType: d, HeadDim: s.headDim, Heads: heads, Version: 1}}
	c := &Cache{pages: p, backend: s.backend, capacity: capacity}
	if turns(d, s.headDim) {
		s.turning++
		c.hadamard = s.hadamard
	}
	c.forgotten = runtime.AddCleanup(c, func(p *pages) { p.free() }, p)
	return c
}

// Bytes returns the memory that the store's caches take for keys and values, in bytes: pages in use, each of which counts once,
// however many caches share it. What caches record for eviction policies is not among them; see Cache.RecordBytes.
func (s *Store) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bytes int64
	for _, p := range s.pools {
		bytes += p.bytes()
	}
	return bytes
}

// ScratchBytes returns the memory in which steps turn keys and queries, in bytes.
func (s *Store) ScratchBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hadamard.bytes()
}

// Free releases the memory of the store. No cache of it may be used afterwards, except to free it.
func (s *Store) Free() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := []error{s.hadamard.free()}
	s.hadamard, s.turning = nil, 0
	for _, p := range s.pools {
		errs = append(errs, p.free())
	}
	return errors.Join(errs...)
}

// take appends n pages to a list.
func (s *Store) take(d tensor.DType, list []backend.Page, n int) ([]backend.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pools[d].take(list, n)
}

// give takes the references of a list's pages.
func (s *Store) give(d tensor.DType, list []backend.Page) error {
	if len(list) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pools[d].give(list)
}

// release gives up what a cache has in the store beside pages.
func (s *Store) release(d tensor.DType) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !turns(d, s.headDim) || s.hadamard == nil {
		return nil
	}
	if s.turning--; s.turning > 0 {
		return nil
	}
	h := s.hadamard
	s.hadamard = nil
	return h.free()
}

// shared tells whether other caches have the page too.
func (s *Store) shared(d tensor.DType, page backend.Page) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pools[d].shared(page)
}
