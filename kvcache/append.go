package kvcache

import (
	"fmt"

	"github.com/antigravity-go/antigravity/tensor"
)

// Append rotates the queries q [tokens, heads, headDim] and the keys k [tokens, kvHeads, headDim] of new tokens by the table of
// their angles [tokens, headDim], as backend.Backend's RoPE does, and appends the keys and the values v, of k's shape, converting
// them to the cache's type; all are F32. It records the keys of the first tokens if Tracking.Anchors
// asks for them, and is otherwise RoPE and Update in as few operations as the device can. What k holds
// afterwards is undefined. When the tokens do not fit, the error wraps ErrFull, and q and k are as they were; whatever the
// error, the cache is unchanged.
func (c *Cache) Append(q, k, v, table *tensor.Tensor) error {
	if err := c.reserve(k, v); err != nil {
		return err
	}
	if err := c.anchor(k); err != nil {
		return err
	}
	if err := c.rotate(q, k, v, table); err != nil {
		if c.record != nil {
			c.record.anchored = min(c.record.anchored, c.seen)
		}
		return fmt.Errorf("kvcache: append slots %d+%d: %w", c.len, k.Shape().Dim(0), err)
	}
	c.appended(k.Shape().Dim(0))
	return nil
}

// rotate applies RoPE to queries and keys and stores keys and values in the reserved slots.
func (c *Cache) rotate(q, k, v, table *tensor.Tensor) error {
	if c.hadamard == nil {
		return c.fused.RoPECast(q, k, v, table, &c.slots[0], &c.slots[1])
	}
	for _, x := range [2]*tensor.Tensor{q, k} {
		if err := c.backend.RoPE(x, table); err != nil {
			return err
		}
	}
	return c.store(k, v)
}

// Update appends the keys and values of new tokens, F32 [tokens, kvHeads, headDim] with RoPE applied to keys, converting them
// to the cache's type. When they do not fit, the error wraps ErrFull; whatever the error, the cache is unchanged.
func (c *Cache) Update(k, v *tensor.Tensor) error {
	if err := c.reserve(k, v); err != nil {
		return err
	}
	if err := c.store(k, v); err != nil {
		return fmt.Errorf("kvcache: update of slots %d+%d: %w", c.len, k.Shape().Dim(0), err)
	}
	c.appended(k.Shape().Dim(0))
	return nil
}

// store converts keys and values to the reserved slots. Where the cache has a Hadamard matrix the keys are turned by it first.
func (c *Cache) store(k, v *tensor.Tensor) (err error) {
	if c.hadamard != nil {
		if k, err = c.hadamard.turn(&c.hadamard.keys, k); err != nil {
			return fmt.Errorf("turn keys: %w", err)
		}
	}
	if err := c.backend.Cast(k, &c.slots[0]); err != nil {
		return err
	}
	return c.backend.Cast(v, &c.slots[1])
}

// reserve checks that new tokens fit, and makes c.slots the views of the slots behind those in use.
func (c *Cache) reserve(k, v *tensor.Tensor) error {
	if err := c.usable(); err != nil {
		return err
	}
	tokens := k.Shape().Dim(0)
	if v.Shape() != k.Shape() {
		return fmt.Errorf("kvcache: append keys %v and values %v: the shapes must be equal", k, v)
	}
	if tokens > c.capacity-c.len {
		return fmt.Errorf("kvcache: %d tokens after %d of %d slots: %w", tokens, c.len, c.capacity, ErrFull)
	}
	for i, t := range c.sides() {
		if err := t.SliceInto(&c.slots[i], c.len, c.len+tokens); err != nil {
			return err
		}
	}
	return nil
}

// appended counts tokens whose keys and values have been stored in the reserved slots.
func (c *Cache) appended(tokens int) {
	c.len += tokens
	c.seen += tokens
	if c.record != nil {
		c.record.append(c.seen-tokens, tokens)
	}
}
