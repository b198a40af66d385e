package llama

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// Session is one conversation: one history of tokens, and their keys and values in one cache a layer. It is for one goroutine
// at a time: a second one gets ErrBusy. Only Close may be called by any goroutine, at any time. Any number of sessions of a
// model may run at once: what they have to compute is computed together, and none of their answers depends on that. Close gives
// the session's memory back at once; the garbage collector gives it back later when a session that was not closed is no longer
// reachable.
type Session struct {
	options SessionOptions // with the defaults filled in
	guarded                // the conversation

	busy   atomic.Bool // some call is under way
	callMu sync.Mutex  // held by that call, but not while a loop's body runs: there the session may be moved. Taken before guarded's lock

	// The call's alone.
	sampler      sampler      // of the latest answer, whose memory the next one uses again
	answer       answer       // as sampler
	drafting     drafting     // as sampler
	constraining constraining // as sampler
	run          []Token      // the tokens of one step
	tokenTime    average      // the time that choosing a token and computing it takes on the model's device
	progress     func()       // called after each step of a prompt, by the call's goroutine and without a lock; nil: nobody asks
}

// NewSession makes an empty session. It takes hardly any memory before the first token.
func (m *Model) NewSession(o *SessionOptions) (*Session, error) {
	if err := m.hasHead(); err != nil {
		return nil, err
	}
	return m.newSession(o)
}

// hasHead returns an error if the model has no output head.
func (m *Model) hasHead() error {
	if m.pipeline.Headless {
		return fmt.Errorf("%w: the model has no output head, so that it gives no answers; it makes vectors of texts, by Model.Embed", ErrUnsupported)
	}
	return nil
}

// newSession is NewSession for a model that need not have an output head.
func (m *Model) newSession(o *SessionOptions) (*Session, error) {
	s := &Session{}
	if o != nil {
		s.options = *o
	}
	manager, err := s.options.complete(&m.config)
	if err != nil {
		return nil, err
	}
	c := &s.sequence
	c.self, c.options, c.manager, c.model = weak.Make(s), &s.options, manager, m
	c.number, c.trace = m.opened.Add(1), &m.trace
	c.job.long = m.config.long(s.Capacity())
	s.mu.Lock() // from here on the model's Close waits
	defer s.mu.Unlock()
	if err := m.register(c.self); err != nil {
		return nil, err
	}
	var caches []*kvcache.Cache
	if c.adapter, err = c.adapterOn(context.Background(), m); err == nil {
		caches, err = c.newCaches(m)
	}
	if err != nil {
		s.closed = true
		m.unregister(c.self)
		return nil, err
	}
	c.setCaches(caches)
	m.batch.want(s.options.Chunk)
	c.countCache()
	return s, nil
}

// Close releases the session's memory. A call that is computing ends at its next token or chunk with ErrClosed, as every
// later call does. It is idempotent.
func (s *Session) Close() error { return s.closeOn(nil) }

// closeOn closes the session because its model m is being closed, or whatever model it is on where m is nil. A session that has moved
// to another model meanwhile stays open.
func (s *Session) closeOn(m *Model) error {
	c, err := s.lock()
	if err != nil {
		return nil
	}
	defer s.unlock()
	if m != nil && c.model != m {
		return nil
	}
	s.closed = true
	c.model.unregister(c.self)
	return c.free()
}

// begin claims the session for one call; end gives it back.
func (s *Session) begin() error {
	if s.busy.Swap(true) {
		return ErrBusy
	}
	s.callMu.Lock()
	if _, err := s.lock(); err != nil {
		s.end()
		return err
	}
	s.unlock()
	return nil
}

func (s *Session) end() {
	s.callMu.Unlock()
	s.busy.Store(false)
}

// Tokens returns all tokens that the cache has seen, in a new slice.
func (s *Session) Tokens() []Token { return slices.Clone(s.sequence.tokens) }

// Position returns the position that the next token will have.
func (s *Session) Position() int { return len(s.sequence.tokens) }

// CacheLen returns the number of cache slots in use: of the layer that has most, where an eviction policy gives the layers
// different shares.
func (s *Session) CacheLen() int { return s.sequence.slots() }

// Capacity returns how many tokens the conversation can hold: the cache's slots or the model's context, whichever is less.
// Where an eviction policy keeps the cache within its budget, only the context limits it, and with ReanchorSinks nothing does:
// then it is math.MaxInt.
func (s *Session) Capacity() int {
	capacity := s.sequence.model.config.ContextLength
	if s.options.Positions == ReanchorSinks {
		capacity = math.MaxInt
	}
	if !s.sequence.bounded() {
		capacity = min(capacity, s.options.Capacity)
	}
	return capacity
}

// Prefill appends tokens to the conversation, SessionOptions.Chunk at a time, or fewer where other sessions have work too. The
// context is looked at before each layer of each chunk; when it has ended, Prefill returns the context's error. After that or any
// other error the chunks that were computed completely stay part of the conversation (Tokens returns them), nothing of the chunk
// under way does, and the conversation can go on as if that chunk had never begun.
func (s *Session) Prefill(ctx context.Context, t []Token) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	return s.prefill(ctx, t, 0, nil)
}

// Sync makes the conversation exactly t: it keeps the longest beginning of t that the cache holds, forgets what else it holds, and
// computes the rest of t. It returns how many tokens were kept. Where tokens of that beginning have been evicted, nothing is kept.
func (s *Session) Sync(ctx context.Context, t []Token) (reused int, err error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.end()
	if reused, err = s.keepPrefix(t); err != nil {
		return 0, err
	}
	return reused, s.prefill(ctx, t[reused:], reused, nil)
}

