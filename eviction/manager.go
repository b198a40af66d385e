package eviction

import (
	"errors"
	"fmt"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/kvcache"
)

// A session calls Watch and then EvictIfDue between two tokens. EvictIfDue evicts to the policy's budget if the caches have passed it. Otherwise,
// if the monitor answered fewer bytes than the threshold, EvictIfDue shrinks the mean cache to a share of its slots. After that it waits for
// the memory to show in the monitor's answers. With a threshold of 1 GiB, the defaults, and a mean of 400 slots a head:
//
//	Watch     the monitor answers 0.5 GiB
//	EvictIfDue   shrinks to max(400·0.75, 64) = 300 slots
//	EvictIfDue   0.1 s later, with 301 slots: waits, since 2 s have not passed and 301 is less than 400
//	EvictIfDue   3 s later, with 310 slots, memory still short: shrinks to 232

var (
	// ErrPressure is wrapped by the error of a Manager that finds memory short while its policy is None, which cannot shrink caches.
	ErrPressure = errors.New("eviction: memory is short")
	// ErrMonitor is wrapped by a Manager's error if its monitor failed.
	ErrMonitor = errors.New("eviction: the monitor of memory failed")
)

// Reason says why slots were given up.
type Reason int

// The reasons.
const (
	ByBudget   Reason = iota + 1 // the policy's budget was passed
	ByPressure                   // memory was short
	ByRequest                    // the caller asked
)

// String names the reason.
func (r Reason) String() string {
	switch r {
	case ByBudget:
		return "budget"
	case ByPressure:
		return "memory pressure"
	case ByRequest:
		return "request"
	}
	return "none"
}

// Result says what an eviction did.
type Result struct {
	Reason   Reason        // 0: there was no eviction
	Target   int           // slots to which each layer, or the mean of the layers of a Layered policy, was to shrink
	Slots    int           // slots given up by the layer that gave up the most: the mean of its KV heads, rounded up
	Bytes    int64         // bytes of keys and values given up, in all layers
	Duration time.Duration // of the whole eviction
}

// ManagerOptions say when memory is short. With the zero value it never is.
type ManagerOptions struct {
	Monitor     Monitor // nil: nobody watches memory
	Threshold   int64   // memory is short when fewer bytes than this are available
	TargetRatio float64 // the share of their slots that the caches keep when memory is short; 0: 0.75
	Floor       int     // slots, the mean of layers and heads, below which caches do not shrink when memory is short; 0: 64
}

// Manager evicts for the layers of one session. Their caches are of type C; each method takes all of them, in the order of the layers. It
// is not safe for concurrent use.
type Manager[C Cache] struct {
	// Invariants: policy is not nil. Without a Monitor available is Unknown, and Threshold 0. The options' TargetRatio is above 0 and below 1,
	// and Floor at least 1: NewManager fills their defaults in.

	options   ManagerOptions
	policy    Policy
	now       func() time.Time
	read      time.Time // when the monitor was last asked; zero: never
	available int64     // what the monitor answered then
	relieved  time.Time // when caches were last shrunk because memory was short
	mean      int       // the mean number of slots of a layer's KV head before relieved
	ago       earlier   // what Due shows to the policy, kept to spare an allocation per token
}

const (
	readEvery   = 20 * time.Millisecond // the monitor is asked again when its last answer is as old as this
	relieveTime = 2 * time.Second       // memory given back by an eviction may show in the monitor's answers only after this

	defaultTargetRatio = 0.75 // for a ManagerOptions.TargetRatio of 0
	defaultFloor       = 64   // for a ManagerOptions.Floor of 0
)

// NewManager makes a manager for a policy; nil stands for None.
func NewManager[C Cache](p Policy, o ManagerOptions) (*Manager[C], error) {
	if p == nil {
		p = None
	}
	switch {
	case o.Monitor == nil && o.Threshold != 0:
		return nil, fmt.Errorf("%w: a memory threshold of %d bytes and no monitor: give monitor.NewSystem's or your own", ErrOptions, o.Threshold)
	case o.Monitor != nil && o.Threshold <= 0:
		return nil, fmt.Errorf("%w: a monitor of memory and a threshold of %d bytes: say under which memory is short", ErrOptions, o.Threshold)
	case !(o.TargetRatio >= 0 && o.TargetRatio < 1): // NaN too
		return nil, fmt.Errorf("%w: a target ratio of %v: it must be above 0 and below 1", ErrOptions, o.TargetRatio)
	case o.Floor < 0:
		return nil, fmt.Errorf("%w: a floor of %d slots: it must be positive, or 0 for the default", ErrOptions, o.Floor)
	case p.Budget() < 0 || p.Budget() > maxBudget:
		return nil, fmt.Errorf("%w: the policy %s with a budget of %d slots: it must be 0 to %d", ErrOptions, p.Name(), p.Budget(), maxBudget)
	}
	if o.TargetRatio == 0 {
		o.TargetRatio = defaultTargetRatio
	}
	if o.Floor == 0 {
		o.Floor = defaultFloor
	}
	return &Manager[C]{options: o, policy: p, now: precise.Now, available: Unknown}, nil
}

// Policy returns the policy.
func (m *Manager[C]) Policy() Policy { return m.policy }

// Tracking returns what caches must record for the policy, and whether they must record at all.
func (m *Manager[C]) Tracking() (t kvcache.Tracking, on bool) {
	if tracker, ok := m.policy.(Tracker); ok {
		return tracker.Tracking(), true
	}
	return t, false
}

