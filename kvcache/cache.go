// Package kvcache holds the keys and values of the tokens that a model has seen.
//
// A Store is the memory of a model's caches on one device, in pages, and a Cache holds the keys and values of one layer of one
// conversation: for each KV head a list of pages, of which the first HeadLen slots are in use. Slots are what a Cache shows: an eviction
// moves those that stay to the front and HeadLen shrinks, while the position that RoPE wrote into a key stays what it was. Which slots to
// give up is the business of package eviction; a Cache never sees a policy. For policies it can keep a record of which query attended to
// which slot (Tracking): the record has to be the cache's, because it is of use only as long as it moves with the slots.
//
// A cache with a window (Store.NewWindow), of a layer whose tokens see only so many positions, gives pages back that lie before it, by itself;
// it is never evicted from.
//
// A Batch is what a layer does for the caches of several conversations at once: Reserve makes room in each cache, Batch.Append rotates
// queries and keys and appends keys and values, and Batch.Attend lets the queries attend and has them recorded. Between steps Keep,
// PrunePrefix and Truncate give slots up, whose pages go back to the store. Clone shares all pages with the copy, and whoever writes
// to a shared page writes to a copy of it. WriteState copies everything, record included.
package kvcache

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

var (
	// ErrFull is wrapped by the error of a Reserve or Batch.Append of tokens for which the cache's capacity has no room.
	ErrFull = errors.New("the cache is full")
	// ErrBroken is wrapped by the errors of a cache whose device failed while slots were being moved, so that the slots no
	// longer hold what they should. Only Reset makes the cache usable again.
	ErrBroken = errors.New("the cache was broken by a failed move of its slots")
)

// Cache is one layer's keys and values. It is not safe for concurrent use, but caches that share pages are independent of each other.
//
// Between calls:
//   - 0 ≤ HeadLen ≤ capacity and HeadLen ≤ seen; HeadLen is seen-dropped for all heads as long as nothing was evicted.
//   - dropped is a multiple of backend.PageSlots, and 0 unless the cache has a window. Such a cache has no limit but that of what it drops,
//     no record, and is never shown to an eviction policy.
//   - Unless broken is set, the slots in use of each head hold tokens in the order of their positions, the latest tokens last. What the
//     slots behind them hold does not count.
//   - The cache has one reference to each page in its lists. If shared is not set, nobody else has one.
//   - record is nil, or has a position for each slot in use.
//   - hadamard is nil, or every key in use was turned by its matrix.
type Cache struct {
	*pages
	forgotten runtime.Cleanup // gives back pages of a cache that nobody refers to
	backend   backend.Backend
	capacity  int       // slots of a head, at most
	seen      int       // tokens so far, evicted ones included
	dropped   int       // of them those before the window, whose pages were given back
	shared    bool      // other caches may have some of the pages too
	tailOwned bool      // but not those in which each head's next slot lies, or there are none
	record    *record   // nil unless tracking
	hadamard  *hadamard // nil unless keys are turned
	broken    error     // why slots do not hold what they should, nil if they do
}

// pages are a cache's lists of pages. They are apart from the Cache so that pages of a cache that was forgotten can be given back.
type pages struct {
	store *Store
	slots backend.Slots
	freed bool
}

// free gives all pages back, once.
func (p *pages) free() error {
	if p.freed {
		return nil
	}
	p.freed = true
	errs := []error{p.store.release(p.slots.DType)}
	for head := range p.slots.Heads {
		h := &p.slots.Heads[head]
		errs = append(errs, p.store.give(p.slots.DType, h.Pages))
		h.Pages, h.Len = nil, 0
	}
	p.slots.Version++
	if d, ok := p.slots.Device.(interface{ Free() error }); ok {
		errs = append(errs, d.Free())
	}
	p.slots.Device = nil
	return errors.Join(errs...)
}

// Len returns the number of slots in use, of the head that has most.
func (c *Cache) Len() int { return c.slots.Len() }

// HeadLen returns the number of slots in use of a KV head.
func (c *Cache) HeadLen(head int) int { return c.slots.Heads[head].Len }

// Seen returns the number of tokens so far, evicted ones included: the position of the next token.
func (c *Cache) Seen() int { return c.seen }

// KVHeads returns the number of heads that keys and values have.
func (c *Cache) KVHeads() int { return len(c.slots.Heads) }

// HeadDim returns the number of elements of a head's key.
func (c *Cache) HeadDim() int { return c.slots.HeadDim }

