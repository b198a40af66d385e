package llama

import (
	"context"
	"errors"
	"sync"
)

// draftModel is a smaller model as a Drafter.
//
// Invariant: the sessions in idle are used by nobody.
type draftModel struct {
	model   *Model
	options *SessionOptions

	mu   sync.Mutex // guards idle
	idle []*Session // one for each answer that has been drafted for at the same time
}

// NewDraftModel returns a Drafter that proposes what a smaller model would write, which knows the same vocabulary: a Llama of 1B
// for one of 8B, say. It continues the conversation greedily, as long as the answer's session has use for that. The options are for
// its own sessions, one for each answer that is drafted for at the same time; they hold the whole conversation, so give them the
// capacity of the answer's session. The Drafter is an io.Closer, which gives these sessions' memory back; closing the model does
// so too.
//
// A Drafter does not report errors. A model that fails or that has a full context proposes nothing.
func NewDraftModel(m *Model, o *SessionOptions) (Drafter, error) {
	s, err := m.NewSession(o)
	if err != nil {
		return nil, err
	}
	options := s.options
	return &draftModel{model: m, options: &options, idle: []*Session{s}}, nil
}

// Draft lets the model go on from context.
func (d *draftModel) Draft(dst, context []Token) []Token {
	s := d.take(context)
	if s == nil {
		return dst
	}
	defer d.put(s)
	return s.call.continuation(dst, context)
}

// take returns the idle session that holds the most of the context, or a new one; or nil if no session can be made.
func (d *draftModel) take(context []Token) *Session {
	d.mu.Lock()
	defer d.mu.Unlock()
	best, shared := -1, -1
	for i, s := range d.idle {
		if n := commonPrefix(s.sequence.tokens, context); n > shared {
			best, shared = i, n
		}
	}
	if best < 0 {
		s, err := d.model.NewSession(d.options)
		if err != nil {
			return nil
		}
		return s
	}
	s, last := d.idle[best], len(d.idle)-1
	d.idle[best] = d.idle[last]
	d.idle = d.idle[:last]
	return s
}

// put takes a session back.
func (d *draftModel) put(s *Session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle = append(d.idle, s)
}

// Close gives the memory of the idle sessions back.
func (d *draftModel) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, s := range d.idle {
		errs = append(errs, s.Close())
	}
	d.idle = nil
	return errors.Join(errs...)
}

// continuation makes the conversation the prompt and appends to dst, as far as that has room, the tokens that the model would
// greedily go on with, up to the end of the turn. At an error there are no more.
func (a *answering) continuation(dst, prompt []Token) []Token {
	shared, err := a.keepPrefix(prompt)
	if err != nil || a.prefill(context.Background(), prompt[shared:], shared, nil) != nil {
		return dst
	}
	if a.with(func(c *sequence) error { return c.memory.States.Hold() }) != nil { // the next call goes back to here, or to a few tokens behind
		return dst
	}
	a.params = Params{}
	a.sampler.Start(a.params.samplingOf(a.sequence.model.tokenizer))
	a.drafting.start(nil)
	for len(dst) < cap(dst) {
		t, err := a.choose()
		if err != nil || a.sequence.model.IsEnd(t) {
			return dst
		}
		dst = append(dst, t)
		if len(dst) == cap(dst) || a.sequence.room() == 0 || a.append(t, false, nil) != nil || a.maybeEvict(true) != nil {
			return dst
		}
	}
	return dst
}
