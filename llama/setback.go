package llama

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/eviction"
)

// forward computes a chunk; when a device fails that the session was moved to, it is computed where the session came from.
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

// lastLogits computes the logits of a row of the last chunk, its last. When a device fails that the session was moved to, the
// chunk is computed again where the session came from.
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

// recompute computes the last chunk and its logits again, where the session came from, because of an error. It is the chunk
// as a whole, since that is what records of the cache can be taken back by, and before going back, since it needs no device.
func (s *Session) recompute(because error) error {
	kept := len(s.tokens) - s.ws.tokens
	chunk := slices.Clone(s.tokens[kept:])
	if err := s.undo(kept); err != nil {
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

// evictThere goes back because an eviction failed, and does there what is left to do.
func (s *Session) evictThere(done eviction.Result, because error) (eviction.Result, error) {
	bytes := s.usage.Bytes // before the eviction
	if err := s.goBack(because); err != nil {
		return done, err
	}
	result, err := s.manager.Evict(s.caches, done.Target)
	if err == nil {
		err = s.reanchor() // what was evicted on the other device is at new positions in part
	}
	done.Slots, done.Bytes = max(done.Slots, result.Slots), bytes-s.countCache()
	done.Duration += result.Duration
	return done, err
}

// deviceFailed tells whether an eviction's error may be a device's, rather than the caller's or a lack of memory.
func deviceFailed(err error) bool {
	return !errors.Is(err, eviction.ErrPressure) && !errors.Is(err, eviction.ErrMonitor) && !errors.Is(err, eviction.ErrOptions)
}

// goBack moves the session to where it came from, because of an error.
func (s *Session) goBack(because error) error {
	back := s.origin
	if s.logitsAt == onDevice {
		s.logitsAt = nowhere // what such a device has is nothing to go on from
	}
	_, err := s.move(context.Background(), back, s.copyCaches)
	switch {
	case err == nil:
	case s.evicted == 0: // the device does not even give the cache back, or it broke it
		_, err = s.move(context.Background(), back, s.computeCaches)
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

// Setbacks returns the errors of devices that the session came back from; see Move.
func (s *Session) Setbacks() []error { return slices.Clone(s.setbacks) }
