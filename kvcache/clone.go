package kvcache

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
)

// Clone returns a copy, of the same store, which shares the pages of all slots in use: who writes to one of them first, the cache or
// its copy, makes a copy of that page.
func (c *Cache) Clone() (*Cache, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	total := 0
	for head := range c.slots.Heads {
		total += pagesFor(c.HeadLen(head))
	}
	list, heads := make([]backend.Page, 0, total), make([]backend.HeadSlots, c.KVHeads())
	for head := range heads {
		h := &c.slots.Heads[head]
		first := len(list)
		list = append(list, h.Pages[:pagesFor(h.Len)]...)
		heads[head] = backend.HeadSlots{Pages: list[first:len(list):len(list)], Len: h.Len}
	}
	c.store.mu.Lock()
	c.store.pools[c.slots.DType].share(list)
	n := c.store.newCache(c.slots.DType, c.capacity, heads)
	c.store.mu.Unlock()
	n.seen, n.dropped, n.slots.Window, n.hadamard = c.seen, c.dropped, c.slots.Window, c.hadamard
	n.shared, c.shared, c.tailOwned = true, true, false
	if r := c.record; r != nil {
		var err error
		if n.record, err = newRecord(n, r.Tracking, r.heads, r.rotation); err == nil {
			err = n.record.copyFrom(r)
		}
		if err != nil {
			n.Free()
			return nil, fmt.Errorf("kvcache: clone the record of %d slots: %w", c.Len(), err)
		}
	}
	return n, nil
}
