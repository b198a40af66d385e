package llama

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/llama/internal/sampling"
	"github.com/antigravity-go/antigravity/tensor"
)

// How a prompt begins with what the pool's conversations have computed. There are three ways (see beginning): to take the session of an
// idle conversation that is a beginning of the prompt as a whole; to fork the beginning that the prompt shares with some conversation; or
// to wait for a conversation that is computing such a beginning now.
//
// For example, the idle conversations X and Y have 300 and 500 tokens, and a prompt of 900 tokens begins with all of X:
//
//	it shares 400 tokens with Y            Y is forked: 400 tokens are saved, and taking X would save 300
//	it shares 310 tokens with Y            X is taken: a fork must save at least leastShared tokens more
//	Z has computed 500 of the same 900     it waits for Z, and then forks 899 tokens: the last one is always computed

// conversation is a session of a pool, and what others may use of its cache. The pool's mu guards its fields. While it is in busy, the
// goroutine of its answer alone changes them, except for changed, and so may read them without mu.
//
// Invariant: computed ≤ len(tokens); and once there is a session that is not closed, its conversation begins with tokens[:computed].
type conversation struct {
	session   *Session      // nil until begin has found one
	scope     scope         // of its answer: conversations of other scopes use nothing of it, and it nothing of them
	tokens    []Token       // while it is answered: the prompt; afterwards all tokens in the cache
	computed  int           // how many of tokens are in the cache or, while there is no session yet, are expected to be in its cache
	seeking   bool          // its goroutine is in find: it may be waiting for another conversation
	prompting bool          // computed may still grow
	spoilt    bool          // slots were evicted: what the cache holds is of no use for other conversations
	changed   chan struct{} // closed when computed or prompting changes; nil: nobody waits for that

	// Of models with recurrent layers.
	recurrent bool
	snapshots []int // positions where others can begin
	planned   []int // positions of the prompt that are not computed yet, where others will be able to
	asked     []int // those of planned that others asked for, and the session does not know of
}

// scope is what conversations must have in common to share anything: Params.Scope, and the adapter, since caches hold results of it.
type scope struct {
	name    string
	adapter *Adapter
	scale   float32 // 0 without an adapter
}

// newConversation makes the conversation of a prompt that is to be answered.
func (p *Pool) newConversation(params *Params, prompt []Token) *conversation {
	c := &conversation{scope: scope{name: params.Scope}, tokens: prompt, prompting: true, recurrent: p.model.weights.Recurrent()}
	if s := &p.options.Session; params.Adapter != nil {
		c.scope.adapter, c.scope.scale = params.Adapter, cmp.Or(params.AdapterScale, 1)
	} else if s.Adapter != nil {
		c.scope.adapter, c.scope.scale = s.Adapter, cmp.Or(s.AdapterScale, 1)
	}
	if c.recurrent {
		c.planned = promptMarks(p.model, prompt, 0)
	}
	return c
}

// sessionOptions returns the options of a new session for a conversation.
func (p *Pool) sessionOptions(c *conversation) *SessionOptions {
	o := p.options.Session
	o.Adapter, o.AdapterScale = c.scope.adapter, c.scope.scale
	return &o
}

