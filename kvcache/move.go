package kvcache

import (
	"errors"
	"fmt"
)

// Truncate forgets the latest Len-n slots of each head, and counts as many tokens as never seen: the next token gets the position of the
// first that was forgotten. A head that has fewer slots loses all. The attention that the forgotten queries gave to the slots that stay is
// taken back at its mean; see Received.
func (c *Cache) Truncate(n int) error {
	used := c.Len()
	if n < 0 || n > used {
		return fmt.Errorf("kvcache: truncate to %d slots: 0 to %d are possible", n, used)
	}
	if err := c.canShorten(used - n); err != nil {
		return err
	}
	err := c.shorten(used - n)
	if c.record != nil {
		if err := c.record.truncate(c.seen); err != nil {
			return c.markBroken(fmt.Errorf("truncate to %d slots: %w", n, err))
		}
	}
	return err
}

// TakeBack undoes the latest chunk, which was computed as a whole or in part, and after which nothing else was done to the cache:
// the cache and its record become exactly what they were when Seen was the given number. It does not need the device, which may
// be lost.
func (c *Cache) TakeBack(seen int) error {
	gone := c.seen - seen
	for head := range c.slots.Heads {
		if n := c.HeadLen(head); gone < 0 || gone > n {
			return fmt.Errorf("kvcache: take back to %d tokens: the cache has seen %d, and head %d has %d slots", seen, c.seen, head, n)
		}
	}
	if err := c.canShorten(gone); err != nil {
		return err
	}
	if c.record != nil && !c.record.canTakeBack(seen) {
		return fmt.Errorf("kvcache: take back to %d tokens: the latest chunk does not begin there", seen)
	}
	err := c.shorten(gone)
	if c.record != nil {
		c.record.takeBack(seen)
	}
	return err
}

// shorten takes the latest slots off each head, as many as are said, and their tokens off those seen.
func (c *Cache) shorten(gone int) error {
	var errs []error
	for head := range c.slots.Heads {
		errs = append(errs, c.trim(head, max(0, c.HeadLen(head)-gone)))
	}
	c.seen -= gone
	return errors.Join(errs...)
}

// Reset forgets all slots and all tokens: the cache is as New made it, but keeps recording if it did. It makes a broken cache
// usable again.
func (c *Cache) Reset() error {
	err := c.shorten(c.Len())
	c.seen, c.dropped, c.shared, c.broken = 0, 0, false, nil
	if c.record != nil {
		if err := c.record.reset(); err != nil {
			return c.markBroken(fmt.Errorf("reset: %w", err))
		}
	}
	return err
}

// PrunePrefix forgets the first n slots of each head and moves the others to the front. A head that has fewer slots loses all.
func (c *Cache) PrunePrefix(n int) error {
	if err := c.usable(); err != nil {
		return err
	}
	if used := c.Len(); n < 0 || n > used {
		return fmt.Errorf("kvcache: prune the first %d slots: 0 to %d are possible", n, used)
	}
	slots := make([][]int, c.KVHeads())
	for head := range slots {
		for slot := n; slot < c.HeadLen(head); slot++ {
			slots[head] = append(slots[head], slot)
		}
	}
	return c.Keep(slots)
}

// Keep forgets all slots but those listed, in strictly ascending order, and moves them to the front: slots is one list for all KV
// heads, or a list for each KV head; without any list all slots stay. After lists that differ heads may have different numbers of slots,
// and a slot holds the keys of different tokens for different heads. Attention stays right, because each key carries its own position:
// RoPE was applied when it was written.
func (c *Cache) Keep(slots [][]int) error {
	if err := c.usable(); err != nil {
		return err
	}
	if len(slots) == 0 {
		return nil
	}
	if c.slots.Window > 0 {
		return fmt.Errorf("kvcache: keep slots of a cache with a window of %d, which keeps its window", c.slots.Window)
	}
	keep, err := c.lists(slots)
	if err != nil {
		return err
	}
	if err := c.ownChanged(keep); err != nil {
		return fmt.Errorf("kvcache: keep slots: %w", err)
	}
	if err := c.backend.Compact(&c.slots, keep); err != nil {
		return c.markBroken(fmt.Errorf("keep some of %d slots: %w", c.Len(), err))
	}
	var errs []error
	same := true
	for head, list := range keep {
		same = same && len(list) == c.HeadLen(head)
		errs = append(errs, c.trim(head, len(list)))
	}
	if c.record != nil && !same {
		if err := c.record.keep(keep); err != nil {
			return c.markBroken(fmt.Errorf("keep %d slots: %w", c.Len(), err))
		}
	}
	return errors.Join(errs...)
}

// lists returns what Keep is given as a list for each head, and an error if that is not what Keep takes.
func (c *Cache) lists(slots [][]int) ([][]int32, error) {
	if len(slots) > 1 && len(slots) != c.KVHeads() {
		return nil, fmt.Errorf("kvcache: keep slots of %d heads: give 1 list for all heads, or 1 for each of the %d KV heads", len(slots), c.KVHeads())
	}
	keep := make([][]int32, c.KVHeads())
	for head := range keep {
		list := slots[head%len(slots)]
		if err := ascending(list, c.HeadLen(head)); err != nil {
			return nil, fmt.Errorf("kvcache: head %d: %w", head, err)
		}
		if head > 0 && len(slots) == 1 {
			keep[head] = keep[0]
			continue
		}
		keep[head] = make([]int32, len(list))
		for i, slot := range list {
			keep[head][i] = int32(slot)
		}
	}
	return keep, nil
}

// ownChanged makes the pages of slots that do not stay what they are the cache's own.
func (c *Cache) ownChanged(keep [][]int32) error {
	for head, list := range keep {
		same := 0 // slots at the front that stay
		for same < len(list) && int(list[same]) == same {
			same++
		}
		if err := c.own(head, same, len(list)); err != nil {
			return err
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
