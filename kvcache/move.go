package kvcache

import "fmt"

// Truncate forgets all but the first n slots, and that the others' tokens were ever seen. What the forgotten queries gave to the
// slots that stay is taken back at its mean; see Received.
func (c *Cache) Truncate(n int) error {
	if n < 0 || n > c.len {
		return fmt.Errorf("kvcache: truncate to %d slots: 0 to %d are possible", n, c.len)
	}
	used := c.len
	c.len, c.seen = n, c.seen-(used-n)
	if c.record != nil {
		if err := c.record.truncate(n, c.seen); err != nil {
			return c.breaks(fmt.Errorf("truncate to %d slots: %w", n, err))
		}
	}
	return c.release(n, used)
}

// TakeBack undoes the latest chunk, computed as a whole or in part, after which nothing else was done to the cache: the cache
// and its record are exactly what they were when it had seen so many tokens. It does not need the device, which may be lost.
func (c *Cache) TakeBack(seen int) error {
	n := c.len - (c.seen - seen)
	if n < 0 || n > c.len {
		return fmt.Errorf("kvcache: take back to %d tokens: the cache has seen %d and has %d slots", seen, c.seen, c.len)
	}
	if c.record != nil && !c.record.takeBack(n, seen) {
		return fmt.Errorf("kvcache: take back to %d tokens: the latest chunk does not begin there", seen)
	}
	used := c.len
	c.len, c.seen = n, seen
	return c.release(n, used)
}

// Reset forgets everything: the cache is as it was made, and keeps recording. It makes a broken cache usable again.
func (c *Cache) Reset() error {
	used := c.len
	c.len, c.seen, c.broken = 0, 0, nil
	if c.record != nil {
		if err := c.record.reset(); err != nil {
			return c.breaks(fmt.Errorf("reset: %w", err))
		}
	}
	return c.release(0, used)
}

// PrunePrefix forgets the first n slots and moves the others to the front.
func (c *Cache) PrunePrefix(n int) error {
	if err := c.usable(); err != nil {
		return err
	}
	if n < 0 || n > c.len {
		return fmt.Errorf("kvcache: prune the first %d slots: 0 to %d are possible", n, c.len)
	}
	if err := c.move(n, 0, c.len-n); err != nil {
		return err
	}
	return c.kept(c.len-n, func(_, i int) int { return n + i })
}

// Keep forgets all slots but those listed, in strictly ascending order, and moves them to the front, the same for all heads.
func (c *Cache) Keep(slots []int) error {
	if err := c.usable(); err != nil {
		return err
	}
	if err := ascending(slots, c.len); err != nil {
		return fmt.Errorf("kvcache: %w", err)
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
	if err := c.usable(); err != nil {
		return err
	}
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
			return fmt.Errorf("kvcache: head %d: %w", head, err)
		}
		for _, slot := range list {
			flat = append(flat, int32(slot))
		}
	}
	for _, t := range c.sides() {
		if err := c.backend.Compact(t, flat); err != nil {
			return c.breaks(fmt.Errorf("keep %d of %d slots: %w", n, c.len, err))
		}
	}
	return c.kept(n, func(head, i int) int { return slots[head][i] })
}

// ascending checks a list of slots, each below n.
func ascending(slots []int, n int) error {
	for i, slot := range slots {
		if slot < 0 || slot >= n || (i > 0 && slot <= slots[i-1]) {
			return fmt.Errorf("keep slot %d of %d: slots must be in range and ascending", slot, n)
		}
	}
	return nil
}

// move copies n slots from one place to another.
func (c *Cache) move(from, to, n int) error {
	if from == to || n == 0 {
		return nil
	}
	row := c.KVHeads() * c.HeadDim()
	for _, t := range c.sides() {
		if err := c.backend.CopySlice(t, t, from*row, to*row, n*row); err != nil {
			return c.breaks(fmt.Errorf("move %d slots from %d to %d: %w", n, from, to, err))
		}
	}
	return nil
}

// kept follows up when n slots, which were slots from(head, 0…n-1), have moved to the front.
func (c *Cache) kept(n int, from func(head, i int) int) error {
	used := c.len
	if n == used {
		return nil
	}
	c.len = n
	if c.record != nil {
		if err := c.record.keep(n, from); err != nil {
			return c.breaks(fmt.Errorf("keep %d of %d slots: %w", n, used, err))
		}
	}
	return c.release(n, used)
}

// Break makes the cache a broken one: for whoever changes several caches as one and fails half-way. Until Reset, errors wrap
// ErrBroken and because.
func (c *Cache) Break(because error) { c.broken = because }

// breaks notes that a device failed while slots were on the move, and returns the error.
func (c *Cache) breaks(err error) error {
	c.broken = fmt.Errorf("kvcache: %w", err)
	return c.broken
}

// usable refuses a broken cache.
func (c *Cache) usable() error {
	if c.broken == nil {
		return nil
	}
	return fmt.Errorf("%w: begin anew: %w", ErrBroken, c.broken)
}

// discarder is a buffer whose unused pages can go back to the system.
type discarder interface {
	Discard(off, n int) error
}

// release lets the memory of slots [lo, hi) go, where it can: they are not in use any more.
func (c *Cache) release(lo, hi int) error {
	slot := c.slotBytes()
	for _, t := range c.sides() {
		if b, ok := t.Buffer().(discarder); ok && lo < hi {
			if err := b.Discard(t.Offset()+lo*slot, (hi-lo)*slot); err != nil {
				return fmt.Errorf("kvcache: release slots %d to %d: %w", lo, hi, err)
			}
		}
	}
	return nil
}
