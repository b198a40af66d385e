package llama

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/kvcache"
)

// sequence is what a session's lock protects: the tokens of a conversation, what has been computed of them, and where. Its methods
// are for whoever has locked it (guarded.lock). The goroutine of the session's call may also read its fields without the lock,
// since that goroutine alone changes them, Close and Pool apart, which leave tokens alone.
//
// Invariants between two calls of its methods:
//   - each cache has seen len(tokens)+len(ahead) tokens, and still has a slot for each token from position evicted on, or, in layers with a
//     sliding window, of those in the window;
//   - 0 ≤ evicted ≤ len(tokens), and 0 ≤ latest ≤ len(tokens)+len(ahead);
//   - adapter, caches and logits lie on model's device, and model closes the session when it is closed;
//   - origin is nil or another model than model.
type sequence struct {
	self    weak.Pointer[Session]
	number  uint64                            // of the session, among those of the model that opened it
	trace   *Trace                            // of the model that opened it
	options *SessionOptions                   // the session's
	manager *eviction.Manager[*kvcache.Cache] // decides when slots are evicted, and which

	model  *Model // computes the sequence, on its device
	origin *Model // the model that the sequence was moved from, and goes back to when model's device fails; or nil

	adapter *adapterWeights  // options.Adapter on model's device; or nil
	caches  []*kvcache.Cache // one a layer, in the layers' order
	whole   []*kvcache.Cache // those of caches without a window, among which the policy chooses
	tokens  []Token
	ahead   []Token // tokens computed after these: a drafter's, of which nobody knows yet whether the answer goes on with them
	evicted int     // tokens seen at the last eviction: not all of these are in the caches any more
	latest  int     // tokens of the latest step, while nothing else has happened to the caches; 0 otherwise
	logits  logits  // after the last of tokens
	usage   CacheUsage
	used    int // slots in use when they were last counted, by countCache: of the layer that has most

	job      job
	setbacks []error // one for each time that the sequence went back to origin: how the device failed

	records, logitBytes atomic.Int64 // bytes of the caches' records and of logits on the device, for Model.MemoryUsage
}

// guarded is a sequence behind its lock. The lock is taken before a model's.
type guarded struct {
	mu       sync.Mutex
	closed   bool
	sequence sequence
}

// lock returns the sequence, locked until unlock is called; or ErrClosed, and then nothing is locked.
func (g *guarded) lock() (*sequence, error) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil, ErrClosed
	}
	return &g.sequence, nil
}

func (g *guarded) unlock() { g.mu.Unlock() }

// with calls f with the locked sequence.
func (g *guarded) with(f func(c *sequence) error) error {
	c, err := g.lock()
	if err != nil {
		return err
	}
	defer g.unlock()
	return f(c)
}

// adapterOn returns the matrices of the session's adapter on m's device; nil where it has no adapter.
func (c *sequence) adapterOn(ctx context.Context, m *Model) (*adapterWeights, error) {
	if c.options.Adapter == nil {
		return nil, nil
	}
	return c.options.Adapter.weightsOn(ctx, m)
}

// newCaches makes empty caches on m's device, one a layer, with the records that the eviction policy needs.
func (c *sequence) newCaches(m *Model) (caches []*kvcache.Cache, err error) {
	defer func() {
		if err != nil {
			freeCaches(caches)
		}
	}()
	tracking, track := c.manager.Tracking()
	if c.options.Positions == ReanchorSinks {
		track, tracking.Anchors = true, c.sinks()
	}
	for i := range m.layers {
		cache, err := m.newCache(i, c.options)
		if err != nil {
			return caches, fmt.Errorf("a cache for %d tokens: %w", c.options.Capacity, err)
		}
		caches = append(caches, cache)
		if !track || cache.Window() > 0 {
			continue
		}
		if err := cache.Track(tracking, m.config.Heads, m.rotation(i, c.job.long)); err != nil {
			return caches, fmt.Errorf("a cache for the eviction policy %s: %w", c.manager.Policy().Name(), err)
		}
	}
	return caches, nil
}

// newCache makes an empty cache of a layer.
func (m *Model) newCache(layer int, o *SessionOptions) (*kvcache.Cache, error) {
	if m.config.Windowed != nil && m.config.Windowed[layer] {
		return m.store.NewWindow(o.KV, m.config.Window)
	}
	return m.store.New(o.KV, o.Capacity)
}

// setCaches makes caches the sequence's.
func (c *sequence) setCaches(caches []*kvcache.Cache) {
	c.caches, c.whole = caches, nil
	for _, cache := range caches {
		if cache.Window() == 0 {
			c.whole = append(c.whole, cache)
		}
	}
}

// least returns the smallest non-zero length to which the conversation can be truncated and its last logits recomputed.
func (c *sequence) least() (n int) {
	for _, cache := range c.caches {
		if least := cache.Least(len(c.tokens)); least > 0 {
			n = max(n, least+1)
		}
	}
	return max(n, c.evicted)
}

func freeCaches(caches []*kvcache.Cache) error {
	var errs []error
	for _, c := range caches {
		errs = append(errs, c.Free())
	}
	return errors.Join(errs...)
}

