package llama

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/kvcache"
)

// Session is one conversation: one history of tokens, and their keys and values in one cache a layer. It is for one goroutine
// at a time: a second one gets ErrBusy. Only Close may be called by any goroutine, at any time. Any number of sessions of a
// model may run at once. Close gives the session's memory back at once; the garbage collector gives it back later when a
// session that was not closed is no longer reachable.
//
// Invariants while memoryMu is free and the session is open:
//   - each cache has seen len(tokens) tokens, and still has a slot for each token from position evicted on;
//   - 0 ≤ evicted ≤ len(tokens);
//   - len(logits) is the size of the vocabulary while logitsAt is onHost;
//   - memory lies on model's device, and model closes the session when it is closed;
//   - origin is nil or another model than model.
type Session struct {
	model   *Model                            // computes the session, on its device
	origin  *Model                            // the model that the session was moved from, and goes back to when model's device fails; or nil
	options SessionOptions                    // with the defaults filled in
	manager *eviction.Manager[*kvcache.Cache] // decides when slots are evicted, and which
	memory

	cacheBytes, workspaceBytes atomic.Int64 // for Model.MemoryUsage

	busy     atomic.Bool // some call is under way
	callMu   sync.Mutex  // held by that call, but not while a loop's body runs: there the session may be moved
	memoryMu sync.Mutex  // held while memory is in use: a step, or Close; taken after callMu, and before a model's mutex
	closed   bool        // guarded by memoryMu

	tokens   []Token
	evicted  int // tokens seen at the last eviction: not all of these are in the caches any more
	usage    CacheUsage
	logitsAt logitsPlace // where the logits after the last token are
	logits   []float32   // [vocab]; nil until logits have been asked for on the host
	sampler  sampler     // of the latest answer, whose memory the next one uses again
	filter   textFilter  // as sampler

	setbacks  []error // one for each time that the session went back to origin: how the device failed
	tokenTime average // the time that choosing a token and computing it takes on model's device
}

// NewSession makes an empty session.
func (m *Model) NewSession(o *SessionOptions) (*Session, error) {
	options := SessionOptions{}
	if o != nil {
		options = *o
	}
	manager, err := options.complete(&m.config)
	if err != nil {
		return nil, err
	}
	s := &Session{model: m, options: options, manager: manager}
	s.memoryMu.Lock() // from here on the model's Close waits
	defer s.memoryMu.Unlock()
	if err := m.register(s); err != nil {
		return nil, err
	}
	if s.memory, err = s.allocate(m); err != nil {
		s.closed = true
		m.unregister(s)
		return nil, err
	}
	s.workspaceBytes.Store(s.ws.bytes)
	return s, nil
}

// memory is what a session has on a model's device.
type memory struct {
	ws       *workspace
	hadamard *kvcache.Hadamard // turns queries and keys; nil where the cache's type does not need that
	caches   []*kvcache.Cache  // one a layer, in the layers' order
}

// allocate makes the workspace, the layers' caches, and the records that the eviction policy needs, on m's device.
func (s *Session) allocate(m *Model) (mem memory, err error) {
	defer func() {
		if err != nil {
			mem.free()
		}
	}()
	if mem.ws, err = newWorkspace(m.device, &m.config, min(s.options.Chunk, s.options.Capacity)); err != nil {
		return mem, err
	}
	rows := max(mem.ws.chunk, s.sinks()) // the most tokens turned at once: those of a chunk, or sinks that get new positions
	if mem.hadamard, err = kvcache.NewHadamard(m.device.Backend, s.options.KV, rows, m.config.Heads, m.config.KVHeads, m.config.HeadDim); err != nil {
		return mem, fmt.Errorf("a cache of %v: %w", s.options.KV, err)
	}
	mem.ws.bytes += mem.hadamard.Bytes()
	tracking, track := s.manager.Tracking()
	if s.options.Positions == ReanchorSinks {
		track, tracking.Anchors = true, s.sinks()
	}
	for range m.layers {
		c, err := kvcache.New(m.device.Backend, s.options.KV, s.options.Capacity, m.config.KVHeads, m.config.HeadDim)
		if err != nil {
			return mem, fmt.Errorf("a cache for %d tokens: %w", s.options.Capacity, err)
		}
		mem.caches = append(mem.caches, c)
		if err := c.UseHadamard(mem.hadamard); err != nil {
			return mem, fmt.Errorf("a cache of %v: %w", s.options.KV, err)
		}
		if !track {
			continue
		}
		if err := c.Track(tracking, m.config.Heads, m.rotation); err != nil {
			return mem, fmt.Errorf("a cache for the eviction policy %s: %w", s.manager.Policy().Name(), err)
		}
	}
	return mem, nil
}

