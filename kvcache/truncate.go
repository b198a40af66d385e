package kvcache

import (
	"errors"
	"fmt"
)

// Truncate forgets the tokens after the first seen: the next token gets position seen. Each head loses a slot for each forgotten token, and a
// head that has fewer slots loses all. Unless all tokens are forgotten, at most Len are, and a cache with a window can go back only as far as
// Least says. The attention that the forgotten queries gave to the slots that stay is taken back at its mean; see
// Received.
//
// Truncate(0) is possible in any case. It makes the cache what it was before the first token, and a broken cache usable again.
func (c *Cache) Truncate(seen int) error {
	gone := c.seen - seen
	switch {
	case gone == 0 && c.broken == nil:
		return nil
	case seen == 0:
		return c.reset()
	case gone < 0 || gone > c.Len():
		return fmt.Errorf("kvcache: truncate to %d tokens: 0, or %d to %d, are possible", seen, c.seen-c.Len(), c.seen)
	}
	if err := c.canShorten(gone); err != nil {
		return err
	}
	err := c.shorten(gone)
	if err := c.record.truncate(seen); err != nil {
		return c.markBroken(fmt.Errorf("truncate to %d slots: %w", c.Len(), err))
	}
	return err
}

// Least returns the smallest non-zero number of tokens to which Truncate can go back after the first seen tokens and DropUnseen; 0 if it can
// go back to any number. Least depends on seen and on earlier Truncates, and not on how the tokens were cut into steps.
func (c *Cache) Least(seen int) int {
	return c.window.least(max(c.window.dropped, c.window.unseen(seen-1)))
}

// TakeBack undoes the latest step, which was computed as a whole or in part, and after which nothing else was done to the cache:
// the cache and its record become exactly what they were after the first seen tokens. TakeBack does not need the device, which may be lost.
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

// reset is Truncate to 0 tokens.
func (c *Cache) reset() error {
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
