package llama

import (
	"fmt"
	"slices"
)

// Fork returns a session with a copy of the conversation, to go on from here in two ways. The cache is copied, so the memory
// doubles. The copy has the same options, policy and monitor, and is on the same device. The copy of a session that was moved
// does not go back when that device fails.
func (s *Session) Fork() (*Session, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	if err := s.lockOpen(); err != nil {
		return nil, err
	}
	defer s.memoryMu.Unlock()
	var f *Session
	err := s.fetchLogits() // before anything else: a failing device may send the session back
	if err == nil {
		f, err = s.model.NewSession(&s.options)
	}
	if err == nil {
		if err = f.copyFrom(s); err != nil {
			f.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fork a session of %d tokens: %w", len(s.tokens), err)
	}
	return f, nil
}

// copyFrom fills an empty session with the caches, tokens and logits of another one of the same model and options, whose
// memoryMu is held.
func (s *Session) copyFrom(from *Session) error {
	if err := s.lockOpen(); err != nil {
		return err
	}
	defer s.memoryMu.Unlock()
	for i, c := range from.caches {
		clone, err := c.Clone()
		if err != nil {
			return fmt.Errorf("layer %d: %w", i, err)
		}
		s.caches[i].Free()
		s.caches[i] = clone
		if err := clone.UseHadamard(s.hadamard); err != nil {
			return fmt.Errorf("layer %d: %w", i, err)
		}
	}
	s.tokens = slices.Clone(from.tokens)
	s.evicted = from.evicted
	if from.logitsAt == onHost {
		s.logits, s.logitsAt = slices.Clone(from.logits), onHost
	}
	s.usage.PeakBytes = s.countCache()
	return nil
}
