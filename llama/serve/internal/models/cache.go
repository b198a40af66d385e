package models

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve/internal/queue"
)

// cache keeps resources within a budget of memory. It loads a resource when acquire asks for it, and closes resources that are not in use.
// The resources are models; the cache does not know that.
//
// A request for a resource that is loaded is served at once, unless the resource is leaving (see below). Other resources are loaded in the
// order of their first requests. If the budget has no room for the next resource, resources that are not in use are closed, the least
// recently used first. If that does not free enough, resources in use are marked as leaving until enough memory will be free. A request
// for a leaving resource waits until the resource has been closed and loaded again, so no stream of requests keeps it loaded for ever.
// Resources that are requested later wait until the next one is loaded, so nothing takes its room.
//
// Example: the budget is 10 GB, A (6 GB) and B (3 GB) are loaded, and only A is in use.
//
//	acquire(C), of 5 GB   B is closed, which frees too little; A is leaving
//	acquire(A)            waits, since A is leaving
//	release(A)            nobody uses A any more: A is closed, and then C is loaded
//	C is loaded           acquire(C) returns; A needs 6 GB, and C is leaving
//	release(C)            C is closed, A is loaded, and acquire(A) returns
//
// The methods are safe for concurrent use. Resources are loaded and closed on goroutines of their own, without the lock.
type cache struct {
	budget int64 // bytes; 0: no bound
	log    *slog.Logger
	slots  []*slot // never changes

	// Invariants while mu is free: no waiter waits for a resource that is loaded and not leaving; a resource is leaving only while another one
	// is to be loaded; nothing waits once closed is true.
	mu      sync.Mutex
	closed  bool
	clock   uint64        // the last value of waiter.arrived or slot.lastUsed
	changed chan struct{} // closed after the next change; nil if await does not run
	errs    []error       // of resources that were closed after drain
}

// resource is what a cache keeps.
type resource interface {
	bytes() int64 // the memory that the resource takes now
	close() error
}

// slot is a resource's place in the cache, whether the resource is loaded or not.
type slot struct {
	name       string
	load       func(ctx context.Context) (resource, error) // nil: the resource was loaded before the cache was made, and only closeAll closes it
	maxWaiters int                                         // 0: no bound

	// The following fields are protected by cache.mu.

	state    state
	resource resource // nil if it is not loaded
	leases   int      // acquired and not yet released
	lastUsed uint64
	leaving  bool          // it is loaded and in use, and acquire waits
	unwanted bool          // it is loaded, and to be closed as soon as it is not in use
	waiters  list.List     // of *waiter, in the order of arrival
	size     int64         // the memory that loading it takes: the caller's estimate, then what the last load took
	loadTime time.Duration // how long the last load took
	charged  int64         // bytes that count against the budget now
	cancel   func()        // ends the load; nil if nothing is being loaded, and after it was called
}

// state is a stage in the life of a slot's resource.
type state uint8

const (
	absent  state = iota // not in memory; to be loaded if something waits for it
	loading              // a goroutine loads it
	loaded               // there
	closing              // a goroutine closes it
)

// waiter is a call of acquire that waits for a resource.
type waiter struct {
	arrived  uint64
	done     chan struct{} // closed when the wait is over: resource or err is set
	resource resource      // with it
	err      error         // or with this
}

// newCache makes a cache of slots. It fails if the resources that are never closed take more than the budget.
func newCache(budget int64, slots []*slot, log *slog.Logger) (*cache, error) {
	c := &cache{budget: budget, slots: slots, log: log}
	for _, t := range slots {
		if t.load == nil {
			t.state, t.charged = loaded, t.resource.bytes()
		}
	}
	if fixed := c.fixedBytes(); budget > 0 && fixed > budget {
		return nil, fmt.Errorf("the models that are never given back take %d bytes, more than the budget of %d", fixed, budget)
	}
	return c, nil
}

// fixedBytes returns the bytes of resources that are never closed, as newCache found them: how much they grow later does not count, since
// nothing could be done about it.
func (c *cache) fixedBytes() (bytes int64) {
	for _, t := range c.slots {
		if t.load == nil {
			bytes += t.charged
		}
	}
	return bytes
}

// acquire returns a slot's resource, once it is loaded. The resource is not closed until release is called. The error is the context's cause
// if the context ends first, the error of a load that failed, a *queue.FullError if too many callers wait for the resource already, a
// *TooLargeError if the budget has no room for it, or ErrClosed.
func (c *cache) acquire(ctx context.Context, t *slot) (resource, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	if n := t.waiters.Len(); t.maxWaiters > 0 && n >= t.maxWaiters {
		after := min(t.loadTime.Truncate(time.Second)+time.Second, time.Minute)
		c.mu.Unlock()
		return nil, &queue.FullError{Waiting: n, RetryAfter: after}
	}
	c.clock++
	a := &waiter{arrived: c.clock, done: make(chan struct{})}
	position := t.waiters.PushBack(a)
	c.update()
	c.mu.Unlock()
	select {
	case <-a.done:
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		return a.resource, a.err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case a.resource != nil:
		t.leases--
	case a.err == nil:
		t.waiters.Remove(position)
	}
	c.update()
	return nil, context.Cause(ctx)
}

