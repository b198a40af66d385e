package kvcache

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/antigravity-go/antigravity/backend"
)

var (
	// ErrFull is wrapped by the error of a Reserve or Batch.Append of tokens for which the cache's capacity has no room.
	ErrFull = errors.New("the cache is full")
	// ErrBroken is wrapped by the errors of a cache after its device failed while it moved slots: the slots may hold the wrong tokens. Only
	// Truncate(0) makes the cache usable again.
	ErrBroken = errors.New("the cache was broken by a failed move of its slots")
)

// Cache is one layer's keys and values of one conversation. The slots in use of each head hold tokens in the order of their positions, the
// latest tokens last. A cache with a window drops its oldest tokens by itself and is never shown to an eviction policy. A Cache is not safe
// for concurrent use, but caches that share pages are independent of each other.
type Cache struct {
	// Invariants between calls: 0 ≤ HeadLen ≤ capacity and HeadLen ≤ seen; HeadLen is seen-window.dropped for all heads as long as nothing
	// was evicted. A cache with a window has no record, and no limit but the tokens that it drops. If record is on, it has a position for each
	// slot in use.

	*pages                    // the slots: Len, Each and others are methods of it
	record                    // what policies see of the past: Positions, Received and others are methods of it
	window    window          // which tokens it may give up by itself
	capacity  int             // slots of a head, at most
	seen      int             // tokens so far, evicted ones included
	broken    error           // why slots do not hold what they should, nil if they do
	forgotten runtime.Cleanup // gives back pages of a cache that nobody refers to
}

// newCache makes a cache with pages. When it is forgotten without Free, they are given back at a later garbage collection.
func newCache(p *pages, capacity int) *Cache {
	c := &Cache{pages: p, record: record{pages: p}, capacity: capacity, window: window{size: p.slots.Window}}
	c.forgotten = runtime.AddCleanup(c, func(p *pages) { p.free() }, p)
	return c
}

// Clone returns a copy, of the same store. Both share the pages of all slots in use, until one of them writes to a page: then that one writes
// to a copy of the page.
func (c *Cache) Clone() (*Cache, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	n := newCache(c.pages.clone(), c.capacity)
	n.seen, n.window = c.seen, c.window
	if err := n.record.copyFrom(&c.record, c.capacity); err != nil {
		n.Free()
		return nil, fmt.Errorf("kvcache: clone the record of %d slots: %w", c.Len(), err)
	}
	return n, nil
}

// Free gives up the pages and the memory of the record.
func (c *Cache) Free() error {
	c.forgotten.Stop()
	return errors.Join(c.pages.free(), c.record.free())
}

// Seen returns the number of tokens so far, evicted ones included: the position of the next token.
func (c *Cache) Seen() int { return c.seen }

// Cap returns the most slots that a head can have.
func (c *Cache) Cap() int { return c.capacity }

// Window returns how many positions a token sees, its own included; 0: all.
func (c *Cache) Window() int { return c.window.size }

// Kind returns Layer.Kind of the layer that the cache was made for.
func (c *Cache) Kind() int { return c.pool.kind }

// Track makes the empty cache record from now on. heads is the number of query heads, and rotation the model's, which may be nil
// when there are no anchors and no policy asks for Rotation.
func (c *Cache) Track(t Tracking, heads int, rotation Rotation) error {
	switch {
	case c.Len() > 0:
		return fmt.Errorf("kvcache: tracking begins with an empty cache: this one has %d slots in use", c.Len())
	case c.window.size > 0:
		return fmt.Errorf("kvcache: track a cache with a window of %d: no policy sees it", c.window.size)
	case c.record.on():
		return fmt.Errorf("kvcache: tracking has begun already, with %+v", c.record.tracking)
	case t.Queries < 0 || t.Anchors < 0 || t.Queries > c.capacity || t.Anchors > c.capacity:
		return fmt.Errorf("kvcache: track %d queries and %d anchors: both must be 0 to %d, the capacity", t.Queries, t.Anchors, c.capacity)
	}
	if err := c.record.start(c.capacity, t, heads, rotation); err != nil {
		return fmt.Errorf("kvcache: a record of %+v: %w", t, err)
	}
	return nil
}

// Reserve makes sure that each head has room for further tokens, and that nobody else sees them written. The error wraps ErrFull if the
// capacity is too small. What a Batch appends afterwards does not fail for want of memory.
func (c *Cache) Reserve(tokens int) error {
	if err := c.usable(); err != nil {
		return err
	}
	if tokens > 0 {
		if err := c.drop(c.window.unseen(c.seen)); err != nil { // a step that fails can still be taken back
			return err
		}
	}
	n := c.Len()
	if tokens > c.capacity-n && c.window.size == 0 {
		return fmt.Errorf("kvcache: %d tokens after %d of %d slots: %w", tokens, n, c.capacity, ErrFull)
	}
	if err := c.pages.reserve(tokens); err != nil {
		return fmt.Errorf("kvcache: room for %d tokens after %d slots: %w", tokens, n, err)
	}
	return nil
}

// DropUnseen gives back the pages that the latest token does not see, nor any later one. Steps do so before they append, and a long step
// leaves more than a short one: after DropUnseen the cache is the same, however its tokens were cut into steps. Afterwards the cache can
// still go back by one token, but not always to the beginning of a longer step.
func (c *Cache) DropUnseen() error { return c.drop(c.window.unseen(c.seen - 1)) }

// drop gives the pages of the first slots, whole pages, back, unless it has done so.
func (c *Cache) drop(slots int) error {
	pages := (slots - c.window.dropped) / backend.PageSlots
	if pages <= 0 {
		return nil
	}
	c.window.dropped = slots
	if err := c.pages.dropFirst(pages); err != nil {
		return c.markBroken(err)
	}
	return nil
}

// Break makes the cache a broken one. It is for a caller that changes the caches of several layers together and fails half-way:
// until Truncate(0), errors wrap ErrBroken and because.
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
