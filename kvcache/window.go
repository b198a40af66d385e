package kvcache

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// NewWindow makes an empty cache for a layer in which a token sees so many positions, its own included. The cache gives pages back that lie
// before the window, and so takes memory for little more than the window and a step, however many tokens it sees. It must not be given to
// an eviction policy, nor made to track.
func (s *Store) NewWindow(d tensor.DType, window int) (*Cache, error) {
	if window < 1 {
		return nil, fmt.Errorf("kvcache: a cache with a window of %d: it must be positive", window)
	}
	c, err := s.New(d, window)
	if err == nil {
		c.slots.Window = window
	}
	return c, err
}

// Window returns how many positions a token sees, its own included; 0: all.
func (c *Cache) Window() int { return c.slots.Window }

// Least returns the fewest tokens to which the cache can go back by Truncate or TakeBack. Reset begins anew in any case.
func (c *Cache) Least() int {
	if c.dropped == 0 {
		return 0
	}
	return c.dropped + c.slots.Window - 1
}

// drop gives back the pages that no later token sees, nor the latest one, to which the cache can go back: it is called before tokens are
// appended.
func (c *Cache) drop(tokens int) error {
	if c.slots.Window == 0 || tokens == 0 {
		return nil
	}
	pages := max(c.seen-c.slots.Window-c.dropped, 0) / backend.PageSlots
	if pages == 0 {
		return nil
	}
	c.dropped += pages * backend.PageSlots
	c.slots.Version++
	for head := range c.slots.Heads {
		h := &c.slots.Heads[head]
		if err := c.store.give(c.slots.DType, h.Pages[:pages]); err != nil {
			return c.markBroken(fmt.Errorf("give %d pages of head %d back: %w", pages, head, err))
		}
		left := copy(h.Pages, h.Pages[pages:])
		clear(h.Pages[left:])
		h.Pages, h.Len = h.Pages[:left], h.Len-pages*backend.PageSlots
	}
	return nil
}

// canShorten returns an error if the cache has dropped slots that are seen after so many tokens.
func (c *Cache) canShorten(gone int) error {
	if n := c.seen - gone; n < c.Least() {
		return fmt.Errorf("kvcache: go back to %d tokens: the cache has dropped %d, and with a window of %d can go back to %d", n, c.dropped, c.slots.Window, c.Least())
	}
	return nil
}

// canHold tells whether a cache with a window that has seen so many tokens can have a number of slots.
func (c *Cache) canHold(slots, seen int) bool {
	dropped := seen - slots
	return dropped == 0 || dropped%backend.PageSlots == 0 && seen >= dropped+c.slots.Window-1
}
