package llama

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// goBack moves the sequence back to origin because of an error, which it adds to setbacks; origin must not be nil, and is nil afterwards.
// If going back fails too, the sequence stays on its device, and both errors are returned. All work on a device calls goBack through
// onDevice.
func (c *sequence) goBack(because error) error {
	back := c.origin
	m, err := c.move(context.Background(), back, copyMemory)
	switch {
	case err == nil:
	case c.evicted == 0: // the cache cannot be read from the device, or the failure left it broken: compute it anew
		m, err = c.move(context.Background(), back, computeMemory)
	default:
		err = fmt.Errorf("the cache cannot be copied, nor computed anew from %d tokens of which some were evicted: %w", len(c.tokens), err)
	}
	if err != nil {
		return errors.Join(because, fmt.Errorf("going back to %s failed too: %w", back.devices.name(), err))
	}
	c.trace.move(c, m, because)
	c.origin = nil
	c.setbacks = append(c.setbacks, because)
	return nil
}

// DeviceErrors returns why the session went back to the model that it had been moved from, an error for each time; see Move.
func (s *Session) DeviceErrors() []error { return slices.Clone(s.sequence.setbacks) }
