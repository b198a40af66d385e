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

// Least returns the shortest non-zero length to which the cache can go back by Truncate once it has seen some tokens and DropUnseen was
// called; 0 if it can go back to any. It depends on these tokens and earlier Truncates alone, and not on how the tokens were cut into
// steps. Reset begins anew in any case.
func (c *Cache) Least(seen int) int {
	if dropped := max(c.dropped, c.unseen(seen-1)); dropped > 0 {
		return dropped + c.slots.Window - 1
	}
	return 0
}

// unseen returns how many of the first slots, whole pages, no token sees after some tokens.
func (c *Cache) unseen(tokens int) int {
	if c.slots.Window == 0 {
		return 0
	}
	return max(tokens-c.slots.Window, 0) / backend.PageSlots * backend.PageSlots
}

// DropUnseen gives back the pages that the latest token does not see, nor any later one. Steps do so before they append, and a long step
// leaves more than a short one: after DropUnseen the cache is the same, however its tokens were cut into steps. What was appended last
// must be there to stay: the cache can still go back by one token, but not always to where a longer step began.
func (c *Cache) DropUnseen() error { return c.drop(c.unseen(c.seen - 1)) }

// drop gives back the pages of the first slots, whole pages, unless it has done so.
func (c *Cache) drop(slots int) error {
	pages := (slots - c.dropped) / backend.PageSlots
	if pages <= 0 {
		return nil
	}
	c.dropped = slots
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
	if c.dropped == 0 {
		return nil
	}
	if n, least := c.seen-gone, c.dropped+c.slots.Window-1; n < least {
		return fmt.Errorf("kvcache: go back to %d tokens: the cache has dropped %d, and with a window of %d can go back to %d", n, c.dropped, c.slots.Window, least)
	}
	return nil
}

// canHold tells whether a cache with a window that has seen so many tokens can have a number of slots.
func (c *Cache) canHold(slots, seen int) bool {
	dropped := seen - slots
	return dropped == 0 || dropped%backend.PageSlots == 0 && seen >= dropped+c.slots.Window-1
}
