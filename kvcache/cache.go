// Package kvcache holds the keys and values of the tokens that a model has seen.
//
// A Cache is one layer's: two tensors of the layout [capacity, kvHeads, headDim], of which the first Len slots are in use.
// Slots are physical: an eviction moves the surviving rows forward and Len shrinks, while the positions that were baked into
// the keys by RoPE stay what they were. Which slots to give up is the business of package eviction; a Cache never sees a
// policy.
package kvcache

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// ErrFull is wrapped by the error of an Update that does not fit.
var ErrFull = errors.New("the cache is full")

// Cache is one layer's keys and values. It is not safe for concurrent use.
type Cache struct {
	backend       backend.Backend
	keys, values  *tensor.Tensor // [capacity, kvHeads, headDim]
	target        tensor.Tensor  // view of the slots being written, kept to spare an allocation per token
	len, capacity int
}

// New makes an empty cache of type F32, F16, Q8_0 or Q4_0 on a device. Memory is reserved for the whole capacity; on the
// host it counts against the process only as slots are used.
func New(b backend.Backend, d tensor.DType, capacity, kvHeads, headDim int) (*Cache, error) {
	if !backend.CacheType(d) {
		return nil, fmt.Errorf("kvcache: a cache of type %v: the types are f32, f16, q8_0 and q4_0", d)
	}
	shape, err := tensor.NewShape(capacity, kvHeads, headDim)
	if err != nil {
		return nil, fmt.Errorf("kvcache: %w", err)
	}
	c := &Cache{backend: b, capacity: capacity}
	if c.keys, err = tensor.New(b, d, shape); err != nil {
		return nil, fmt.Errorf("kvcache: keys: %w", err)
	}
	if c.values, err = tensor.New(b, d, shape); err != nil {
		c.keys.Free()
		return nil, fmt.Errorf("kvcache: values: %w", err)
	}
	return c, nil
}

// Len returns the number of slots in use.
func (c *Cache) Len() int { return c.len }

// Cap returns the number of slots.
func (c *Cache) Cap() int { return c.capacity }

// DType returns the type in which keys and values are stored.
func (c *Cache) DType() tensor.DType { return c.keys.DType() }

// MemoryUsage returns the bytes of the slots in use, keys and values together.
func (c *Cache) MemoryUsage() int64 { return 2 * int64(c.len) * int64(c.slotBytes()) }

// View returns the keys and values, [Cap, kvHeads, headDim] each, of which the first Len slots count. The tensors stay the
// cache's own.
func (c *Cache) View() (keys, values *tensor.Tensor) { return c.keys, c.values }

// Update appends the keys and values of new tokens, F32 [tokens, kvHeads, headDim] with RoPE applied, converting them to
// the cache's type. When they do not fit, the error wraps ErrFull and the cache is unchanged.
func (c *Cache) Update(k, v *tensor.Tensor) error {
	tokens := k.Shape().Dim(0)
	if v.Shape() != k.Shape() {
		return fmt.Errorf("kvcache: update with keys %v and values %v: the shapes must be equal", k, v)
	}
	if tokens > c.capacity-c.len {
		return fmt.Errorf("kvcache: %d tokens after %d of %d slots: %w", tokens, c.len, c.capacity, ErrFull)
	}
	for _, pair := range [2][2]*tensor.Tensor{{k, c.keys}, {v, c.values}} {
		if err := pair[1].SliceInto(&c.target, c.len, c.len+tokens); err != nil {
			return err
		}
		if err := c.backend.Cast(pair[0], &c.target); err != nil {
			return fmt.Errorf("kvcache: update of slots %d+%d: %w", c.len, tokens, err)
		}
	}
	c.len += tokens
	return nil
}

// Truncate forgets all but the first n slots.
func (c *Cache) Truncate(n int) error {
	if n < 0 || n > c.len {
		return fmt.Errorf("kvcache: truncate to %d of %d slots", n, c.len)
	}
	return c.shrink(n)
}

// PrunePrefix forgets the first n slots and moves the others to the front.
func (c *Cache) PrunePrefix(n int) error {
	if n < 0 || n > c.len {
		return fmt.Errorf("kvcache: prune %d of %d slots", n, c.len)
	}
	if err := c.move(n, 0, c.len-n); err != nil {
		return err
	}
	return c.shrink(c.len - n)
}

// Keep forgets all slots but those listed, in strictly ascending order, and moves them to the front, the same for all heads.
func (c *Cache) Keep(slots []int) error {
	for i, slot := range slots {
		if slot < 0 || slot >= c.len || (i > 0 && slot <= slots[i-1]) {
			return fmt.Errorf("kvcache: keep slot %d of %d: slots must be in range and ascending", slot, c.len)
		}
	}
	for lo := 0; lo < len(slots); { // runs of neighbours move together
		hi := lo + 1
		for hi < len(slots) && slots[hi] == slots[hi-1]+1 {
			hi++
		}
		if err := c.move(slots[lo], lo, hi-lo); err != nil {
			return err
		}
		lo = hi
	}
	return c.shrink(len(slots))
}

// move copies n slots from one place to another.
func (c *Cache) move(from, to, n int) error {
	if from == to || n == 0 {
		return nil
	}
	row := c.keys.Shape().Dim(1) * c.keys.Shape().Dim(2)
	for _, t := range [2]*tensor.Tensor{c.keys, c.values} {
		if err := c.backend.CopySlice(t, t, from*row, to*row, n*row); err != nil {
			return fmt.Errorf("kvcache: move %d slots from %d to %d: %w", n, from, to, err)
		}
	}
	return nil
}

// discarder is a buffer whose unused pages can go back to the system.
type discarder interface {
	Discard(off, n int) error
}

// shrink sets the length and lets the memory behind it go.
func (c *Cache) shrink(n int) error {
	used, slot := c.len, c.slotBytes()
	c.len = n
	for _, t := range [2]*tensor.Tensor{c.keys, c.values} {
		if b, ok := t.Buffer().(discarder); ok && used > n {
			if err := b.Discard(t.Offset()+n*slot, (used-n)*slot); err != nil {
				return fmt.Errorf("kvcache: release slots %d to %d: %w", n, used, err)
			}
		}
	}
	return nil
}

// slotBytes returns the bytes of one slot of keys, or of values.
func (c *Cache) slotBytes() int { return c.keys.Shape().Dim(1) * c.keys.RowBytes() }

// Free releases the memory.
func (c *Cache) Free() error { return errors.Join(c.keys.Free(), c.values.Free()) }
