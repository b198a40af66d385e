package kvcache

import (
	"errors"
	"fmt"
)

// Truncate forgets the latest Len-n slots of each head, and counts as many tokens as never seen: the next token gets the position of the
// first that was forgotten. A head that has fewer slots loses all. The attention that the forgotten queries gave to the slots that stay is
// taken back at its mean; see Received. A cache with a window can go back only as far as Least says.
func (c *Cache) Truncate(n int) error {
	used := c.Len()
	if n < 0 || n > used {
		return fmt.Errorf("kvcache: truncate to %d slots: 0 to %d are possible", n, used)
	}
	if err := c.canShorten(used - n); err != nil {
		return err
	}
	err := c.shorten(used - n)
	if err := c.record.truncate(c.seen); err != nil {
		return c.markBroken(fmt.Errorf("truncate to %d slots: %w", n, err))
	}
	return err
}

// Least returns the shortest non-zero length, in tokens, to which the cache can go back by Truncate once it has seen the first seen tokens
// and DropUnseen was called; 0 if it can go back to any. It depends on these tokens and on earlier Truncates, and not on how the tokens
// were cut into steps. Reset is possible in any case.
func (c *Cache) Least(seen int) int {
	return c.window.least(max(c.window.dropped, c.window.unseen(seen-1)))
}

// TakeBack undoes the latest step, which was computed as a whole or in part, and after which nothing else was done to the cache:
// the cache and its record become exactly what they were when Seen was seen. It does not need the device, which may be lost.
func (c *Cache) TakeBack(seen int) error {
	gone := c.seen - seen
	for head := range c.KVHeads() {
		if n := c.HeadLen(head); gone < 0 || gone > n {
			return fmt.Errorf("kvcache: take back to %d tokens: the cache has seen %d, and head %d has %d slots", seen, c.seen, head, n)
		}
	}
	if err := c.canShorten(gone); err != nil {
		return err
	}
	if !c.record.canTakeBack(seen) {
		return fmt.Errorf("kvcache: take back to %d tokens: the latest chunk does not begin there", seen)
	}
	err := c.shorten(gone)
	c.record.takeBack(seen)
	return err
}

// Reset forgets all slots and all tokens: the cache is as New made it, but keeps recording if it did. It makes a broken cache
// usable again.
func (c *Cache) Reset() error {
	err := c.shorten(c.Len())
	c.seen, c.window.dropped, c.shared, c.broken = 0, 0, false, nil
	if err := c.record.reset(); err != nil {
		return c.markBroken(fmt.Errorf("reset: %w", err))
	}
	return err
}

// canShorten returns an error if the cache has dropped slots that are seen once the latest gone tokens are forgotten.
func (c *Cache) canShorten(gone int) error {
	if n, least := c.seen-gone, c.window.least(c.window.dropped); n < least {
		return fmt.Errorf("kvcache: go back to %d tokens: the cache has dropped %d, and with a window of %d can go back to %d",
			n, c.window.dropped, c.window.size, least)
	}
	return nil
}

// shorten forgets the latest gone tokens: it takes as many slots off each head, or all.
func (c *Cache) shorten(gone int) error {
	var failed error
	for head := range c.KVHeads() {
		if err := c.trim(head, max(0, c.HeadLen(head)-gone)); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	c.seen -= gone
	return failed
}
