package llama

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// guarded is a sequence behind its lock, which is taken before a model's. Its methods, but for those that lock, take the lock for one step
// at a time: between two steps the session may be closed, or forked by a Pool.
//
// For example, prefill computes a prompt of 400 tokens with SessionOptions.Chunk 256, and the cache has the first 100 already:
//
//	tokens 100–255   a chunk of 156 tokens, in one or more steps; the lock is held for each step
//	                 maybeEvict(false)
//	tokens 256–399   a chunk of 144 tokens; its last step also computes the logits
//	                 maybeEvict(true)
//
// The chunks end at token 256 whether the cache had tokens or not, so that evictions do not depend on it.
type guarded struct {
	mu       sync.Mutex
	closed   bool
	sequence sequence
	progress func() // called after each step of a prompt, by the call's goroutine and without a lock; nil: nobody asks
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

// over reports whether the session is closed.
func (g *guarded) over() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// with calls f with the locked sequence.
func (g *guarded) with(f func(c *sequence) error) error {
	c, err := g.lock()
	if err != nil {
		return err
	}
	defer g.unlock()
	return f(c)
}

// closeOn closes the session because its model m is being closed, or whatever model it is on if m is nil. A session that has moved
// to another model meanwhile stays open.
func (g *guarded) closeOn(m *Model) error {
	c, err := g.lock()
	if err != nil {
		return nil
	}
	defer g.unlock()
	if m != nil && c.model != m {
		return nil
	}
	g.closed = true
	c.model.unregister(c.self)
	return c.free()
}

// keepPrefix forgets all but the longest beginning that the conversation shares with t, and returns its length. With recurrent layers it
// keeps as much of that as they have a snapshot of.
func (g *guarded) keepPrefix(t []Token) (shared int, err error) {
	c := &g.sequence
	shared = commonPrefix(t, c.tokens)
	if capacity := c.capacity(); len(t) > capacity {
		return 0, c.full(0, len(t), capacity)
	}
	shared = c.images.whole(c.config.Together, shared)
	if shared < len(c.tokens) && shared < c.least() {
		shared = 0 // some tokens before the last eviction, or before a window, are not in the cache any more: compute all anew
	}
	return shared, g.with(func(c *sequence) error {
		branch := shared
		shared = reach(c, shared)
		whole := shared == len(c.tokens)
		if err := c.truncate(shared); err != nil || whole {
			return err
		}
		c.memory.States.Branch(branch)
		return nil
	})
}

// commonPrefix returns the length of the longest beginning that a and b share.
func commonPrefix(a, b []Token) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// prefill computes tokens in chunks of at most SessionOptions.Chunk. If every is nil, it also computes the logits after the last
// token; otherwise every is the output of each step.
//
// The eviction policy is asked after each chunk. In company a chunk may take several steps, but evictions, and with them all later results,
// do not depend on that. Neither do they depend on how much of a prompt the cache had already, as long as nothing was evicted. t is the
// rest of a prompt after the reused tokens that the cache had already, and the chunks end at the same tokens as chunks of the whole prompt
// would.
func (g *guarded) prefill(ctx context.Context, t []Token, reused int, every outputOf) error {
	defer runtime.KeepAlive(heldBy(g.sequence.home, t)) // until the conversation holds them
	if err := g.check(t); err != nil {
		return err
	}
	if err := g.with(func(c *sequence) error { markPrompt(c, t); return nil }); err != nil {
		return err
	}
	size, done := g.sequence.options.Chunk, reused
	for len(t) > 0 {
		chunk := chunkOf(&g.sequence, t, size-done%size)
		done += chunk
		for left := chunk; left > 0; {
			if err := ctx.Err(); err != nil {
				return err
			}
			var rows int
			err := g.with(func(c *sequence) (err error) {
				out := every
				switch {
				case every != nil:
				case left == len(t):
					out = c.lastLogits(1, 0, 0)
				default:
					out = noOutput
				}
				if rows, err = c.step(ctx, t[:left], out, false); err == nil {
					c.logits.Adopt()
				}
				return err
			})
			if err != nil {
				return err
			}
			t, left = t[rows:], left-rows
			if g.progress != nil {
				g.progress()
			}
		}
		if err := g.maybeEvict(len(t) == 0); err != nil {
			return err
		}
	}
	return nil
}

// score appends tokens to the conversation, and calls score with the logits that t[i] was chosen from, for each i in their order: not for
// the first token of an empty conversation, nor for the rows of images. The logits are only valid during the call.
func (g *guarded) score(ctx context.Context, t []Token, score func(i int, logits []float32)) error {
	if err := g.check(t); err != nil || len(t) == 0 {
		return err
	}
	before, err := g.needLogits()
	if err != nil {
		return err
	}
	c := &g.sequence
	had, vocab := len(c.tokens), c.config.VocabSize
	if before != nil && int(t[0]) < vocab {
		score(0, before)
	}
	rows := make([]float32, engine.GroupRows*vocab)
	return g.prefill(ctx, t, 0, func() (engine.Output, error) {
		at := len(c.tokens) - had // the index in t of the step's first token
		return engine.Output{Each: func(x *tensor.Tensor) error {
			n := x.Shape().Dim(0)
			if err := backend.ReadFloats(c.model.backend, x, rows[:n*vocab]); err != nil {
				return err
			}
			for row := range n {
				if at++; at < len(t) && int(t[at]) < vocab {
					score(at, rows[row*vocab:][:vocab])
				}
			}
			c.logits.Keep(rows[(n-1)*vocab : n*vocab]) // of the last row of the step they will be the conversation's
			return nil
		}}, nil
	})
}

// check refuses tokens that cannot be appended.
func (g *guarded) check(t []Token) error {
	c := &g.sequence
	return c.limits.check(t, c.tokens, c.slots())
}

// logits is Session.Logits.
func (g *guarded) logits() (l []float32, err error) {
	err = g.with(func(c *sequence) error {
		if err := c.fetchLogits(); err != nil || c.logits.At == engine.Nowhere {
			return err
		}
		l = c.logits.Host
		return nil
	})
	return l, err
}

// needLogits returns the logits after the last token on the host, nil before the first token. If they were lost, it computes the last token
// once more.
func (g *guarded) needLogits() ([]float32, error) {
	if err := g.with((*sequence).ensureLogits); err != nil {
		return nil, err
	}
	return g.logits()
}

// maybeEvict lets the policy shrink the cache between two steps. last is false between two chunks of a prompt, and true after a
// prompt's last chunk and after a generated token.
func (g *guarded) maybeEvict(last bool) error {
	c := &g.sequence
	if !last && c.options.EvictAfterPrompt {
		return nil
	}
	// The monitor is the caller's code, which may close the session or the model: it is asked while no lock is held.
	if err := c.manager.Watch(); err != nil {
		return fmt.Errorf("evict at token %d: %w", len(c.tokens), err)
	}
	return g.with(func(c *sequence) error {
		if len(c.ahead) > 0 {
			if !c.manager.Due(c.memory.Whole(), len(c.ahead)) {
				return nil
			}
			if err := c.settle(); err != nil { // a policy chooses among what the conversation has, not among guesses
				return err
			}
		}
		_, err := c.evict(func() (eviction.Result, error) { return c.manager.EvictIfDue(c.memory.Whole()) }, nil)
		return err
	})
}