// release ends one use of a slot's resource. It is called once for each acquire that succeeded.
func (c *cache) release(t *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.leases--
	c.clock++
	t.lastUsed = c.clock
	c.update()
}

// unload closes a slot's resource as soon as it is neither in use nor waited for. It does not wait for that.
func (c *cache) unload(t *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.unwanted = t.load != nil && t.state == loaded
	c.update()
}

// closeUnwanted closes what unload was called for.
func (c *cache) closeUnwanted() {
	for _, t := range c.slots {
		if t.unwanted && t.state == loaded && t.leases == 0 && t.waiters.Len() == 0 && !c.closed {
			c.startClose(t)
		}
	}
}

// peek returns a slot's resource, nil if it is not loaded, how often it is in use, and what loading it takes.
func (c *cache) peek(t *slot) (resource resource, leases int, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t.resource, t.leases, t.size
}

// update does whatever is to be done after a change: it serves waiters, and starts, cancels and closes what the budget demands. mu is held.
func (c *cache) update() {
	if c.budget > 0 {
		for _, t := range c.slots {
			if t.state == loaded && t.load != nil {
				t.charged = t.resource.bytes()
			}
		}
	}
	c.serveWaiters()
	for c.loadNext() {
	}
	c.serveWaiters() // loadNext may have ended that a resource is leaving
	for _, t := range c.slots {
		if t.state == loading && t.waiters.Len() == 0 && t.cancel != nil {
			t.cancel()
			t.cancel = nil
		}
	}
	c.closeUnwanted()
	c.trim()
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// serveWaiters gives loaded resources to their waiters.
func (c *cache) serveWaiters() {
	for _, t := range c.slots {
		if t.state != loaded || t.leaving {
			continue
		}
		for t.waiters.Len() > 0 {
			a := t.waiters.Remove(t.waiters.Front()).(*waiter)
			a.resource = t.resource
			t.leases++
			c.clock++
			t.lastUsed = c.clock
			close(a.done)
		}
	}
}

// failWaiters returns an error to all waiters of a slot.
func (t *slot) failWaiters(err error) {
	for t.waiters.Len() > 0 {
		a := t.waiters.Remove(t.waiters.Front()).(*waiter)
		a.err = err
		close(a.done)
	}
}

// nextToLoad returns the slot that is to be loaded next: the absent one with the earliest waiter, or nil if nobody waits.
func (c *cache) nextToLoad() (first *slot) {
	var earliest uint64
	for _, t := range c.slots {
		if t.state != absent || t.waiters.Len() == 0 {
			continue
		}
		if arrived := t.waiters.Front().Value.(*waiter).arrived; first == nil || arrived < earliest {
			first, earliest = t, arrived
		}
	}
	return first
}

// loadNext starts to load the slot that nextToLoad returns, or makes room for it. It reports whether it is to be called again, since there
// may be room for one more.
func (c *cache) loadNext() bool {
	t := c.nextToLoad()
	over := int64(0) // bytes by which the budget would be exceeded once all loads and closes have ended
	if t != nil && c.budget > 0 {
		if fixed := c.fixedBytes(); t.size > c.budget-fixed {
			t.failWaiters(&TooLargeError{t.name, t.size, c.budget, fixed})
			return true
		}
		over = c.closeIdle(c.excess() + t.size)
	}
	inUse := c.victims(true)
	for _, v := range c.slots {
		v.leaving = false
	}
	for _, v := range inUse {
		v.leaving = over > 0
		over -= v.charged
	}
	if t == nil || c.budget > 0 && c.chargedBytes()+t.size > c.budget {
		return false
	}
	c.startLoad(t)
	return true
}

// chargedBytes returns the bytes that count against the budget.
func (c *cache) chargedBytes() (bytes int64) {
	for _, t := range c.slots {
		bytes += t.charged
	}
	return bytes
}

// excess returns by how many bytes the budget is exceeded, not counting resources that are being closed. It is negative if there is room.
func (c *cache) excess() int64 {
	over := c.chargedBytes() - c.budget
	for _, t := range c.slots {
		if t.state == closing {
			over -= t.charged
		}
	}
	return over
}

// victims returns the loaded slots that may be closed, either those in use or those not in use, the least recently used first. Slots that are
// leaving stay before the others, since otherwise each could be spared for another one again and again.
func (c *cache) victims(inUse bool) (victims []*slot) {
	for _, t := range c.slots {
		if t.state == loaded && t.load != nil && (t.leases > 0) == inUse {
			victims = append(victims, t)
		}
	}
	slices.SortFunc(victims, func(a, b *slot) int {
		switch {
		case a.leaving == b.leaving:
			return cmp.Compare(a.lastUsed, b.lastUsed)
		case a.leaving:
			return -1
		}
		return 1
	})
	return victims
}

// closeIdle closes resources that are not in use until over bytes are freed. It returns how many bytes are still missing, ≤ 0 if it freed
// enough.
func (c *cache) closeIdle(over int64) int64 {
	for _, v := range c.victims(false) {
		if over <= 0 {
			break
		}
		over -= v.charged
		c.startClose(v)
	}
	return over
}

// trim closes resources that are not in use while the budget is exceeded because resources have grown. The last resource may stay.
func (c *cache) trim() {
	if c.budget == 0 || c.closed {
		return
	}
	present := 0
	for _, t := range c.slots {
		if t.load != nil && (t.state == loaded || t.state == loading) {
			present++
		}
	}
	for _, v := range c.victims(false) {
		if present == 1 || c.excess() <= 0 {
			return
		}
		c.startClose(v)
		present--
	}
}

// startLoad starts to load a slot's resource on a goroutine of its own.
func (c *cache) startLoad(t *slot) {
	ctx, cancel := context.WithCancel(context.Background())
	t.state, t.charged, t.cancel = loading, t.size, cancel
	log := c.log
	if t.size > 0 { // of models that are not files it is not known before
		log = log.With("bytes", t.size)
	}
	log.Info("loading a model", "model", t.name)
	go func() {
		defer cancel()
		began := time.Now()
		resource, err := t.loadRecovered(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.loadEnded(t, resource, err, time.Since(began))
		c.update()
	}()
}

// loadRecovered loads a slot's resource. A panic becomes an error: on this goroutine it would end the process.
func (t *slot) loadRecovered(ctx context.Context) (resource resource, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return t.load(ctx)
}

// loadEnded notes the result of a load. mu is held.
func (c *cache) loadEnded(t *slot, resource resource, err error, took time.Duration) {
	wanted := t.cancel != nil
	t.cancel = nil
	switch {
	case err != nil && wanted:
		c.log.Warn("a model was not loaded", "model", t.name, "took", took, "error", err)
		t.state, t.charged = absent, 0
		t.failWaiters(fmt.Errorf("load the model %q: %w", t.name, err))
		return
	case err != nil: // the waiters of now came after the load was cancelled: another load follows
		c.log.Info("loading a model was given up", "model", t.name, "took", took, "error", err)
		t.state, t.charged = absent, 0
		return
	}
	estimate := t.size
	t.size, t.loadTime = resource.bytes(), took
	t.charged = t.size
	c.log.Info("loaded a model", "model", t.name, "took", took, "bytes", t.size)
	keep := !c.closed
	if c.budget > 0 && t.size > estimate {
		if fixed := c.fixedBytes(); t.size > c.budget-fixed {
			t.failWaiters(&TooLargeError{t.name, t.size, c.budget, fixed})
			keep = false
		} else if c.closeIdle(c.excess()) > 0 {
			keep = false // waiters wait until there is room for the size that is known now
		}
	}
	c.clock++
	t.state, t.resource, t.lastUsed = loaded, resource, c.clock
	if !keep {
		c.startClose(t)
	}
}

// startClose starts to close a slot's resource on a goroutine of its own.
func (c *cache) startClose(t *slot) {
	closed, idle := t.resource, t.leases == 0
	t.state, t.resource, t.leaving, t.unwanted = closing, nil, false, false
	if t.load != nil { // otherwise the caller keeps the model
		c.log.Info("giving a model back", "model", t.name, "bytes", t.charged, "idle", idle)
	}
	go func() {
		err := closed.close()
		c.mu.Lock()
		defer c.mu.Unlock()
		t.state, t.charged = absent, 0
		if err != nil {
			c.log.Error("a model was not closed properly", "model", t.name, "error", err)
			if c.closed {
				c.errs = append(c.errs, fmt.Errorf("close the model %q: %w", t.name, err))
			}
		}
		c.update()
	}()
}

// drain closes the cache: acquire returns ErrClosed from now on, also to those who wait already. drain waits until nothing is in use, being
// loaded or being closed. If the context ends first, drain returns the context's cause.
func (c *cache) drain(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, t := range c.slots {
		t.failWaiters(ErrClosed)
	}
	c.update() // cancels the loads, which have no waiters now
	return c.await(ctx, func(t *slot) bool { return t.leases == 0 && t.state != loading && t.state != closing })
}

// closeAll closes all resources, in use or not, and waits until that is done. It is called after drain.
func (c *cache) closeAll() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.slots {
		if t.state == loaded {
			c.startClose(t)
		}
	}
	_ = c.await(context.Background(), func(t *slot) bool { return t.state != closing }) // that context does not end
	return errors.Join(c.errs...)
}

// await waits until done is true of all slots. If the context ends first, await returns the context's cause. mu is held when await is called
// and when it returns, and free meanwhile.
func (c *cache) await(ctx context.Context, done func(*slot) bool) error {
	for slices.ContainsFunc(c.slots, func(t *slot) bool { return !done(t) }) {
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		c.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}
