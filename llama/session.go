package llama

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// SessionOptions describes a conversation's memory. Nil and the zero value are the good defaults.
type SessionOptions struct {
	// MaxTokens is the capacity of the cache; 0: the model's context, at most 4096.
	MaxTokens int
	// KV is the type of the cached keys and values: F32, F16 (the default), Q8_0 or Q4_0.
	KV tensor.DType
	// Chunk is the most tokens of a prompt computed at once: more are faster and need more memory; 0 means 256. Results do
	// not depend on it.
	Chunk int
}

// The defaults of SessionOptions.
const (
	defaultMaxTokens = 4096
	defaultChunk     = 256
)

// Session is one conversation: one cache, one history. It is for one goroutine at a time, a second gets ErrBusy; any number
// of sessions of a model may run at once. A session that is no longer reachable gives its memory back, Close does so at
// once.
type Session struct {
	model      *Model
	caches     []*kvcache.Cache
	ws         *workspace
	capacity   int
	cacheBytes atomic.Int64

	busy    atomic.Bool // some call is under way
	compute sync.Mutex  // held while memory is in use: a step, or Close
	closed  bool        // guarded by compute

	tokens   []Token
	position int
	logits   []float32 // [vocab] after the last token
	current  bool      // logits belong to the last token
	sampler  sampler
	filter   textFilter
}

// NewSession makes an empty session.
func (m *Model) NewSession(o *SessionOptions) (*Session, error) {
	options := SessionOptions{}
	if o != nil {
		options = *o
	}
	if err := options.complete(&m.config); err != nil {
		return nil, err
	}
	s := &Session{model: m, capacity: options.MaxTokens, logits: make([]float32, m.config.VocabSize)}
	var err error
	if s.ws, err = newWorkspace(m.device, &m.config, min(options.Chunk, options.MaxTokens)); err != nil {
		return nil, err
	}
	for range m.layers {
		c, err := kvcache.New(m.device.Backend, options.KV, options.MaxTokens, m.config.KVHeads, m.config.HeadDim)
		if err != nil {
			s.free()
			return nil, fmt.Errorf("llama: a cache for %d tokens: %w", options.MaxTokens, err)
		}
		s.caches = append(s.caches, c)
	}
	if err := m.register(s); err != nil {
		s.free()
		return nil, err
	}
	return s, nil
}

// complete fills in the defaults and refuses what cannot work.
func (o *SessionOptions) complete(c *Config) error {
	if o.MaxTokens == 0 {
		o.MaxTokens = min(c.ContextLength, defaultMaxTokens)
	}
	if o.KV == 0 {
		o.KV = tensor.F16
	}
	if o.Chunk == 0 {
		o.Chunk = defaultChunk
	}
	switch {
	case o.MaxTokens < 1 || o.MaxTokens > c.ContextLength:
		return fmt.Errorf("llama: SessionOptions.MaxTokens is %d: the model was trained for 1 to %d tokens", o.MaxTokens, c.ContextLength)
	case o.Chunk < 1:
		return fmt.Errorf("llama: SessionOptions.Chunk is %d: it must be positive", o.Chunk)
	case o.KV.Quantized() && c.HeadDim%o.KV.BlockLen() != 0:
		return fmt.Errorf("llama: SessionOptions.KV is %v, whose blocks of %d do not fit heads of %d: use f32 or f16", o.KV, o.KV.BlockLen(), c.HeadDim)
	}
	return nil
}

// Close releases the session's memory. A call that is computing ends at its next token or chunk with ErrClosed. It is
// idempotent.
func (s *Session) Close() error {
	s.compute.Lock()
	defer s.compute.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.model.unregister(s)
	return s.free()
}

func (s *Session) free() error {
	errs := []error{s.ws.free()}
	for _, c := range s.caches {
		errs = append(errs, c.Free())
	}
	s.cacheBytes.Store(0)
	return errors.Join(errs...)
}

// begin claims the session for one call; end gives it back.
func (s *Session) begin() error {
	if s.busy.Swap(true) {
		return ErrBusy
	}
	return nil
}

func (s *Session) end() { s.busy.Store(false) }

// Tokens returns all tokens that the cache has seen, in a new slice.
func (s *Session) Tokens() []Token { return append([]Token(nil), s.tokens...) }

// Position returns the position that the next token will have.
func (s *Session) Position() int { return s.position }

// CacheLen returns the number of cache slots in use.
func (s *Session) CacheLen() int { return s.caches[0].Len() }

// Capacity returns how many tokens the conversation can hold: the cache's slots, or the model's context where that is less.
func (s *Session) Capacity() int { return min(s.capacity, s.model.config.ContextLength) }

// Logits returns the logits after the last token, [VocabSize], or nil when there are none: before the first token and after
// Truncate. The slice is valid until the next call.
func (s *Session) Logits() []float32 {
	if !s.current {
		return nil
	}
	return s.logits
}

