package llama

import (
	"fmt"
	"slices"
)

// Fork returns a session with the same conversation, to go on from here in two ways. The two share the memory of what they have in
// common, and each takes memory of its own only as it goes on. The copy has the same options, policy and monitor, and is on the
// same device. The copy of a session that was moved does not go back when that device fails.
func (s *Session) Fork() (*Session, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	return s.fork()
}

// fork is Fork while another goroutine may be using the session, which then waits for this.
func (s *Session) fork() (f *Session, err error) {
	c, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer s.unlock()
	if err = c.settle(); err == nil {
		err = c.fetchLogits() // before anything else: a failing device may send the sequence back
	}
	if err == nil {
		f, err = c.fork(len(c.tokens))
	}
	if err != nil {
		return nil, fmt.Errorf("fork a session of %d tokens: %w", len(c.tokens), err)
	}
	return f, nil
}

// forkPrefix returns a session with the longest beginning of t that the conversation has, and the length of that beginning; no
// session where it is shorter than least, tokens were evicted, or caches with windows cannot go back to it. It may be a token shorter than it could be. Another goroutine may be
// using the session, in the middle of an answer too: it waits for this, and nothing changes for it.
func (s *Session) forkPrefix(t []Token, least int) (f *Session, n int, err error) {
	c, err := s.lock()
	if err != nil {
		return nil, 0, err
	}
	defer s.unlock()
	n = commonPrefix(t, c.tokens)
	if n == len(c.tokens) && n%c.options.Chunk == 0 {
		n-- // the policy may not have been asked yet whether to evict at this end of a chunk: the copy computes the last token, and asks
	}
	if n < least || n < c.least() || c.evicted > 0 {
		return nil, 0, nil
	}
	if f, err = c.fork(n); err != nil {
		return nil, 0, fmt.Errorf("fork the first %d of a session's %d tokens: %w", n, len(c.tokens), err)
	}
	return f, n, nil
}

// fork returns a session with the first n tokens, and, if these are all, with those logits that are on the host. It changes nothing
// of c.
func (c *sequence) fork(n int) (*Session, error) {
	f, err := c.model.NewSession(c.options)
	if err != nil {
		return nil, err
	}
	err = f.with(func(to *sequence) error { // the model knows the session already, and may close it
		if err := to.copyFrom(c); err != nil {
			return err
		}
		if err := to.truncate(n); err != nil {
			return err
		}
		if n == len(c.tokens) && c.logits.at == onHost {
			to.logits.host, to.logits.at = slices.Clone(c.logits.host), onHost
		}
		to.countCache()
		to.usage.PeakBytes = to.usage.Bytes
		return nil
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// copyFrom fills an empty sequence with the caches and tokens of another one of the same model and
// options, those included that the other one has computed ahead.
func (c *sequence) copyFrom(from *sequence) error {
	for i, cache := range from.caches {
		clone, err := cache.Clone()
		if err != nil {
			return layerError(i, err)
		}
		c.caches[i].Free()
		c.caches[i] = clone
	}
	c.setCaches(c.caches)
	c.tokens, c.ahead = slices.Clone(from.tokens), slices.Clone(from.ahead)
	c.evicted = from.evicted
	return nil
}