// free gives the memory back.
func (c *sequence) free() error {
	c.records.Store(0)
	c.logitBytes.Store(0)
	return errors.Join(freeCaches(c.caches), c.logits.free())
}

// onDevice does work that needs the device. When it fails and the sequence was moved to that device, the sequence goes back to where
// it came from, and the work is done again there. Logits that were still on the device are computed again from the latest step.
//
// This is the one place that knows what to do when a device fails.
func (c *sequence) onDevice(ctx context.Context, work func() error) error {
	err := work()
	if err == nil || c.origin == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	var redo []Token
	if c.logits.at == onDevice {
		// The step is taken back first, since that does not need the device; and as a whole, since records of attention can be undone by
		// whole steps only.
		if kept := len(c.tokens) + len(c.ahead) - c.latest; c.latest > 0 && kept < len(c.tokens) {
			redo = slices.Clone(c.tokens[kept:])
			if failed := c.takeBack(kept); failed != nil {
				err = errors.Join(err, failed)
			}
		}
		c.logits.at = nowhere
	}
	if err := c.goBack(err); err != nil {
		return err
	}
	if len(redo) > 0 {
		if _, err := c.compute(context.Background(), redo, c.lastLogits(1, 0), true); err != nil {
			return err
		}
		c.tokens = append(c.tokens, redo...)
		c.logits.computed(1, 0)
	}
	return work()
}

// lastLogits is an output: the logits of the last n tokens, and the top largest of each. It is asked for once the model is known
// that computes them.
func (c *sequence) lastLogits(n, top int) func() (output, error) {
	return func() (output, error) { return c.logits.output(c.model, n, top) }
}

// noOutput is an output for steps whose logits nobody wants.
func noOutput() (output, error) { return output{}, nil }

// compute lets the model's batch compute tokens, as many of the first of them as it has room for, and returns how many that were.
// The tokens of an answer are computed all together, and without looking at the context. It changes nothing but the caches, latest
// and logits' memory.
func (c *sequence) compute(ctx context.Context, t []Token, out func() (output, error), answer bool) (rows int, err error) {
	j := &c.job
	if j.out, err = out(); err != nil {
		return 0, err
	}
	if j.ctx = ctx; answer {
		j.ctx = nil
	}
	j.caches, j.tokens, j.start, j.answer = c.caches, t, c.caches[0].Seen(), answer
	j.adapter, j.scale = c.adapter, c.options.AdapterScale
	var began time.Time
	if c.trace.Step != nil {
		began = precise.Now()
	}
	err = c.model.batch.run(j)
	if err == nil {
		c.latest = j.rows
	}
	c.countCache()
	if c.trace.Step != nil {
		c.tellStep(began, err)
	}
	return j.rows, err
}

// tellStep tells the Trace of the job, which began then.
func (c *sequence) tellStep(began time.Time, err error) {
	j := &c.job
	info := StepInfo{
		Session: c.number, Began: began, Took: precise.Since(began), Pass: j.pass, Start: j.start, Rows: j.rows, Answer: j.answer,
		Slots: c.used, Bytes: c.usage.Bytes, Err: err,
	}
	if info.Waited = info.Took; j.pass != 0 {
		info.Waited = j.began.Sub(began)
	}
	c.trace.Step(info)
}

// step computes tokens and appends those that were computed to the conversation; see compute. After an error the conversation is
// what it was.
func (c *sequence) step(ctx context.Context, t []Token, out func() (output, error), answer bool) (rows int, err error) {
	model, at := c.model, c.logits.at
	c.logits.at = nowhere
	err = c.onDevice(ctx, func() error {
		rows, err = c.compute(ctx, t, out, answer)
		return err
	})
	if err != nil {
		if c.model == model { // elsewhere the logits are gone
			c.logits.at = at
		}
		return 0, err
	}
	c.tokens = append(c.tokens, t[:rows]...)
	if o := &c.job.out; o.last > 0 && rows == len(t) {
		c.logits.computed(o.last, o.top)
	}
	c.usage.PeakBytes = max(c.usage.PeakBytes, c.usage.Bytes)
	return rows, nil
}

// truncate goes back to the first n tokens, n ≤ len(tokens). n is 0, or the caches still have a slot for each token from n on: then n
// is at least least()-1, since an eviction keeps the latest token.
func (c *sequence) truncate(n int) error {
	if err := c.rest(); err != nil || n == len(c.tokens) {
		return err
	}
	gone := len(c.tokens) - n
	c.keepFirst(n)
	err := c.onDevice(context.Background(), func() error { return c.cut(n, gone) })
	c.countCache()
	if err != nil {
		return fmt.Errorf("truncate to %d tokens: %w", n, err)
	}
	return nil
}

// cut takes the last gone tokens out of the caches, after which n are left. When a layer's cache fails, the others go back all the
// same. A cache that has gone back already is left alone.
func (c *sequence) cut(n, gone int) error {
	var errs []error
	for i, cache := range c.caches {
		var err error
		switch {
		case cache.Seen() == n:
		case n == 0:
			err = cache.Reset()
		default:
			err = cache.Truncate(cache.Len() - gone)
		}
		if err != nil {
			errs = append(errs, layerError(i, err))
		}
	}
	return errors.Join(errs...)
}

