package kvcache

import (
	"fmt"

	"github.com/antigravity-go/antigravity/tensor"
)

// Truncate forgets all but the first n slots, and that their tokens were ever seen. To forget all slots is to begin anew.
func (c *Cache) Truncate(n int) error {
	if n < 0 || n > c.len {
		return fmt.Errorf("kvcache: truncate to %d of %d slots", n, c.len)
	}
	c.seen -= c.len - n
	if n == 0 {
		c.seen = 0
	}
	if c.record != nil {
		if err := c.record.truncate(n, c.len-n, c.seen); err != nil {
			return fmt.Errorf("kvcache: truncate to %d slots: %w", n, err)
		}
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
	return c.kept(c.len-n, func(_, i int) int { return n + i })
}

// Keep forgets all slots but those listed, in strictly ascending order, and moves them to the front, the same for all heads.
func (c *Cache) Keep(slots []int) error {
	if err := ascending(slots, c.len); err != nil {
		return err
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
	return c.kept(len(slots), func(_, i int) int { return slots[i] })
}

// KeepPerHead is Keep with a list for each KV head, all of one length. Afterwards a slot may hold the keys of different
// tokens for different heads, which attention does not mind: RoPE was applied when the key was written.
func (c *Cache) KeepPerHead(slots [][]int) error {
	if len(slots) != c.KVHeads() {
		return fmt.Errorf("kvcache: keep slots of %d heads: there are %d KV heads", len(slots), c.KVHeads())
	}
	n := len(slots[0])
	flat := make([]int32, 0, n*len(slots))
	for head, list := range slots {
		if len(list) != n {
			return fmt.Errorf("kvcache: keep %d slots of head 0 and %d of head %d: all heads must keep the same number", n, len(list), head)
		}
		if err := ascending(list, c.len); err != nil {
			return fmt.Errorf("head %d: %w", head, err)
		}
		for _, slot := range list {
			flat = append(flat, int32(slot))
		}
	}
	for _, t := range c.sides() {
		if err := c.backend.Compact(t, flat); err != nil {
			return fmt.Errorf("kvcache: keep %d of %d slots: %w", n, c.len, err)
		}
	}
	return c.kept(n, func(head, i int) int { return slots[head][i] })
}

// ascending checks a list of slots, each below n.
func ascending(slots []int, n int) error {
	for i, slot := range slots {
		if slot < 0 || slot >= n || (i > 0 && slot <= slots[i-1]) {
			return fmt.Errorf("kvcache: keep slot %d of %d: slots must be in range and ascending", slot, n)
		}
	}
	return nil
}

// kept lets the record follow after n slots, which were slots from(head, 0…n-1), have moved to the front.
func (c *Cache) kept(n int, from func(head, i int) int) error {
	if c.record != nil && n < c.len {
		if err := c.record.keep(n, from); err != nil {
			return fmt.Errorf("kvcache: keep %d of %d slots: %w", n, c.len, err)
		}
	}
	return c.shrink(n)
}

// move copies n slots from one place to another.
func (c *Cache) move(from, to, n int) error {
	if from == to || n == 0 {
		return nil
	}
	row := c.KVHeads() * c.HeadDim()
	for _, t := range c.sides() {
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
	for _, t := range c.sides() {
		if err := discard(t, n*slot, (used-n)*slot); err != nil {
			return fmt.Errorf("kvcache: release slots %d to %d: %w", n, used, err)
		}
	}
	return nil
}

// discard lets n bytes of a tensor go, where its memory can.
func discard(t *tensor.Tensor, off, n int) error {
	if b, ok := t.Buffer().(discarder); ok && n > 0 {
		return b.Discard(t.Offset()+off, n)
	}
	return nil
}
