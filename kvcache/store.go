package kvcache

import (
	"errors"
	"fmt"
	"sync"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Store is the memory of the caches and states of one model on one device. It holds keys and values in pages of backend.PageSlots slots of
// one KV head. Copies of a cache share pages until one of them writes there. The store uses a page again once no cache has it, and gives
// memory that it has too much of back to the system. A Store is safe for concurrent use.
type Store struct {
	backend backend.Backend
	shape   shape
	states  statePool // of recurrent layers

	mu    sync.Mutex // guards pools
	pools map[poolKind]*pool
}

// poolKind is what the caches of a pool have in common.
type poolKind struct {
	dtype                  tensor.DType
	kvHeads, headDim, kind int
	latent                 bool // of layers with Latent
}

// Layer is what a layer's cache is made for: KVHeads heads of HeadDim elements, and the attention that reads them. Kind is any number of the caller's, by
// which Store.BytesOf counts the memory of caches.
type Layer struct {
	KVHeads, HeadDim int
	Kind             int
	// Latent says that values are keys, as far as somebody looks at them. If the backend takes such slots, they have a row a token, not two.
	Latent bool
	backend.Attention
}

// NewStore makes a store of caches for steps of up to the given number of rows, of query heads and KV heads of headDim elements. If a
// model's layers differ in kvHeads or headDim, any layer's numbers will do, and NewLayer makes the caches.
func NewStore(b backend.Backend, rows, heads, kvHeads, headDim int) *Store {
	return &Store{backend: b, shape: shape{rows, heads, kvHeads, headDim}, states: statePool{device: b}, pools: map[poolKind]*pool{}}
}

// New makes an empty cache for up to capacity slots of each head, of type F32, F16, Q8_0 or Q4_0. It takes memory as slots are used.
func (s *Store) New(d tensor.DType, capacity int) (*Cache, error) {
	return s.NewFor(backend.Attention{}, d, capacity)
}

// NewFor is New for a layer with a window, sinks or a cap, as a says.
func (s *Store) NewFor(a backend.Attention, d tensor.DType, capacity int) (*Cache, error) {
	return s.NewLayer(Layer{KVHeads: s.shape.kvHeads, HeadDim: s.shape.headDim, Attention: a}, d, capacity)
}

// NewLayer is New for a layer that has its own number of KV heads and of their elements. With a window, the cache gives the pages before the window back, and so takes
// memory for little more than the window and a step, however many tokens it sees; capacity does not count then, and the cache must not be
// given to an eviction policy, nor made to track.
func (s *Store) NewLayer(l Layer, d tensor.DType, capacity int) (*Cache, error) {
	a := l.Attention
	if a.Window < 0 {
		return nil, fmt.Errorf("kvcache: a cache with a window of %d: it must be positive, or 0 for none", a.Window)
	}
	if a.Window > 0 {
		capacity = a.Window
	}
	if !backend.CacheType(d) {
		return nil, fmt.Errorf("kvcache: a cache of type %v: the types are f32, f16, q8_0 and q4_0", d)
	}
	if _, err := tensor.NewShape(capacity, l.KVHeads, l.HeadDim); err != nil {
		return nil, fmt.Errorf("kvcache: a cache: %w", err)
	}
	if _, err := d.Bytes(l.HeadDim); err != nil {
		return nil, fmt.Errorf("kvcache: a cache with heads of %d: %w", l.HeadDim, err)
	}
	p, err := newPages(s.pool(poolKind{d, l.KVHeads, l.HeadDim, l.Kind, l.Latent}), a)
	if err != nil {
		return nil, err
	}
	return newCache(p, capacity), nil
}

// pool returns the pool of the caches of a kind.
func (s *Store) pool(k poolKind) *pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pools[k] == nil {
		of := shape{s.shape.rows, s.shape.heads, k.kvHeads, k.headDim}
		s.pools[k] = &pool{device: s.backend, dtype: k.dtype, kind: k.kind, shape: of, latent: k.latent, halves: halvesOf(s.backend, k.latent), slabs: map[*tensor.Tensor]*slab{}}
	}
	return s.pools[k]
}

// halvesOf returns how many rows a slot has.
func halvesOf(b backend.Backend, latent bool) int {
	if latent && backend.KeepsLatents(b) {
		return 1
	}
	return 2
}

// Bytes returns the memory that the store's caches take for keys and values, and its states with their snapshots, in bytes, as far as they
// are in use. Shared pages count once. The records for eviction policies does not count; see Cache.RecordBytes.
func (s *Store) Bytes() int64 {
	return s.sum((*pool).bytes) + s.states.bytes()
}

// BytesOf is Bytes for the keys and values of the caches of a kind.
func (s *Store) BytesOf(kind int) (total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, p := range s.pools {
		if k.kind == kind {
			p.mu.Lock()
			total += p.bytes()
			p.mu.Unlock()
		}
	}
	return total
}

// StateBytes is Bytes for the states and their snapshots.
func (s *Store) StateBytes() int64 { return s.states.bytes() }

// ScratchBytes returns the memory in which steps turn keys and queries, in bytes.
func (s *Store) ScratchBytes() int64 {
	return s.sum(func(p *pool) int64 { return p.hadamard.bytes() })
}

// sum adds a number up over the pools. Each is locked meanwhile.
func (s *Store) sum(number func(*pool) int64) (total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pools {
		p.mu.Lock()
		total += number(p)
		p.mu.Unlock()
	}
	return total
}

// Free releases the memory of the store. No cache of it may be used afterwards, except to free it.
func (s *Store) Free() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := []error{s.states.close()}
	for _, p := range s.pools {
		errs = append(errs, p.free())
	}
	return errors.Join(errs...)
}