// keepFirst cuts the history to its first n tokens.
func (c *sequence) keepFirst(n int) {
	c.tokens, c.logits.at = c.tokens[:n], nowhere
	c.evicted, c.latest = min(c.evicted, n), 0
}

// takeBack undoes the latest step, before which the conversation had n tokens, without the device; see kvcache.Cache.TakeBack. When a
// layer's cache fails, the others go back all the same.
func (c *sequence) takeBack(n int) error {
	var errs []error
	for i, cache := range c.caches {
		if err := cache.TakeBack(n); err != nil {
			errs = append(errs, layerError(i, err))
		}
	}
	c.ahead = c.ahead[:0]
	c.keepFirst(n)
	c.countCache()
	return errors.Join(errs...)
}

// settle takes what a drafter proposed, and the answer has not confirmed, out of the caches. The logits stay.
//
// A record of past attention cannot forget single tokens: then the whole step is undone, and what was confirmed of it is computed
// again.
func (c *sequence) settle() error {
	gone := len(c.ahead)
	if gone == 0 {
		return nil
	}
	n := len(c.tokens)
	if _, tracked := c.manager.Tracking(); !tracked {
		c.ahead = c.ahead[:0]
		c.latest = 0
		err := c.onDevice(context.Background(), func() error { return c.cut(n, gone) })
		c.countCache()
		return err
	}
	if c.origin != nil { // the logits must outlast a device that fails below
		if err := c.fetchLogits(); err != nil || len(c.ahead) == 0 { // going back has settled it
			return err
		}
	}
	at := c.logits.at
	redo := slices.Clone(c.tokens[n+gone-c.latest:])
	if err := c.takeBack(n - len(redo)); err != nil {
		return err
	}
	for len(redo) > 0 {
		rows, err := c.step(context.Background(), redo, noOutput, true)
		if err != nil {
			return err
		}
		redo = redo[rows:]
	}
	c.logits.at = at
	return nil
}

// rest settles, and gives back what caches with windows have of tokens that no later one sees. What the caches hold then depends on the
// tokens alone, and not on the steps that computed them.
func (c *sequence) rest() error {
	if err := c.settle(); err != nil || len(c.whole) == len(c.caches) {
		return err
	}
	err := c.onDevice(context.Background(), func() error {
		for i, cache := range c.caches {
			if err := cache.DropUnseen(); err != nil {
				return layerError(i, err)
			}
		}
		return nil
	})
	c.countCache()
	return err
}

// ensureLogits makes sure that there are logits after the last token, if there is a token: where they were lost by a Truncate or
// a device's failure, it computes the last token once more.
func (c *sequence) ensureLogits() error {
	if c.logits.at != nowhere || len(c.tokens) == 0 {
		return nil
	}
	last := c.tokens[len(c.tokens)-1]
	if err := c.truncate(len(c.tokens) - 1); err != nil {
		return err
	}
	_, err := c.step(context.Background(), []Token{last}, c.lastLogits(1, 0), true)
	return err
}

// room returns how many tokens can still be appended: by the model's context, unless sinks are reanchored, and by the caches'
// free slots, unless evictions free more.
func (c *sequence) room() int {
	room := math.MaxInt
	if c.options.Positions == Strict {
		room = c.model.config.ContextLength - len(c.tokens)
	}
	if !c.bounded() {
		room = min(room, c.options.Capacity-c.slots())
	}
	return max(room, 0) // a restored conversation may be longer than these options would have let it become
}

// full returns the error of want tokens that do not fit after have tokens, since there is room for fewer.
func (c *sequence) full(have, want, room int) error {
	e := &ContextFullError{Have: have, Want: want, Room: room, Context: c.model.config.ContextLength}
	if !c.bounded() {
		e.Capacity = c.options.Capacity
	}
	return e
}

// bounded tells whether the policy keeps the cache within its capacity by itself, during prompts too, so that a full cache never
// limits the conversation.
func (c *sequence) bounded() bool {
	return c.manager.Policy().Budget() > 0 && !c.options.EvictAfterPrompt
}

// slots returns the number of cache slots in use, those of ahead left out: of the layer that has most.
func (c *sequence) slots() int { return c.used - len(c.ahead) }

// countCache adds the layers' caches up in usage. It also publishes what Model.MemoryUsage reads from other goroutines.
func (c *sequence) countCache() {
	var bytes, records int64
	c.used = 0
	for _, cache := range c.caches {
		switch {
		case cache.Window() == 0:
			c.used = max(c.used, cache.Len())
		case len(c.whole) == 0:
			c.used = max(c.used, cache.Seen()) // nothing else counts the tokens that the conversation has room for
		}
		bytes += cache.MemoryUsage()
		records += cache.RecordBytes()
	}
	c.usage.Bytes, c.usage.RecordBytes = bytes, records
	c.records.Store(records)
	c.logitBytes.Store(c.logits.bytes())
}