func (m *memory) free() error {
	errs := []error{m.hadamard.Free()}
	if m.ws != nil {
		errs = append(errs, m.ws.free())
	}
	for _, c := range m.caches {
		errs = append(errs, c.Free())
	}
	return errors.Join(errs...)
}

// Close releases the session's memory. A call that is computing ends at its next token or chunk with ErrClosed, as every
// later call does. It is idempotent.
func (s *Session) Close() error {
	s.memoryMu.Lock()
	defer s.memoryMu.Unlock()
	return s.closeLocked()
}

// closeOn closes the session because its model m is being closed. A session that has moved to another model meanwhile stays
// open.
func (s *Session) closeOn(m *Model) error {
	s.memoryMu.Lock()
	defer s.memoryMu.Unlock()
	if s.model != m {
		return nil
	}
	return s.closeLocked()
}

// closeLocked is Close, with memoryMu held.
func (s *Session) closeLocked() error {
	if s.closed {
		return nil
	}
	s.closed = true
	s.model.unregister(s)
	s.cacheBytes.Store(0)
	return s.memory.free()
}

// begin claims the session for one call; end gives it back.
func (s *Session) begin() error {
	if s.busy.Swap(true) {
		return ErrBusy
	}
	s.callMu.Lock()
	if err := s.lockOpen(); err != nil {
		s.end()
		return err
	}
	s.memoryMu.Unlock()
	return nil
}

func (s *Session) end() {
	s.callMu.Unlock()
	s.busy.Store(false)
}

// lockOpen locks memoryMu, unless the session is closed: then nothing is locked and the error is ErrClosed.
func (s *Session) lockOpen() error {
	s.memoryMu.Lock()
	if s.closed {
		s.memoryMu.Unlock()
		return ErrClosed
	}
	return nil
}

// Tokens returns all tokens that the cache has seen, in a new slice.
func (s *Session) Tokens() []Token { return slices.Clone(s.tokens) }

// Position returns the position that the next token will have.
func (s *Session) Position() int { return len(s.tokens) }

// CacheLen returns the number of cache slots in use: of the layer that has most, where an eviction policy gives the layers
// different shares.
func (s *Session) CacheLen() (slots int) {
	for _, c := range s.caches {
		slots = max(slots, c.Len())
	}
	return slots
}

// Capacity returns how many tokens the conversation can hold: the cache's slots or the model's context, whichever is less.
// Where an eviction policy keeps the cache within its budget, only the context limits it, and with ReanchorSinks nothing does:
// then it is math.MaxInt.
func (s *Session) Capacity() int {
	capacity := s.model.config.ContextLength
	if s.options.Positions == ReanchorSinks {
		capacity = math.MaxInt
	}
	if !s.bounded() {
		capacity = min(capacity, s.options.Capacity)
	}
	return capacity
}