// DType returns the type of keys and values.
func (c *Cache) DType() tensor.DType { return c.slots.DType }

// Cap returns the most slots that a head can have.
func (c *Cache) Cap() int { return c.capacity }

// Backend returns the device on which keys and values live, for policies that have arithmetic to do.
func (c *Cache) Backend() backend.Backend { return c.backend }

// MemoryUsage returns the bytes of the slots in use, keys and values of all heads together. Slots that are shared with other caches count
// in each; Store.Bytes counts them once.
func (c *Cache) MemoryUsage() int64 {
	return 2 * int64(c.total()) * int64(c.slots.SlotBytes())
}

// total returns the number of slots in use of all heads together.
func (c *Cache) total() (slots int) {
	for head := range c.slots.Heads {
		slots += c.HeadLen(head)
	}
	return slots
}

// Free gives up the pages and the memory of the record.
func (c *Cache) Free() error {
	c.forgotten.Stop()
	err := c.pages.free()
	if c.record != nil {
		err = errors.Join(err, c.record.free())
	}
	return err
}

// Reserve makes sure that there is room for so many further tokens of each head, and that nobody else sees them written: the error wraps
// ErrFull where the capacity is too small. What a Batch appends afterwards does not fail for want of memory.
func (c *Cache) Reserve(tokens int) error {
	if err := c.usable(); err != nil {
		return err
	}
	if tokens > 0 {
		if err := c.drop(c.unseen(c.seen)); err != nil { // a step that fails can still be taken back
			return err
		}
	}
	if n := c.Len(); tokens > c.capacity-n && c.slots.Window == 0 {
		return fmt.Errorf("kvcache: %d tokens after %d of %d slots: %w", tokens, n, c.capacity, ErrFull)
	}
	if c.shared && !c.tailOwned {
		for head := range c.slots.Heads {
			if n := c.HeadLen(head); n < len(c.slots.Heads[head].Pages)*backend.PageSlots {
				if err := c.own(head, n, len(c.slots.Heads[head].Pages)*backend.PageSlots); err != nil {
					return fmt.Errorf("kvcache: room for %d tokens after %d slots: %w", tokens, c.Len(), err)
				}
			}
		}
		c.tailOwned = true
	}
	for head := range c.slots.Heads {
		if err := c.extend(head, c.HeadLen(head)+tokens); err != nil {
			return fmt.Errorf("kvcache: room for %d tokens after %d slots: %w", tokens, c.Len(), err)
		}
	}
	return nil
}

// extend makes sure that a head has pages for so many slots.
func (c *Cache) extend(head, slots int) (err error) {
	h := &c.slots.Heads[head]
	if n := pagesFor(slots) - len(h.Pages); n > 0 {
		h.Pages, err = c.store.take(c.slots.DType, h.Pages, n)
		c.slots.Version++
	}
	return err
}

// pagesFor returns the number of pages that slots take.
func pagesFor(slots int) int { return (slots + backend.PageSlots - 1) / backend.PageSlots }

// own makes the pages of a head's slots [lo, hi) the cache's own, so that it can write there: it replaces those that other caches have too
// by copies.
func (c *Cache) own(head, lo, hi int) error {
	if !c.shared || lo >= hi {
		return nil
	}
	list := c.slots.Heads[head].Pages
	for i := lo / backend.PageSlots; i <= (hi-1)/backend.PageSlots; i++ {
		old := list[i]
		if !c.store.shared(c.slots.DType, old) {
			continue
		}
		fresh, err := c.store.take(c.slots.DType, nil, 1)
		if err != nil {
			return err
		}
		if err := c.backend.CopyPage(old, fresh[0]); err != nil {
			return errors.Join(err, c.store.give(c.slots.DType, fresh))
		}
		list[i] = fresh[0]
		c.slots.Version++
		if err := c.store.give(c.slots.DType, []backend.Page{old}); err != nil {
			return err
		}
	}
	return nil
}

// trim sets the number of slots in use of a head and gives back the pages behind them.
func (c *Cache) trim(head, n int) error {
	h := &c.slots.Heads[head]
	h.Len = n
	keep := pagesFor(n)
	c.tailOwned = false
	if keep >= len(h.Pages) {
		return nil
	}
	gone := h.Pages[keep:]
	h.Pages = h.Pages[:keep]
	c.slots.Version++
	if err := c.store.give(c.slots.DType, gone); err != nil {
		return fmt.Errorf("kvcache: give %d pages of head %d back: %w", len(gone), head, err)
	}
	clear(gone)
	return nil
}