// EvictIfDue shrinks the caches of all layers if the policy says so, or if memory was short when Watch last asked the monitor. It is called
// between tokens, after Watch. When memory is short and the policy is None, the error wraps ErrPressure and the caches are as they were.
func (m *Manager[C]) EvictIfDue(caches []C) (Result, error) {
	if m.Due(caches, 0) {
		return m.shrink(caches, ByBudget, m.policy.Budget())
	}
	if m.available >= m.options.Threshold {
		return Result{}, nil
	}
	if m.policy == None {
		return Result{}, fmt.Errorf("%w: %d bytes are available, fewer than %d, and the eviction policy is none", ErrPressure, m.available, m.options.Threshold)
	}
	used, heads := totals(caches)
	mean := used / max(heads, 1)
	target := max(int(float64(mean)*m.options.TargetRatio), m.options.Floor)
	// The memory that an eviction gave back may not show yet: wait, instead of evicting again, while the caches are shorter than they
	// were before.
	waiting := m.now().Sub(m.relieved) < relieveTime && mean < m.mean
	if target >= mean || waiting {
		return Result{}, nil
	}
	result, err := m.shrink(caches, ByPressure, target)
	m.relieved, m.mean = m.now(), mean
	return result, err
}

// Due reports whether the policy's budget is passed, or would be if the latest back tokens were not there yet, or, for a negative back, if
// -back more were there: by any layer, or, for a Layered policy, by the mean of the layers. A caller that computes several
// tokens at once, and may not keep all, finds the token after which an eviction is due. back is at most the number of tokens
// since the last eviction. Due does not ask the monitor and allocates nothing.
func (m *Manager[C]) Due(caches []C, back int) bool {
	if _, ok := m.policy.(Layered); ok {
		budget := m.policy.Budget()
		used, heads := totals(caches)
		return budget > 0 && heads > 0 && used/heads-back >= budget+slack(budget)
	}
	for _, c := range caches {
		m.ago = earlier{c, back}
		if m.policy.ShouldEvict(&m.ago, m.available) {
			return true
		}
	}
	return false
}

// totals returns the number of slots in use in all KV heads of all layers together, and the number of these heads.
func totals[C Cache](caches []C) (slots, heads int) {
	for _, c := range caches {
		slots += usedSlots(c)
		heads += c.KVHeads()
	}
	return slots, heads
}

// Evict shrinks the caches to targetLen slots now, because the caller asks for it. A Layered policy shrinks them to a mean of
// targetLen slots, or of its budget if that is less; in the caches of a Headed policy targetLen is the mean of the KV heads.
func (m *Manager[C]) Evict(caches []C, targetLen int) (Result, error) {
	return m.shrink(caches, ByRequest, targetLen)
}

// Slots returns the capacity that each layer's cache, of kvHeads heads, needs when up to chunk tokens are added between two calls of
// EvictIfDue; 0 when the policy does not evict of its own accord. For a Headed policy it is what one head can come to need, far more
// than the mean.
func (m *Manager[C]) Slots(layers, kvHeads, chunk int) int {
	budget := m.policy.Budget()
	if budget == 0 {
		return 0
	}
	spare := slack(budget)
	if layered, ok := m.policy.(Layered); ok {
		// The mean decides when to evict: while other layers are still short of their shares, one may be this far beyond its own.
		spare += slack(budget) * layers
		budget = max(layered.LayerTarget(0, layers, budget), layered.LayerTarget(layers-1, layers, budget))
	}
	slots := budget + spare
	if headed, ok := m.policy.(Headed); ok {
		slots = headed.HeadSlots(kvHeads, slots)
	}
	return slots + chunk
}

// Watch asks the monitor, if there is one and its last answer is old, for the next EvictIfDue. The error wraps ErrMonitor. A caller that locks
// the caches holds its lock during EvictIfDue only, because a monitor may be the program's own code and may need the same lock.
func (m *Manager[C]) Watch() error {
	if m.options.Monitor == nil {
		return nil
	}
	now := m.now()
	if !m.read.IsZero() && now.Sub(m.read) < readEvery {
		return nil
	}
	m.read = now
	available, err := m.options.Monitor.Available()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMonitor, err)
	}
	m.available = available
	return nil
}

// shrink evicts in all layers. If it fails, the result covers the work done until then, and a call of Evict with the result's Target does
// the rest.
func (m *Manager[C]) shrink(caches []C, reason Reason, target int) (result Result, err error) {
	began := m.now()
	layered, _ := m.policy.(Layered)
	if layered != nil {
		target = min(target, m.policy.Budget()) // otherwise the layers with the most slots would grow past what Slots says
	}
	result = Result{Reason: reason, Target: target}
	for i, c := range caches {
		slots, bytes := usedSlots(c), c.MemoryUsage()
		layerTarget := target
		if layered != nil {
			layerTarget = layered.LayerTarget(i, len(caches), target)
		}
		keep, err := m.policy.Evict(c, layerTarget)
		if err == nil && keep != nil {
			err = c.Keep(keep)
		}
		if err != nil {
			result.Duration = m.now().Sub(began)
			return result, fmt.Errorf("layer %d: %w", i, err)
		}
		heads := c.KVHeads()
		result.Slots = max(result.Slots, (slots-usedSlots(c)+heads-1)/heads)
		result.Bytes += bytes - c.MemoryUsage()
	}
	if result.Slots == 0 {
		return Result{}, nil
	}
	result.Duration = m.now().Sub(began)
	return result, nil
}
