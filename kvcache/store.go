package kvcache

import (
	"fmt"
	"sync"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Store is the memory of the caches of one model on one device. It is safe for concurrent use.
type Store struct {
	backend                 backend.Backend
	rows                    int // of a step, at most
	heads, kvHeads, headDim int
	mu                      sync.Mutex
	hadamard                *Hadamard
}

// NewStore makes a store of caches for steps of up to the given number of rows.
func NewStore(b backend.Backend, rows, heads, kvHeads, headDim int) *Store {
	return &Store{backend: b, rows: rows, heads: heads, kvHeads: kvHeads, headDim: headDim}
}

// New makes an empty cache for up to capacity slots of type F32, F16, Q8_0 or Q4_0.
func (s *Store) New(d tensor.DType, capacity int) (*Cache, error) {
	c, err := New(s.backend, d, capacity, s.kvHeads, s.headDim)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hadamard == nil {
		if s.hadamard, err = NewHadamard(s.backend, d, s.rows, s.heads, s.kvHeads, s.headDim); err != nil {
			c.Free()
			return nil, fmt.Errorf("a cache of %v: %w", d, err)
		}
	}
	if d == tensor.Q4_0 {
		return c, c.UseHadamard(s.hadamard)
	}
	return c, nil
}

// Bytes returns the memory that the store's caches take, in bytes.
func (s *Store) Bytes() int64 { return s.hadamard.Bytes() }

// Free releases the memory of the store. No cache of it may be used afterwards.
func (s *Store) Free() error { return s.hadamard.Free() }

// Reserve makes sure that there is room for so many further tokens: the error wraps ErrFull when there is not. A cache that has
// been reserved for can be added to a Batch.
func (c *Cache) Reserve(tokens int) error {
	if err := c.usable(); err != nil {
		return err
	}
	if tokens > c.capacity-c.len {
		return fmt.Errorf("kvcache: %d tokens after %d of %d slots: %w", tokens, c.len, c.capacity, ErrFull)
	}
	return nil
}