// keepPrefix forgets all but the longest beginning that the conversation shares with t, and returns its length.
func (s *Session) keepPrefix(t []Token) (shared int, err error) {
	c := &s.sequence
	shared = commonPrefix(t, c.tokens)
	if capacity := s.Capacity(); len(t) > capacity {
		return 0, c.full(0, len(t), capacity)
	}
	if shared < len(c.tokens) && shared < c.least() {
		shared = 0 // some tokens before the last eviction, or before a window, are not in the cache any more: compute all anew
	}
	return shared, s.with(func(c *sequence) error { return c.truncate(shared) })
}

// commonPrefix returns the length of the longest beginning that a and b share.
func commonPrefix(a, b []Token) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Score appends tokens to the conversation and returns the natural logarithms of the probabilities that the model gave
// them: element i belongs to t[i] and was computed from everything before it. The first token of an empty conversation
// has nothing before it; its element is 0. The context is looked at where Prefill does, and again each time that the logits of
// a few tokens are to be computed; after an error as many tokens stay part of the conversation as Prefill would leave.
func (s *Session) Score(ctx context.Context, t []Token) ([]float32, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	return s.score(ctx, t)
}

func (s *Session) score(ctx context.Context, t []Token) ([]float32, error) {
	if err := s.check(t); err != nil || len(t) == 0 {
		return []float32{}, err
	}
	before, err := s.needLogits()
	if err != nil {
		return nil, err
	}
	c, scores := &s.sequence, make([]float32, len(t))
	score := func(i int, logits []float32) { scores[i] = float32(float64(logits[t[i]]) - logSumExp(logits)) }
	if before != nil {
		score(0, before)
	}
	had, vocab := len(c.tokens), c.model.config.VocabSize
	rows := make([]float32, headRows*vocab)
	err = s.prefill(ctx, t, 0, func() (output, error) {
		at := len(c.tokens) - had // the index in t of the step's first token
		return output{each: func(x *tensor.Tensor) error {
			n := x.Shape().Dim(0)
			if err := backend.ReadFloats(c.model.device, x, rows[:n*vocab]); err != nil {
				return err
			}
			for row := range n {
				if at++; at < len(t) {
					score(at, rows[row*vocab:][:vocab])
				}
			}
			c.logits.keep(rows[(n-1)*vocab : n*vocab]) // of the last row of the step they will be the conversation's
			return nil
		}}, nil
	})
	if err != nil {
		return nil, err
	}
	return scores, nil
}

// Truncate forgets all but the first n tokens. n = 0 begins anew. After an eviction n must be at least the length that the conversation had
// then. Models with sliding windows keep only their last tokens: n can be at most about a window shorter than the conversation. Which n
// is too small depends on the tokens alone: on how many there are, and on earlier evictions and Truncates.
func (s *Session) Truncate(n int) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	c := &s.sequence
	switch {
	case n < 0 || n > len(c.tokens):
		return &ParamError{"Truncate's n", n, fmt.Sprintf("0 to %d, the tokens of the conversation", len(c.tokens))}
	case n > 0 && n < c.evicted:
		return &ParamError{"Truncate's n", n, fmt.Sprintf("0, or at least %d: of the first %d tokens some were evicted", c.evicted, c.evicted)}
	case n > 0 && n < min(c.least(), len(c.tokens)):
		return &ParamError{"Truncate's n", n, fmt.Sprintf("0, or at least %d: what layers with a sliding window saw before is not in the cache any more", c.least())}
	}
	return s.with(func(c *sequence) error { return c.truncate(n) })
}

// check refuses tokens that are not in the vocabulary, and more tokens than the conversation has room for.
func (s *Session) check(t []Token) error {
	c := &s.sequence
	for i, token := range t {
		if token < 0 || int(token) >= c.model.config.VocabSize {
			return &ParamError{fmt.Sprintf("token %d", i), int(token), fmt.Sprintf("0 to %d, the vocabulary's", c.model.config.VocabSize-1)}
		}
	}
	if room := c.room(); len(t) > room {
		return c.full(len(c.tokens), len(t), room)
	}
	return nil
}

// prefill computes tokens in chunks of at most SessionOptions.Chunk. Where every is nil, it also computes the logits after the last
// token; otherwise every is the output of each step.
//
// The eviction policy is asked after each chunk. In company a chunk may take several steps, but evictions, and with them all later
// results, do not depend on that. Neither do they depend on how much of a prompt the cache had already, as long as none of that was
// evicted: t is the rest of a prompt of which the cache had reused tokens, and the chunks end where those of the whole prompt do.
func (s *Session) prefill(ctx context.Context, t []Token, reused int, every func() (output, error)) error {
	if err := s.check(t); err != nil {
		return err
	}
	chunk := s.options.Chunk - reused%s.options.Chunk
	for len(t) > 0 {
		for left := min(chunk, len(t)); left > 0; {
			if err := ctx.Err(); err != nil {
				return err
			}
			var rows int
			err := s.with(func(c *sequence) (err error) {
				out := every
				switch {
				case every != nil:
				case left == len(t):
					out = c.lastLogits(1, 0)
				default:
					out = noOutput
				}
				if rows, err = c.step(ctx, t[:left], out, false); err == nil {
					c.logits.adopt()
				}
				return err
			})
			if err != nil {
				return err
			}
			t, left = t[rows:], left-rows
			if s.progress != nil {
				s.progress()
			}
		}
		chunk = s.options.Chunk
		if err := s.maybeEvict(len(t) == 0); err != nil {
			return err
		}
	}
	return nil
}
