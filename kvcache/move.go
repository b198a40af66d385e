package kvcache

import "fmt"

// Truncate forgets all but the first n slots, and counts their tokens as never seen: the next token gets the position of the
// first that was forgotten. The attention that the forgotten queries gave to the slots that stay is taken back at its mean; see
// Received.
func (c *Cache) Truncate(n int) error {
	if n < 0 || n > c.len {
		return fmt.Errorf("kvcache: truncate to %d slots: 0 to %d are possible", n, c.len)
	}
	used := c.len
	c.len, c.seen = n, c.seen-(used-n)
	if c.record != nil {
		if err := c.record.truncate(n, c.seen); err != nil {
			return c.markBroken(fmt.Errorf("truncate to %d slots: %w", n, err))
		}
	}
	return c.release(n, used)
}

// TakeBack undoes the latest chunk, which was computed as a whole or in part, and after which nothing else was done to the cache:
// the cache and its record become exactly what they were when Seen was the given number. It does not need the device, which may
// be lost.
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

// Reset forgets all slots and all tokens: the cache is as New made it, but keeps recording if it did. It makes a broken cache
// usable again.
func (c *Cache) Reset() error {
	used := c.len
	c.len, c.seen, c.broken = 0, 0, nil
	if c.record != nil {
		if err := c.record.reset(); err != nil {
			return c.markBroken(fmt.Errorf("reset: %w", err))
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

// Keep forgets all slots but those listed, in strictly ascending order, and moves them to the front: slots is one list for all KV
// heads, or a list for each KV head, all of one length; without any list all slots stay. After lists that differ a slot holds the
// keys of different tokens for different heads. Attention stays right, because each key carries its own position: RoPE was applied
// when it was written.
func (c *Cache) Keep(slots [][]int) error {
	if err := c.usable(); err != nil {
		return err
	}
	if err := c.checkKeep(slots); err != nil || len(slots) == 0 {
		return err
	}
	move := c.moveTokens
	if len(slots) > 1 {
		move = c.moveHeads
	}
	if err := move(slots); err != nil {
		return err
	}
	return c.kept(len(slots[0]), func(head, i int) int { return slots[head%len(slots)][i] })
}

// checkKeep returns an error if lists of slots are not what Keep takes.
func (c *Cache) checkKeep(slots [][]int) error {
	if len(slots) > 1 && len(slots) != c.KVHeads() {
		return fmt.Errorf("kvcache: keep slots of %d heads: give 1 list for all heads, or 1 for each of the %d KV heads", len(slots), c.KVHeads())
	}
	for head, list := range slots {
		if len(list) != len(slots[0]) {
			return fmt.Errorf("kvcache: keep %d slots of head 0 and %d of head %d: all heads must keep the same number", len(slots[0]), len(list), head)
		}
		if err := ascending(list, c.len); err != nil {
			return fmt.Errorf("kvcache: head %d: %w", head, err)
		}
	}
	return nil
}

// moveTokens moves the slots of one list to the front, for all heads.
func (c *Cache) moveTokens(lists [][]int) error {
	slots := lists[0]
	for lo := 0; lo < len(slots); { // runs of neighbouring slots are moved by one copy
		hi := lo + 1
		for hi < len(slots) && slots[hi] == slots[hi-1]+1 {
			hi++
		}
		if err := c.move(slots[lo], lo, hi-lo); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// moveHeads moves the slots of each head's list to the front, for that head.
func (c *Cache) moveHeads(lists [][]int) error {
	var flat []int32 // [kvHeads·n]
	for _, list := range lists {
		for _, slot := range list {
			flat = append(flat, int32(slot))
		}
	}
	for _, t := range c.sides() {
		if err := c.backend.Compact(t, flat); err != nil {
			return c.markBroken(fmt.Errorf("keep %d of %d slots: %w", len(lists[0]), c.len, err))
		}
	}
	return nil
}

// ascending checks that slots are strictly ascending and each at least 0 and below n.
func ascending(slots []int, n int) error {
	for i, slot := range slots {
		if slot < 0 || slot >= n || (i > 0 && slot <= slots[i-1]) {
			return fmt.Errorf("keep slot %d of %d: slots must be in range and ascending", slot, n)
		}
	}
	return nil
}

// move copies n slots, keys and values, from slot from on to slot to on. The two ranges may overlap.
func (c *Cache) move(from, to, n int) error {
	if from == to || n == 0 {
		return nil
	}
	row := c.KVHeads() * c.HeadDim()
	for _, t := range c.sides() {
		if err := c.backend.CopySlice(t, t, from*row, to*row, n*row); err != nil {
			return c.markBroken(fmt.Errorf("move %d slots from %d to %d: %w", n, from, to, err))
		}
	}
	return nil
}

// kept makes everything else agree after n slots of keys and values were moved to the front: slot i of a head is now what slot
// from(head, i) was. It sets Len, moves the record likewise, and releases the memory of the slots behind.
func (c *Cache) kept(n int, from func(head, i int) int) error {
	used := c.len
	if n == used {
		return nil
	}
	c.len = n
	if c.record != nil {
		if err := c.record.keep(n, from); err != nil {
			return c.markBroken(fmt.Errorf("keep %d of %d slots: %w", n, used, err))
		}
	}
	return c.release(n, used)
}

// Break makes the cache a broken one. It is for a caller that changes the caches of several layers together and fails half-way:
// until Reset, errors wrap ErrBroken and because.
func (c *Cache) Break(because error) { c.broken = because }

// markBroken notes that a device failed while slots were being moved, and returns the error.
func (c *Cache) markBroken(err error) error {
	c.broken = fmt.Errorf("kvcache: %w", err)
	return c.broken
}

// usable returns an error that wraps ErrBroken if the cache is broken.
func (c *Cache) usable() error {
	if c.broken == nil {
		return nil
	}
	return fmt.Errorf("%w: begin anew: %w", ErrBroken, c.broken)
}

// discarder is a buffer that can give the memory pages of a part back to the system, as tensor.SharedBuffer does.
type discarder interface {
	Discard(off, n int) error
}

// release gives the memory of slots [lo, hi), which are no longer in use, back to the system where the buffer can do that.
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