// Prefill appends tokens to the conversation, SessionOptions.Chunk at a time. The context is looked at before each layer of
// each chunk; when it has ended, Prefill returns the context's error. After that or any other error the chunks that were
// computed completely stay part of the conversation (Tokens returns them), nothing of the chunk under way does, and the
// conversation can go on as if that chunk had never begun.
func (s *Session) Prefill(ctx context.Context, t []Token) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	return s.prefill(ctx, t, nil)
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
	if err := s.check(t); err != nil {
		return nil, err
	}
	if err := s.ensureLogits(); err != nil {
		return nil, err
	}
	scores := make([]float32, 0, len(t))
	score := func(logits []float32) {
		next := t[len(scores)]
		scores = append(scores, float32(float64(logits[next])-logSumExp(logits)))
	}
	if len(t) > 0 {
		before, err := s.hostLogits()
		if err != nil {
			return nil, err
		}
		if before != nil {
			score(before)
		} else {
			scores = append(scores, 0)
		}
	}
	vocab := s.model.config.VocabSize
	rows := make([]float32, headRows*vocab)
	err := s.prefill(ctx, t, func(lo, hi int) error {
		if err := s.model.logits(s.ws, lo, hi); err != nil {
			return err
		}
		if err := backend.ReadFloats(s.model.device, &s.ws.logits, rows[:(hi-lo)*vocab]); err != nil {
			return err
		}
		for row := range hi - lo {
			if len(scores) < len(t) {
				score(rows[row*vocab : (row+1)*vocab])
			}
		}
		if hi == s.ws.tokens { // the last row of a chunk: if the next chunk is cancelled, these are the session's logits
			s.logits, s.logitsAt = append(s.logits[:0], rows[(hi-lo-1)*vocab:(hi-lo)*vocab]...), onHost
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return scores, nil
}

// Truncate forgets all but the first n tokens. Where tokens have been evicted, n is at least the length that the conversation
// had at the last eviction, or 0, which begins anew.
func (s *Session) Truncate(n int) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	switch {
	case n < 0 || n > len(s.tokens):
		return &ParamError{"Truncate's n", n, fmt.Sprintf("0 to %d, the tokens of the conversation", len(s.tokens))}
	case n > 0 && n < s.evicted:
		return &ParamError{"Truncate's n", n, fmt.Sprintf("0, or at least %d: of the first %d tokens some were evicted", s.evicted, s.evicted)}
	}
	return s.truncate(n)
}

// truncate goes back to the first n tokens. n is 0, or the caches still have a slot for each token from n on: then n is at
// least s.evicted-1, since an eviction keeps the latest token.
func (s *Session) truncate(n int) error {
	if n == len(s.tokens) {
		return nil
	}
	if err := s.lockOpen(); err != nil {
		return err
	}
	defer s.memoryMu.Unlock()
	return s.truncateLocked(n)
}

// truncateLocked is truncate, with memoryMu held. When a layer's cache fails, the others go back all the same.
func (s *Session) truncateLocked(n int) error {
	gone := len(s.tokens) - n
	var errs []error
	for i, c := range s.caches {
		var err error
		if n == 0 {
			err = c.Reset()
		} else {
			err = c.Truncate(c.Len() - gone)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("layer %d: %w", i, err))
		}
	}
	s.keepFirst(n)
	if len(errs) == 0 {
		return nil
	}
	err := fmt.Errorf("truncate to %d tokens: %w", n, errors.Join(errs...))
	if s.origin != nil {
		return s.goBack(err)
	}
	return err
}

// keepFirst cuts the history to its first n tokens, after the caches were.
func (s *Session) keepFirst(n int) {
	s.tokens, s.logitsAt = s.tokens[:n], nowhere
	s.evicted = min(s.evicted, n)
	s.countCache()
}

// takeBack undoes the latest chunk, before which the conversation had n tokens, without the device; see
// kvcache.Cache.TakeBack.
func (s *Session) takeBack(n int) error {
	if err := s.lockOpen(); err != nil {
		return err
	}
	defer s.memoryMu.Unlock()
	return s.takeBackLocked(n)
}

// takeBackLocked is takeBack, with memoryMu held. When a layer's cache fails, the others go back all the same.
func (s *Session) takeBackLocked(n int) error {
	var errs []error
	for i, c := range s.caches {
		if err := c.TakeBack(n); err != nil {
			errs = append(errs, fmt.Errorf("layer %d: %w", i, err))
		}
	}
	s.keepFirst(n)
	return errors.Join(errs...)
}

