package llama

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/eviction"
)

// forward computes a chunk on the session's device. If the session was moved there and the device fails, the session goes back,
// and the device that it came from computes the chunk.
func (s *Session) forward(ctx context.Context, t []Token) error {
	err := s.model.forward(ctx, s.ws, t, len(s.tokens), s.caches)
	if err == nil || s.origin == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	if err := s.goBack(err); err != nil {
		return err
	}
	return s.model.forward(ctx, s.ws, t, len(s.tokens), s.caches)
}

// lastLogits computes the logits of the last chunk's last row, which is row of ws.x. If the session was moved to its device and
// the device fails, the session goes back, and the device that it came from computes the chunk again.
func (s *Session) lastLogits(row int) error {
	err := s.model.logits(s.ws, row, row+1)
	if err == nil {
		s.logitsAt = onDevice
		return nil
	}
	if s.origin == nil {
		return err
	}
	return s.recompute(err)
}

// recompute sends the session back because of an error, and computes the last chunk and its logits again there. The chunk is
// taken back first, since that does not need the device that failed; and as a whole, since the caches' records can be undone
// by whole chunks only.
func (s *Session) recompute(because error) error {
	kept := len(s.tokens) - s.ws.tokens
	chunk := slices.Clone(s.tokens[kept:])
	if err := s.takeBackLocked(kept); err != nil {
		because = errors.Join(because, err)
	}
	if err := s.goBack(because); err != nil {
		return err
	}
	if err := s.model.forward(context.Background(), s.ws, chunk, len(s.tokens), s.caches); err != nil {
		return err
	}
	s.tokens = append(s.tokens, chunk...)
	s.countCache()
	return s.lastLogits(len(chunk) - 1)
}

// evictAtOrigin sends the session back because an eviction failed on its device, and evicts there down to the eviction's target.
// done is the result of the eviction that failed; the result that is returned counts what both did.
func (s *Session) evictAtOrigin(done eviction.Result, because error) (eviction.Result, error) {
	bytes := s.usage.Bytes // before the eviction
	if err := s.goBack(because); err != nil {
		return done, err
	}
	result, err := s.manager.Evict(s.caches, done.Target)
	if err == nil {
		err = s.reanchor() // the eviction that failed may have done so in some of the layers
	}
	done.Slots, done.Bytes = max(done.Slots, result.Slots), bytes-s.countCache()
	done.Duration += result.Duration
	return done, err
}

// deviceFailed tells whether an eviction's error may be a device's, rather than the caller's or a lack of memory.
func deviceFailed(err error) bool {
	return !errors.Is(err, eviction.ErrPressure) && !errors.Is(err, eviction.ErrMonitor) && !errors.Is(err, eviction.ErrOptions)
}

// goBack moves the session back to origin because of an error, which it adds to setbacks; origin must not be nil, and is nil
// afterwards. Where going back fails too, the session stays where it is, and both errors are returned.
func (s *Session) goBack(because error) error {
	back := s.origin
	if s.logitsAt == onDevice {
		s.logitsAt = nowhere // the logits of a device that has failed are not to be trusted
	}
	_, err := s.moveLocked(context.Background(), back, s.copyCaches)
	switch {
	case err == nil:
	case s.evicted == 0: // the cache cannot be read from the device, or the failure left it broken: compute it anew
		_, err = s.moveLocked(context.Background(), back, s.computeCaches)
	default:
		err = fmt.Errorf("the cache cannot be copied, nor computed anew from %d tokens of which some were evicted: %w", len(s.tokens), err)
	}
	if err != nil {
		return errors.Join(because, fmt.Errorf("going back to %s failed too: %w", back.device.Name(), err))
	}
	s.origin = nil
	s.setbacks = append(s.setbacks, because)
	return nil
}

// Setbacks returns why the session went back to the model that it had been moved from, an error for each time; see Move.
func (s *Session) Setbacks() []error { return slices.Clone(s.setbacks) }
