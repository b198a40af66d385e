package llama

import (
	"errors"
	"fmt"
	"time"

	"github.com/antigravity-go/antigravity/eviction"
)

// CacheUsage tells what a session's cache holds and what it has given up.
type CacheUsage struct {
	Bytes       int64 // keys and values of the slots in use
	PeakBytes   int64 // the most that Bytes has been
	RecordBytes int64 // what the eviction policy needs beside them

	Evictions    int           // how often slots were given up
	EvictedSlots int           // how many slots in all; of each eviction counts the layer that gave up the most
	EvictionTime time.Duration // what choosing slots and moving the others together took
}

// String sums up: "1081344 bytes (at most 1310720, and 557056 for the policy), 24 evictions of 1536 slots in 56ms".
func (u CacheUsage) String() string {
	return fmt.Sprintf("%d bytes (at most %d, and %d for the policy), %d evictions of %d slots in %v",
		u.Bytes, u.PeakBytes, u.RecordBytes, u.Evictions, u.EvictedSlots, u.EvictionTime.Round(time.Microsecond))
}

// CacheUsage returns the present figures. It is for the goroutine that uses the session.
func (s *Session) CacheUsage() CacheUsage { return s.usage }

// Evict shrinks each layer's cache to targetLen slots now, by the session's policy: for host programs that need memory at once,
// and for experiments. A cache with no more slots is left as it is. It is not interrupted.
//
// When a device fails that the session was moved to, the session goes back to where it came from and evicts there; see Move. If
// that is not possible, and the eviction failed while slots were being moved, further calls give errors that wrap
// kvcache.ErrBroken until Truncate(0). If no slot had been moved, the session is as it was, and can evict again.
func (s *Session) Evict(targetLen int) (eviction.Result, error) {
	if err := s.begin(); err != nil {
		return eviction.Result{}, err
	}
	defer s.end()
	return s.evict(func() (eviction.Result, error) { return s.manager.Evict(s.caches, targetLen) })
}

// bounded tells whether the policy keeps the cache within its capacity by itself, during prompts too, so that a full cache never
// limits the conversation.
func (s *Session) bounded() bool {
	return s.manager.Policy().Budget() > 0 && !s.options.EvictAfterPrompt
}

// sinks returns how many tokens at the beginning of the conversation a sliding window protects: those that ReanchorSinks gives
// new positions. It is 0 for other policies.
func (s *Session) sinks() int {
	if c, ok := s.manager.Policy().(eviction.Contiguous); ok {
		return c.ProtectedPrefix()
	}
	return 0
}

// maybeEvict lets the policy shrink the cache between two steps. last is false between two chunks of a prompt, and true after a
// prompt's last chunk and after a generated token.
func (s *Session) maybeEvict(last bool) error {
	if !last && s.options.EvictAfterPrompt {
		return nil
	}
	// The monitor is the caller's code, which may close the session or the model: it is asked while no lock is held.
	if err := s.manager.Watch(); err != nil {
		return fmt.Errorf("evict at token %d: %w", len(s.tokens), err)
	}
	_, err := s.evict(func() (eviction.Result, error) { return s.manager.Relieve(s.caches) })
	return err
}

// evict runs an eviction, at origin if the session's device fails, and notes what it did in evicted and usage.
func (s *Session) evict(run func() (eviction.Result, error)) (eviction.Result, error) {
	if err := s.lockOpen(); err != nil {
		return eviction.Result{}, err
	}
	defer s.memoryMu.Unlock()
	if s.origin != nil && s.manager.Policy() != eviction.None {
		// The logits depend on slots that are evicted now, so that they could not be computed again if the device failed later.
		if err := s.fetchLogits(); err != nil {
			return eviction.Result{}, err
		}
	}
	result, err := s.shrink(run)
	if err != nil && s.origin != nil && deviceFailed(err) {
		result, err = s.evictAtOrigin(result, err)
	}
	if result.Slots > 0 {
		s.evicted = len(s.tokens)
		s.usage.Evictions++
		s.usage.EvictedSlots += result.Slots
		s.usage.EvictionTime += result.Duration
	}
	if err != nil && result.Slots > 0 && s.options.Positions == ReanchorSinks {
		s.caches[0].Break(err) // some layers' sinks are at their new positions, others' are not
	}
	s.countCache()
	switch {
	case errors.Is(err, eviction.ErrPressure):
		return result, fmt.Errorf("%w: %w", ErrContextFull, err)
	case err != nil:
		return result, fmt.Errorf("evict at token %d: %w", len(s.tokens), err)
	}
	return result, nil
}

// shrink runs an eviction and, if any slots were evicted, gives the sinks their new positions.
func (s *Session) shrink(run func() (eviction.Result, error)) (eviction.Result, error) {
	result, err := run()
	if err == nil && result.Slots > 0 {
		err = s.reanchor()
	}
	return result, err
}

// reanchor gives the sinks the positions just before the window, if SessionOptions.Positions is ReanchorSinks.
func (s *Session) reanchor() error {
	if s.options.Positions != ReanchorSinks {
		return nil
	}
	for i, c := range s.caches {
		if n := min(s.sinks(), c.Len()-1); n > 0 {
			if err := c.Reanchor(n, len(s.tokens)-c.Len()); err != nil {
				return fmt.Errorf("layer %d: %w", i, err)
			}
		}
	}
	return nil
}
