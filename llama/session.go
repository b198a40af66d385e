package llama

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/antigravity-go/antigravity/llama/internal/sampling"
)

// Session is one conversation: one history of tokens, and their keys and values in one cache a layer. It is for one goroutine at a time: a
// second one gets ErrBusy. Only Close may be called by any goroutine, at any time. Any number of sessions of a model may run at once: their
// work is computed together, and no answer depends on that. Close gives the session's memory back at once; the garbage collector gives it
// back later when a session that was not closed is no longer reachable.
type Session struct {
	options SessionOptions // with the defaults filled in
	guarded                // the conversation

	busy   atomic.Bool // some call is under way
	callMu sync.Mutex  // held by that call, but not while a loop's body runs: there the session may be moved. Taken before guarded's lock
	call   answering   // the call's alone: the latest answer; the next one uses its memory again
}

// NewSession makes an empty session. It takes hardly any memory before the first token.
func (m *Model) NewSession(o *SessionOptions) (*Session, error) {
	if err := hasHead(m); err != nil {
		return nil, err
	}
	return newSession(m, o)
}

// newSession is NewSession for a model that need not have an output head.
func newSession(m *Model, o *SessionOptions) (*Session, error) {
	s := &Session{}
	if o != nil {
		s.options = *o
	}
	limits, err := newLimits(&s.options, m)
	if err != nil {
		return nil, err
	}
	c := &s.sequence
	c.self, c.limits, c.model = weak.Make(s), limits, m
	c.number, c.trace = m.opened.Add(1), &m.trace
	c.job.Long = m.weights.Long(s.Capacity())
	s.mu.Lock() // from here on the model's Close waits
	defer s.mu.Unlock()
	if err := m.register(c.self); err != nil {
		return nil, err
	}
	if c.adapter, err = s.options.adapterOn(context.Background(), m); err == nil {
		c.memory, err = c.newMemory(m, c.job.Long)
	}
	if err != nil {
		s.closed = true
		m.unregister(c.self)
		return nil, err
	}
	m.batch.Want(s.options.Chunk)
	c.count()
	s.call.guarded = &s.guarded
	return s, nil
}

// Close releases the session's memory. A call that is computing ends at its next token or chunk with ErrClosed, as every
// later call does. It is idempotent.
func (s *Session) Close() error { return s.closeOn(nil) }

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

// CacheLen returns the number of cache slots in use. If an eviction policy gives the layers different shares, it is the number of the layer
// that has most.
func (s *Session) CacheLen() int { return s.sequence.slots() }

// Capacity returns how many tokens the conversation can hold: the cache's slots or the model's context, whichever is less. If an eviction
// policy keeps the cache within its budget, only the context limits it, and with ReanchorSinks nothing does: then it is math.MaxInt.
func (s *Session) Capacity() int { return s.sequence.capacity() }

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

// Sync makes the conversation exactly t: it keeps the longest beginning of t that the cache holds, forgets the rest, and computes the rest
// of t. It returns how many tokens were kept. Where tokens of that beginning have been evicted, nothing is kept.
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

// Score appends tokens to the conversation and returns the natural logarithms of the probabilities that the model gave
// them: element i belongs to t[i] and was computed from everything before it. The first token of an empty conversation
// has nothing before it; its element is 0, and so are those of an image's rows. The context is looked at where Prefill does, and again each time that the logits of
// a few tokens are to be computed; after an error as many tokens stay part of the conversation as Prefill would leave.
func (s *Session) Score(ctx context.Context, t []Token) ([]float32, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	scores := make([]float32, len(t))
	if err := s.score(ctx, t, func(i int, logits []float32) {
		scores[i] = float32(float64(logits[t[i]]) - sampling.LogSumExp(logits))
	}); err != nil {
		return nil, err
	}
	return scores, nil
}

// Logprobs is Score with the n likeliest tokens in the place of each. The first token of an empty conversation has nothing before it; its
// element has no Top, and a Logprob of 0. So have those of an image's rows.
func (s *Session) Logprobs(ctx context.Context, t []Token, n int) ([]Logprobs, error) {
	tokenizer := s.sequence.model.tokenizer
	if n < 0 || n > tokenizer.VocabSize() {
		return nil, &ParamError{"n", n, fmt.Sprintf("0 to %d, the size of the vocabulary", tokenizer.VocabSize())}
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	all := make([]Logprobs, len(t))
	for i, token := range t {
		if i == 0 || int(token) >= tokenizer.VocabSize() {
			all[i].Chosen = TokenLogprob{Token: token, Text: string(tokenizer.AppendBytes(nil, token))}
		}
	}
	if err := s.score(ctx, t, func(i int, logits []float32) { all[i] = logprobs(logits, t[i], n, tokenizer) }); err != nil {
		return nil, err
	}
	return all, nil
}

// Truncate forgets all but the first n tokens. n = 0 begins anew. After an eviction n must be at least the length that the conversation had
// then. Models with sliding windows keep only their last tokens: n can be at most about a window shorter than the conversation. Which n
// is too small depends on the tokens alone: on how many there are, and on earlier evictions and Truncates.
//
// Models with recurrent layers go back to the latest snapshot before n: the next call first computes the tokens from there to n again, with the same
// results. See SessionOptions.Snapshots.
func (s *Session) Truncate(n int) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	c := &s.sequence
	switch whole := c.images.whole(c.config.Together, n); {
	case whole != n:
		return &ParamError{"Truncate's n", n, fmt.Sprintf("%d or %d: in between are the rows of an image, which see each other", whole, n)}
	case n < 0 || n > len(c.tokens):
		return &ParamError{"Truncate's n", n, fmt.Sprintf("0 to %d, the tokens of the conversation", len(c.tokens))}
	case n > 0 && n < c.evicted:
		return &ParamError{"Truncate's n", n, fmt.Sprintf("0, or at least %d: of the first %d tokens some were evicted", c.evicted, c.evicted)}
	case n > 0 && n < min(c.least(), len(c.tokens)):
		return &ParamError{"Truncate's n", n, fmt.Sprintf("0, or at least %d: of what some layers saw before they have too little left", c.least())}
	}
	return s.with(func(c *sequence) error {
		if n == len(c.tokens) {
			return c.truncate(n)
		}
		err := c.truncate(n)
		c.memory.States.Branch(n)
		return err
	})
}
