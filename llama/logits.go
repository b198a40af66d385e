package llama

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
)

// logitsPlace says where the logits after the last token are. A step leaves them on the device; they are copied to the host when
// somebody asks for all of them.
type logitsPlace uint8

const (
	nowhere  logitsPlace = iota // there are none
	onDevice                    // in workspace.logits
	onHost                      // in Session.logits
)

// Logits returns the logits after the last token, [VocabSize], or nil when there are none: before the first token, after
// Truncate, after Close, and when the device fails to give them. The slice is valid until the next call. It may be called
// inside the loop of an answer, too, and brings the logits from the device the first time that it is called after a token.
func (s *Session) Logits() []float32 {
	logits, err := s.hostLogits()
	if err != nil {
		return nil
	}
	return logits
}

// hostLogits returns the logits on the host, nil when there are none.
func (s *Session) hostLogits() ([]float32, error) {
	if err := s.lockOpen(); err != nil {
		return nil, err
	}
	defer s.memoryMu.Unlock()
	if err := s.fetchLogits(); err != nil || s.logitsAt == nowhere {
		return nil, err
	}
	return s.logits, nil
}

// fetchLogits brings the logits, if there are any, to the host, with memoryMu held.
func (s *Session) fetchLogits() error {
	if s.logitsAt != onDevice {
		return nil
	}
	if err := s.await(s.readLogits); err != nil {
		return fmt.Errorf("read the logits after token %d: %w", len(s.tokens), err)
	}
	return nil
}

// readLogits copies the logits that are on the device to the host.
func (s *Session) readLogits() error {
	if s.logits == nil {
		s.logits = make([]float32, s.model.config.VocabSize)
	}
	if err := backend.ReadFloats(s.model.device, &s.ws.logits, s.logits); err != nil {
		return err
	}
	s.logitsAt = onHost
	return nil
}

// await runs use, which waits for the logits on the device or computes from them, with memoryMu held and logitsAt onDevice. When
// the device fails and the session was moved there, the last chunk is computed again on the device that the session came from,
// and use runs once more. When it fails for good, there are no logits any more.
func (s *Session) await(use func() error) error {
	err := use()
	if err != nil && s.origin != nil {
		if err = s.recompute(err); err == nil {
			err = use()
		}
	}
	if err != nil {
		s.logitsAt = nowhere
	}
	return err
}

// finish waits until the device has computed the logits, so that the call that wanted them returns the error if that fails, and
// not the next one.
func (s *Session) finish() error {
	if err := s.lockOpen(); err != nil {
		return err
	}
	defer s.memoryMu.Unlock()
	if s.logitsAt != onDevice {
		return nil
	}
	if err := s.await(func() error { return s.model.device.Synchronize() }); err != nil {
		return fmt.Errorf("the logits after token %d: %w", len(s.tokens), err)
	}
	return nil
}

// choose picks the next token. Where the largest logits or probabilities decide, only those are copied to the host.
func (s *Session) choose() (Token, error) {
	if err := s.ensureLogits(); err != nil {
		return 0, err
	}
	if !s.sampler.changes() && s.sampler.Logprobs == 0 {
		if token, ok, err := s.chooseOnDevice(); ok || err != nil {
			return token, err
		}
	}
	logits, err := s.hostLogits()
	if err != nil {
		return 0, err
	}
	return s.sampler.choose(logits, s.tokens) // memoryMu is not held: a mask is the program's code
}

// chooseOnDevice picks the next token from the few largest logits, or the probabilities, that the device finds. ok is false, and
// no token chosen, where the choice is by all logits as they are or the logits are not on the device.
func (s *Session) chooseOnDevice() (token Token, ok bool, err error) {
	if err := s.lockOpen(); err != nil {
		return 0, false, err
	}
	defer s.memoryMu.Unlock()
	if s.logitsAt != onDevice {
		return 0, false, nil
	}
	vocab := s.model.config.VocabSize
	few := s.sampler.few(vocab)
	switch {
	case few == nil && !s.sampler.tempers():
		return 0, false, nil
	case few == nil:
		if token, ok, err = s.sampler.drawRanked((*deviceRanking)(s), vocab); ok || err != nil {
			return token, ok, err
		}
		if err := s.fetchLogits(); err != nil {
			return 0, false, err
		}
		token, err = s.sampler.pickAny(s.logits)
		return token, true, err
	}
	if err := s.await(func() error { return s.model.device.choose.Largest(&s.ws.logits, few.tokens, few.values) }); err != nil {
		return 0, false, fmt.Errorf("the %d largest logits after token %d: %w", len(few.tokens), len(s.tokens), err)
	}
	token, err = s.sampler.pick(few)
	return token, true, err
}