// ensureLogits makes sure that there are logits after the last token, if there is a token: where they were lost by a Truncate or
// a device's failure, it computes the last token once more.
func (s *Session) ensureLogits() error {
	if s.logitsAt != nowhere || len(s.tokens) == 0 {
		return nil
	}
	last := s.tokens[len(s.tokens)-1]
	if err := s.truncate(len(s.tokens) - 1); err != nil {
		return err
	}
	if err := s.step(context.Background(), []Token{last}, true, nil); err != nil {
		return err
	}
	return s.finish()
}

// check refuses tokens that are not in the vocabulary, and more tokens than the conversation has room for.
func (s *Session) check(t []Token) error {
	for i, token := range t {
		if token < 0 || int(token) >= s.model.config.VocabSize {
			return &ParamError{fmt.Sprintf("token %d", i), int(token), fmt.Sprintf("0 to %d, the vocabulary's", s.model.config.VocabSize-1)}
		}
	}
	if room := s.room(); len(t) > room {
		return &ContextFullError{Have: len(s.tokens), Want: len(t), Room: room}
	}
	return nil
}

// room returns how many tokens can still be appended: by the model's context, unless sinks are reanchored, and by the caches'
// free slots, unless evictions free more.
func (s *Session) room() int {
	room := math.MaxInt
	if s.options.Positions == Strict {
		room = s.model.config.ContextLength - len(s.tokens)
	}
	if !s.bounded() {
		room = min(room, s.options.Capacity-s.CacheLen())
	}
	return max(room, 0) // a restored conversation may be longer than these options would have let it become
}

// prefill computes tokens in chunks of at most ws.chunk.
//
// Where each is nil, prefill also computes the logits after the last token, and waits until the device has them. Where it is not
// nil, prefill computes no logits; after each chunk's forward pass it calls each(lo, hi) for consecutive ranges of at most
// headRows rows, which together are all rows of the chunk in ws.x. An error of each undoes the chunk.
func (s *Session) prefill(ctx context.Context, t []Token, each func(lo, hi int) error) error {
	if err := s.check(t); err != nil {
		return err
	}
	for len(t) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(t), s.ws.chunk)
		last := n == len(t)
		had, at := len(s.tokens), s.logitsAt
		err := s.step(ctx, t[:n], last && each == nil, each)
		switch {
		case len(s.tokens) == had: // the forward pass failed, and nothing stays of the chunk
		case err != nil && each != nil: // each has not seen all rows, so that nothing may stay of the chunk
			err = errors.Join(err, s.takeBack(had))
			s.logitsAt = at
		default: // the chunk stays, even if computing its logits failed: the next one must find free slots
			if failed := s.maybeEvict(last); err == nil {
				err = failed
			}
		}
		if err != nil {
			return err
		}
		t = t[n:]
	}
	return s.finish()
}

// step appends one chunk to the conversation and, where logits is true, computes the logits after its last token; each is as in
// prefill. A chunk of more than one token can be cancelled. The device may still be computing the logits when step returns:
// finish waits for them.
func (s *Session) step(ctx context.Context, t []Token, logits bool, each func(lo, hi int) error) error {
	if err := s.lockOpen(); err != nil {
		return err
	}
	defer s.memoryMu.Unlock()
	if err := s.forward(ctx, t); err != nil {
		return err
	}
	s.logitsAt = nowhere
	s.tokens = append(s.tokens, t...)
	s.usage.PeakBytes = max(s.usage.PeakBytes, s.countCache())
	if each != nil {
		for lo := 0; lo < len(t); lo += headRows {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := each(lo, min(lo+headRows, len(t))); err != nil {
				return err
			}
		}
	}
	if logits {
		return s.lastLogits(len(t) - 1)
	}
	return nil
}

// countCache adds the layers' caches up in usage and returns the bytes of keys and values. It also publishes the size, with
// records, in cacheBytes: Model.MemoryUsage reads it from other goroutines.
func (s *Session) countCache() (bytes int64) {
	var records int64
	for _, c := range s.caches {
		bytes += c.MemoryUsage()
		records += c.RecordBytes()
	}
	s.usage.Bytes, s.usage.RecordBytes = bytes, records
	s.cacheBytes.Store(bytes + records)
	return bytes
}
