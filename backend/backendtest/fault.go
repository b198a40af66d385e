package backendtest

import (
	"slices"
	"sync"

	"github.com/antigravity-go/antigravity/tensor"
)

// Fault says when something fails on purpose: a Device, or whatever else asks it before each of its calls. Until it is armed
// nothing does.
type Fault struct {
	Err    error    // what a call that fails returns
	In     []string // the calls that count, by name, and that fail when the fault strikes; empty: all calls
	Once   bool     // only one call fails; else all that count fail from then on
	Lost   bool     // once a call has failed, those that do not count fail as well, as on a device that is lost
	Spared []string // calls that go on although the fault strikes

	mu    sync.Mutex
	armed bool
	left  int // while armed: calls that still succeed; negative: one has failed
}

// Arm lets the fault strike after some calls.
func (f *Fault) Arm(calls int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.left = true, calls
}

// Disarm lets everything succeed.
func (f *Fault) Disarm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
}

// Struck reports whether a call has failed since the fault was last armed.
func (f *Fault) Struck() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left < 0
}

// Before is asked ahead of each call, and returns the error with which it is to fail. On which tensor does not matter.
func (f *Fault) Before(call string, _ *tensor.Tensor) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := len(f.In) == 0 || slices.Contains(f.In, call)
	struck := f.left < 0
	switch {
	case !f.armed:
		return nil
	case counts && f.left > 0:
		f.left--
		return nil
	case slices.Contains(f.Spared, call), !counts && !(struck && f.Lost), counts && struck && f.Once:
		return nil
	}
	f.left = -1
	return f.Err
}