// await returns a channel that is closed when the conversation changes.
func (c *conversation) await() <-chan struct{} {
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// wake lets all who wait for a change of the conversation go on.
func (c *conversation) wake() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// leastShared is how many tokens two conversations must share for one to be forked from the other: fewer are computed as quickly.
const leastShared = 16

// beginning says how a conversation can begin with what another one's cache holds.
type beginning int

const (
	fromNothing beginning = iota
	byTaking              // the other one is idle and a beginning of the prompt as a whole: its session goes on with the rest of the prompt
	byForking             // the beginning that both share is forked, and the other one stays as it is
	byWaiting             // the other one is computing a longer beginning than any that is in a cache already
)

// longest finds the conversation that saves c the most, how many tokens it saves, and in what way. It is called with mu held.
//
// The last token of a prompt is always computed: the answer begins with its logits, which idle sessions do not keep.
//
// A conversation with evictions is of no use, even as a whole: the slots that it has left depend on the ends of its prompts and answers,
// and a new session, for which all of that is one prompt, would have other slots left. A record of attention cannot forget single tokens,
// so that with a policy that keeps one nothing is forked; but the record of a whole conversation is the one that a new session would have.
//
// c waits only for conversations that wait for nothing any more, and for those that come before it in busy, so that no two wait for
// each other; and only if the other one is not behind what c can begin with at once.
func (p *Pool) longest(c *conversation) (from *conversation, n int, how beginning) {
	want := c.tokens[:len(c.tokens)-1]
	for _, e := range p.idle {
		if e.scope == c.scope && len(e.tokens) > n && commonPrefix(want, e.tokens) == len(e.tokens) {
			from, n, how = e, len(e.tokens), byTaking
		}
	}
	if !p.forks {
		return from, n, how
	}
	atLeast := n + leastShared
	for _, list := range [...][]*conversation{p.idle, p.busy} {
		for _, e := range list {
			if e == c || e.scope != c.scope || e.session == nil || e.spoilt {
				continue
			}
			if shared := e.usable(commonPrefix(want, e.tokens[:e.computed]), false); shared >= atLeast {
				from, n, how, atLeast = e, shared, byForking, shared+1
			}
		}
	}
	now := n
	atLeast = n + leastShared
	before := true // e comes before c in busy
	for _, e := range p.busy {
		if e == c {
			before = false
			continue
		}
		if e.seeking && !before || e.scope != c.scope || !e.prompting || e.spoilt || e.computed < now {
			continue
		}
		common := commonPrefix(want, e.tokens)
		if common >= atLeast {
			e.ask(common)
		}
		if shared := e.usable(common, true); shared >= atLeast {
			from, n, how, atLeast = e, shared, byWaiting, shared+1
		}
	}
	return from, n, how
}

// begin finds a session for the conversation, with as much of the prompt in its cache as any other conversation can give it. When it
// fails, the answer has ended.
func (p *Pool) begin(ctx context.Context, c *conversation) error {
	begun := false
	defer func() {
		if !begun {
			p.end(c)
		}
	}()
	from, how, err := p.find(ctx, c)
	if err != nil {
		return err
	}
	var s *Session
	n := 0
	switch how {
	case byTaking:
		s, n = from, c.computed
	case byForking:
		// If this fails, because the other session has just been closed or memory is short, the prompt is computed.
		s, n, _ = from.forkPrefix(c.tokens[:len(c.tokens)-1], leastShared)
	}
	if s == nil {
		if s, err = p.newSession(c); err != nil {
			return fmt.Errorf("a session for a prompt of %d tokens: %w", len(c.tokens), err)
		}
	}
	s.progress, s.sequence.relieve = func() { p.progress(c, true) }, p.relieve
	p.mu.Lock()
	defer p.mu.Unlock()
	c.session, c.computed = s, n // from here on end closes the session or keeps it
	c.note()
	p.reused += int64(n)
	c.wake()
	if p.closed {
		return ErrClosed
	}
	begun = true
	return nil
}

// newSession makes a session for a conversation. If memory is short, idle conversations make room.
func (p *Pool) newSession(c *conversation) (s *Session, err error) {
	for {
		s, err = p.model.NewSession(p.sessionOptions(c))
		if !errors.Is(err, tensor.ErrNoMemory) || !p.relieve() {
			return s, err
		}
	}
}

// relieve gives up something idle because the system refuses memory, however little MaxBytes counts, and reports whether there was
// anything. It is called by goroutines that hold their own session, and no other one.
func (p *Pool) relieve() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return false
	}
	p.giveUp()
	return true
}

// giveUp gives up the snapshots of the conversation that has been of no use for longest or, if it has no such snapshots, the conversation. It
// is called with mu held and something idle.
func (p *Pool) giveUp() {
	oldest := p.idle[0]
	if oldest.thin() {
		return
	}
	p.idle = slices.Delete(p.idle, 0, 1)
	p.evicted++
	p.closeIdle(oldest)
}

// find puts c among those who are being answered, and returns the session that c is to take or to fork, when nothing that is worth
// waiting for is being computed any longer.
func (p *Pool) find(ctx context.Context, c *conversation) (*Session, beginning, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = append(p.busy, c)
	c.seeking = true
	defer func() { c.seeking = false }()
	for {
		if p.closed {
			return nil, fromNothing, ErrClosed
		}
		from, n, how := p.longest(c)
		switch how {
		case fromNothing:
			return nil, how, nil
		case byTaking:
			p.forget(from)
		case byForking:
			p.touch(from)
		case byWaiting:
			if err := p.wait(ctx, from.await()); err != nil {
				return nil, how, err
			}
			continue
		}
		c.computed = n
		c.wake()
		return from.session, how, nil
	}
}