// Prefill appends tokens to the conversation. When it is cancelled or fails, what was computed until then, whole chunks,
// stays part of the conversation: Tokens tells.
func (s *Session) Prefill(ctx context.Context, t []Token) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	return s.prefill(ctx, t, nil)
}

// Score appends tokens to the conversation and returns the natural logarithms of the probabilities that the model gave
// them: element i belongs to t[i] and was computed from everything before it. The first token of an empty conversation
// has nothing before it; its element is 0.
func (s *Session) Score(ctx context.Context, t []Token) ([]float32, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	if err := s.ensureLogits(); err != nil {
		return nil, err
	}
	scores := make([]float32, 0, len(t))
	score := func(logits []float32) {
		next := t[len(scores)]
		scores = append(scores, float32(float64(logits[next])-logSumExp(logits)))
	}
	if err := s.check(t); err != nil {
		return nil, err
	}
	if len(t) > 0 {
		if s.current {
			score(s.logits)
		} else {
			scores = append(scores, 0)
		}
	}
	vocab := s.model.config.VocabSize
	rows := make([]float32, headRows*vocab)
	var last []float32
	err := s.prefill(ctx, t, func(lo, hi int) error {
		if err := s.model.logits(s.ws, lo, hi, rows[:(hi-lo)*vocab]); err != nil {
			return err
		}
		for row := range hi - lo {
			last = rows[row*vocab : (row+1)*vocab]
			if len(scores) < len(t) {
				score(last)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if last != nil {
		copy(s.logits, last)
		s.current = true
	}
	return scores, nil
}

// Truncate forgets all but the first n tokens.
func (s *Session) Truncate(n int) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	return s.truncate(n)
}

func (s *Session) truncate(n int) error {
	if n < 0 || n > len(s.tokens) {
		return fmt.Errorf("llama: truncate to %d of %d tokens", n, len(s.tokens))
	}
	if n == len(s.tokens) {
		return nil
	}
	s.compute.Lock()
	defer s.compute.Unlock()
	if s.closed {
		return ErrClosed
	}
	for _, c := range s.caches {
		if err := c.Truncate(n); err != nil {
			return fmt.Errorf("llama: truncate to %d tokens: %w", n, err)
		}
	}
	s.tokens, s.position, s.current = s.tokens[:n], n, false
	s.countCache()
	return nil
}

// ensureLogits makes the logits belong to the last token again after a Truncate, by computing that token once more.
func (s *Session) ensureLogits() error {
	if s.current || len(s.tokens) == 0 {
		return nil
	}
	last := s.tokens[len(s.tokens)-1]
	if err := s.truncate(len(s.tokens) - 1); err != nil {
		return err
	}
	return s.step([]Token{last}, true, nil)
}

// check refuses tokens outside the vocabulary and more than fit.
func (s *Session) check(t []Token) error {
	for i, token := range t {
		if token < 0 || int(token) >= s.model.config.VocabSize {
			return fmt.Errorf("llama: token %d is %d, outside the vocabulary of %d", i, token, s.model.config.VocabSize)
		}
	}
	if room := s.room(); len(t) > room {
		return fmt.Errorf("%w: %d tokens after %d, where %d fit", ErrContextFull, len(t), len(s.tokens), s.Capacity())
	}
	return nil
}

// room returns how many tokens still fit.
func (s *Session) room() int {
	return min(s.capacity-s.caches[0].Len(), s.model.config.ContextLength-s.position)
}

// prefill computes tokens in chunks, and the logits after the last. Where each is not nil, it is called instead for every
// chunk, after its forward pass, with ranges of at most headRows of its rows in ws.x.
func (s *Session) prefill(ctx context.Context, t []Token, each func(lo, hi int) error) error {
	if err := s.check(t); err != nil {
		return err
	}
	for len(t) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(t), s.ws.chunk)
		if err := s.step(t[:n], n == len(t) && each == nil, each); err != nil {
			return err
		}
		t = t[n:]
	}
	return nil
}

// step computes one chunk and, if wanted, the logits after it.
func (s *Session) step(t []Token, logits bool, each func(lo, hi int) error) error {
	s.compute.Lock()
	defer s.compute.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.current = false
	if err := s.model.forward(s.ws, t, s.position, s.caches); err != nil {
		return err
	}
	s.tokens = append(s.tokens, t...)
	s.position += len(t)
	s.countCache()
	if each != nil {
		for lo := 0; lo < len(t); lo += headRows {
			if err := each(lo, min(lo+headRows, len(t))); err != nil {
				return err
			}
		}
	}
	if logits {
		if err := s.model.logits(s.ws, len(t)-1, len(t), s.logits); err != nil {
			return err
		}
		s.current = true
	}
	return nil
}

// countCache publishes the cache's size for Model.MemoryUsage, which other goroutines may ask for.
func (s *Session) countCache() {
	var bytes int64
	for _, c := range s.caches {
		bytes += c.MemoryUsage()
	}
	s.cacheBytes.Store(bytes)
}
