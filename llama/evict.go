package llama

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/precise"
)

// CacheUsage counts what a session's cache holds and what it has given up.
type CacheUsage struct {
	Bytes       int64      // keys and values of the slots in use, and states of recurrent layers with their snapshots
	PeakBytes   int64      // the most that Bytes has been
	RecordBytes int64      // the eviction policy's records
	Parts       CacheParts // of Bytes and RecordBytes

	Evictions    int           // how often slots were given up
	EvictedSlots int           // slots that evictions freed, all together; each eviction counts for the layer in which it freed the most
	EvictionTime time.Duration // what choosing slots and moving the others together took
}

// String sums up: "1081344 bytes (at most 1310720, and 557056 for the policy), 24 evictions of 1536 slots in 56ms". If the bytes are of several kinds, they
// follow the first number: "1081344 bytes (whole 0.9 MB, windows 180 kB) (at most …".
func (u CacheUsage) String() string {
	parts := u.Parts
	parts.Records = 0
	return fmt.Sprintf("%d bytes%s (at most %d, and %d for the policy), %d evictions of %d slots in %v",
		u.Bytes, parts.beyond(), u.PeakBytes, u.RecordBytes, u.Evictions, u.EvictedSlots, u.EvictionTime.Round(time.Microsecond))
}

// CacheUsage returns the present figures. It is for the goroutine that uses the session.
func (s *Session) CacheUsage() CacheUsage { return s.sequence.usage }

// Evict shrinks each layer's cache to targetLen slots now, by the session's policy: for host programs that need memory at once,
// and for experiments. A cache with no more slots is left as it is. It is not interrupted.
//
// When a device fails that the session was moved to, the session goes back to the model that it came from and evicts there; see Move. If
// that is not possible, and the eviction failed while slots were being moved, further calls give errors that wrap kvcache.ErrBroken until
// Truncate(0). If no slot had been moved, the session is as it was, and can evict again.
func (s *Session) Evict(targetLen int) (result eviction.Result, err error) {
	if err := s.begin(); err != nil {
		return eviction.Result{}, err
	}
	defer s.end()
	err = s.with(func(c *sequence) error {
		if err := c.settle(); err != nil {
			return err
		}
		if err := c.onDevice(context.Background(), func() error { return catchUp(context.Background(), c) }); err != nil {
			return err
		}
		result, err = c.evict(func() (eviction.Result, error) { return c.manager.Evict(c.memory.Whole(), targetLen) }, nil)
		return err
	})
	return result, err
}

// evict runs an eviction, and notes what it did in evicted and usage. If the device fails, the conversation goes back to origin, and again
// shrinks its caches there to the target of the eviction that failed; nil: Manager.Evict does.
func (c *sequence) evict(run func() (eviction.Result, error), again func(target int) (eviction.Result, error)) (result eviction.Result, err error) {
	if c.origin != nil && c.manager.Policy() != eviction.None {
		// The logits depend on slots that are evicted now, so that they could not be computed again if the device failed later.
		if err := c.fetchLogits(); err != nil {
			return eviction.Result{}, err
		}
	}
	var began time.Time
	if c.trace.Evict != nil {
		began = precise.Now()
	}
	before, tried := c.usage.Bytes, 0
	var callers error // an error that is not the device's
	err = c.onDevice(context.Background(), func() error {
		done := result
		if tried++; tried > 1 { // down to the target of the eviction that failed, which may have done so in some of the layers
			run = func() (eviction.Result, error) {
				if again == nil {
					return c.manager.Evict(c.memory.Whole(), done.Target)
				}
				return again(done.Target)
			}
		}
		var err error
		if result, err = run(); err == nil && c.options.Positions == ReanchorSinks && (result.Slots > 0 || tried > 1) {
			err = c.memory.Reanchor(c.sinks(), len(c.tokens))
		}
		if err == nil && (result.Slots > 0 || tried > 1) {
			err = c.memory.States.Pin() // earlier tokens cannot be computed again
		}
		result.Slots, result.Duration = max(result.Slots, done.Slots), result.Duration+done.Duration
		if tried > 1 {
			result.Reason, result.Target = done.Reason, done.Target
		}
		if err != nil && !deviceFailed(err) {
			callers, err = err, nil
		}
		return err
	})
	if err == nil {
		err = callers
	}
	c.count()
	if result.Slots > 0 {
		c.evicted, c.latest = len(c.tokens), 0
		c.usage.Evictions++
		c.usage.EvictedSlots += result.Slots
		c.usage.EvictionTime += result.Duration
		result.Bytes = before - c.usage.Bytes
		if c.trace.Evict != nil {
			c.trace.Evict(EvictInfo{c.number, len(c.tokens), began, result, c.used, c.usage.Bytes})
		}
	}
	if err != nil && result.Slots > 0 && c.options.Positions == ReanchorSinks {
		c.memory.Break(err) // some layers' sinks are at their new positions, others' are not
	}
	switch {
	case errors.Is(err, eviction.ErrPressure):
		return result, fmt.Errorf("%w: %w", ErrContextFull, err)
	case err != nil:
		return result, fmt.Errorf("evict at token %d: %w", len(c.tokens), err)
	}
	return result, nil
}

// deviceFailed reports whether an eviction's error may be a device's, rather than the caller's or a lack of memory.
func deviceFailed(err error) bool {
	return !errors.Is(err, eviction.ErrPressure) && !errors.Is(err, eviction.ErrMonitor) && !errors.Is(err, eviction.ErrOptions)
}