// wait waits until changed is closed or the context has ended, without mu.
func (p *Pool) wait(ctx context.Context, changed <-chan struct{}) error {
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-changed:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// progress notes how much of the prompt is in the cache; prompting says whether more of it is being computed. It is called by the goroutine
// of the answer.
func (p *Pool) progress(c *conversation, prompting bool) {
	s := &c.session.sequence
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(len(s.tokens), len(c.tokens))
	p.computed += int64(n - c.computed)
	c.computed, c.spoilt, c.prompting = n, s.evicted > 0, prompting
	c.note()
	c.wake()
}

// note notes where others can begin, and asks the session for what others asked for. It is called with the pool's mu held, by the goroutine
// of the answer or with the session at rest.
func (c *conversation) note() {
	if !c.recurrent {
		return
	}
	_ = c.session.with(func(s *sequence) error { // a session that is closed is of no use to others
		for _, at := range c.asked {
			s.memory.States.Branch(at)
		}
		c.snapshots = s.memory.States.Snapshots()
		return nil
	})
	c.asked = c.asked[:0]
	c.planned = slices.DeleteFunc(c.planned, func(at int) bool { return at <= c.computed })
}

// forget removes an idle conversation, with mu held.
func (p *Pool) forget(c *conversation) {
	p.idle = slices.DeleteFunc(p.idle, func(e *conversation) bool { return e == c })
}

// touch notes that an idle conversation was of use, with mu held. A conversation that is being answered keeps its place.
func (p *Pool) touch(c *conversation) {
	if i := slices.Index(p.idle, c); i >= 0 {
		p.idle = append(slices.Delete(p.idle, i, i+1), c)
	}
}

// end puts the session of a conversation among the idle ones after its answer, if it is of use there, and gives the room to the next who
// waits. It is called however the answer ended, when its loop's body panics too.
func (p *Pool) end(c *conversation) {
	useful := c.session != nil && c.session.call.rest()
	p.mu.Lock()
	p.busy = slices.DeleteFunc(p.busy, func(e *conversation) bool { return e == c })
	c.prompting = false
	c.wake()
	var useless []*conversation
	switch {
	case useful && !p.closed:
		useless = p.keep(c)
	case c.session != nil:
		useless = append(useless, c)
	}
	p.mu.Unlock()
	p.room.leave()
	for _, e := range useless {
		e.session.Close() // an error would be that of a device which gives memory back, and is of no use to the caller
	}
	p.trim()
}

// keep makes c an idle conversation, with mu held; c's session must be at rest. It returns the conversations that are of no use any more,
// perhaps c itself: if a conversation is the beginning of another one of its scope, the longer one is enough if beginnings can be forked.
func (p *Pool) keep(c *conversation) (useless []*conversation) {
	s := &c.session.sequence
	c.tokens, c.computed, c.planned = s.tokens, len(s.tokens), nil
	c.note()
	p.idle = slices.DeleteFunc(p.idle, func(e *conversation) bool { return e.scope.adapter != nil && e.session.over() }) // their adapter was closed
	if p.forks {
		for _, e := range p.idle {
			if e.scope == c.scope && commonPrefix(c.tokens, e.tokens) == len(c.tokens) && e.replaces(c) {
				p.touch(e)
				return []*conversation{c}
			}
		}
		p.idle = slices.DeleteFunc(p.idle, func(e *conversation) bool {
			inside := e.scope == c.scope && commonPrefix(c.tokens, e.tokens) == len(e.tokens) && c.replaces(e)
			if inside {
				useless = append(useless, e)
			}
			return inside
		})
	}
	p.idle = append(p.idle, c)
	return useless
}

// rest gives back what the session needs only while it answers, and what it holds of the caller's. It reports whether the conversation
// can go on as a new session's would: whether it has tokens, each cache still has a slot for each of them, and no eviction is due
// that an error prevented. The session is not in use.
func (a *answering) rest() (useful bool) {
	a.params, a.sampler, a.answer, a.run, a.progress = Params{}, sampling.Sampler{}, answer{}, nil, nil
	a.drafting.start(nil) // which keeps the experience with drafts
	err := a.with(func(c *sequence) error {
		c.relieve = nil
		if err := c.settle(); err != nil { // after a panic in the loop a drafter's proposals may be left
			return err
		}
		err := errors.Join(c.memory.States.Rest(), c.logits.Free())
		c.logits = engine.Logits{}
		c.count()
		useful = c.evicted == 0 && len(c.tokens) > 0 && (c.options.EvictAfterPrompt || !c.manager.Due(c.memory.Whole(), 0)) && c.memory.Complete(len(c.tokens))
		return err
	})
	return useful && err == nil
}

// bytes returns the memory that PoolOptions.MaxBytes bounds.
func (p *Pool) bytes() int64 { return p.model.MemoryUsage().Caches }

// trim closes idle sessions, those first that have been of no use for longest, while the caches take more than MaxBytes; before a session
// is closed it gives up its snapshots, but those where conversations branch. Where another goroutine is doing so, that is enough.
func (p *Pool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trimming {
		return
	}
	p.trimming = true
	for len(p.idle) > 0 && p.bytes() > p.options.MaxBytes {
		p.giveUp()
	}
	p.trimming = false
}

// thin gives up the snapshots that others are less likely to want, and reports whether there were any. It is called with the pool's mu
// held.
func (c *conversation) thin() (some bool) {
	if !c.recurrent {
		return false
	}
	_ = c.session.with(func(s *sequence) (err error) { // an error would be that of a device that gives memory back
		some, err = s.memory.States.DropPlain()
		return err
	})
	c.note()
	return some
}

// closeIdle closes a conversation that is idle no longer, without mu: somebody may be forking it.
func (p *Pool) closeIdle(c *conversation) {
	p.mu.Unlock()
	defer p.mu.Lock()
	c.session.Close() // as in end
}
