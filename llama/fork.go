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
	return s.fork(len(s.sequence.tokens))
}

// fork returns a session with the first n tokens of the conversation: all of them, or some of a conversation of which none were
// evicted. Another goroutine may be using the session: it then waits for this.
func (s *Session) fork(n int) (f *Session, err error) {
	c, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer s.unlock()
	if err = c.settle(); err == nil {
		err = c.fetchLogits() // before anything else: a failing device may send the sequence back
	}
	if err == nil {
		f, err = c.model.NewSession(c.options)
	}
	if err == nil {
		if err = f.sequence.copyFrom(c); err == nil && n < len(c.tokens) {
			err = f.sequence.truncate(n)
		}
		if err != nil {
			f.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fork a session of %d tokens: %w", len(c.tokens), err)
	}
	return f, nil
}

// copyFrom fills an empty sequence, which nobody else knows yet, with the caches, tokens and logits of another one of the same model
// and options.
func (c *sequence) copyFrom(from *sequence) error {
	for i, cache := range from.caches {
		clone, err := cache.Clone()
		if err != nil {
			return layerError(i, err)
		}
		c.caches[i].Free()
		c.caches[i] = clone
	}
	c.tokens = slices.Clone(from.tokens)
	c.evicted = from.evicted
	if from.logits.at == onHost {
		c.logits.host, c.logits.at = slices.Clone(from.logits.host), onHost
	}
	c.countCache()
	c.usage.PeakBytes = c.usage.Bytes
	return nil
}
