package constrain

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// cache remembers the constraints that were used last. It is safe for concurrent use.
//
// Invariant: order holds an entry for each key of found, the one that was used last in front.
type cache struct {
	most  int // bytes of all constraints together but the one that was used last
	mu    sync.Mutex
	found map[[sha256.Size]byte]*list.Element
	order list.List
}

// entry is a constraint and its key.
type entry struct {
	key        [sha256.Size]byte
	constraint *constraint
}

// A cache holds up to maxEntries constraints; usually they take no more than maxBytes. Constraints grow as they are used: they are measured
// again whenever one has grown by growth bytes.
const (
	maxEntries = 256
	maxBytes   = 128 << 20
	growth     = 1 << 20
)

// get returns the constraint with a key, or nil.
func (c *cache) get(key [sha256.Size]byte) *constraint {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.found[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(entry).constraint
}

// put adds a constraint.
func (c *cache) put(key [sha256.Size]byte, made *constraint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = map[[sha256.Size]byte]*list.Element{}
	}
	if e := c.found[key]; e != nil {
		c.order.Remove(e)
	}
	c.found[key] = c.order.PushFront(entry{key, made})
	c.trim()
}

// grown notes that a constraint may have grown, in the cache or no longer.
func (c *cache) grown(one *constraint) {
	now, before := int64(one.language.Bytes()), one.measured.Load()
	if now < before+growth || !one.measured.CompareAndSwap(before, now) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim()
}

// trim drops the least recently used constraints if there are too many, or they are too large. The caller holds mu.
func (c *cache) trim() {
	bytes := 0
	for e := c.order.Front(); e != nil; {
		next := e.Next()
		bytes += e.Value.(entry).constraint.language.Bytes()
		if e != c.order.Front() && (c.order.Len() > maxEntries || bytes > c.most) {
			delete(c.found, e.Value.(entry).key)
			c.order.Remove(e)
		}
		e = next
	}
}

// bytes returns about how much memory the constraints take.
func (c *cache) bytes() (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Front(); e != nil; e = e.Next() {
		n += int64(e.Value.(entry).constraint.language.Bytes())
	}
	return n
}
