package llama

import (
	"context"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// Fork returns a session with the same conversation, to go on from here in two ways. The two share the memory of what they have in
// common, and each takes memory of its own only as it goes on. The copy has the same options, policy and monitor, and is on the
// same device. The copy of a session that was moved does not go back when that device fails.
func (s *Session) Fork() (*Session, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	return s.guarded.fork()
}

// fork is Session.Fork while another goroutine may be using the session, which then waits for this.
func (g *guarded) fork() (f *Session, err error) {
	c, err := g.lock()
	if err != nil {
		return nil, err
	}
	defer g.unlock()
	if err = c.settle(); err == nil {
		err = c.fetchLogits() // before anything else: a failing device may send the sequence back
	}
	if err == nil {
		err = c.onDevice(context.Background(), func() error { return c.memory.States.Settle() })
	}
	if err == nil {
		f, err = c.fork(len(c.tokens))
	}
	if err != nil {
		return nil, fmt.Errorf("fork a session of %d tokens: %w", len(c.tokens), err)
	}
	return f, nil
}

// forkPrefix returns a session with the longest beginning of t that the conversation has, and the length of that beginning; no session if
// it is shorter than least, tokens were evicted, or caches with windows cannot go back to it. It may be a token shorter than it could be,
// and with recurrent layers it ends at a snapshot. Another goroutine may be using the session, in the middle of an answer too: it waits for
// this, and nothing changes for it.
func (g *guarded) forkPrefix(t []Token, least int) (f *Session, n int, err error) {
	c, err := g.lock()
	if err != nil {
		return nil, 0, err
	}
	defer g.unlock()
	n = commonPrefix(t, c.tokens)
	if n == len(c.tokens) && n%c.options.Chunk == 0 {
		n-- // the policy may not have been asked yet whether to evict at this end of a chunk: the copy computes the last token, and asks
	}
	shared := n
	n = reach(c, n)
	if n < least || n < c.least() || c.evicted > 0 {
		return nil, 0, nil
	}
	c.memory.States.Branch(n)
	if f, err = c.fork(n); err != nil {
		return nil, 0, fmt.Errorf("fork the first %d of a session's %d tokens: %w", n, len(c.tokens), err)
	}
	return f, n, f.with(func(c *sequence) error { c.memory.States.Branch(shared); return nil })
}

// fork returns a session with the first n tokens, and, if these are all, with those logits that are on the host. It changes nothing
// of c.
func (c *sequence) fork(n int) (*Session, error) {
	f, err := c.model.NewSession(c.options)
	if err != nil {
		return nil, err
	}
	err = f.with(func(to *sequence) error { // the model knows the session already, and may close it
		memory, err := c.memory.Clone()
		if err != nil {
			return err
		}
		to.memory.Free() // it is empty
		to.memory, to.tokens, to.ahead, to.evicted = memory, slices.Clone(c.tokens), slices.Clone(c.ahead), c.evicted
		to.images, to.home = c.images.clone(), c.home
		if err := to.truncate(n); err != nil {
			return err
		}
		if n == len(c.tokens) && c.logits.At == engine.OnHost {
			to.logits.Host, to.logits.At = slices.Clone(c.logits.Host), engine.OnHost
		}
		to.count()
		to.usage.PeakBytes = to.usage.Bytes
		return nil
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
