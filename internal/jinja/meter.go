package jinja

import (
	"context"
	"fmt"
)

// Bounds on one rendering. A unit of work takes about a nanosecond; published templates over long conversations take less
// than a hundredth of either bound.
const (
	maxWork   = 1 << 26  // units
	maxMemory = 40 << 20 // bytes allocated in all, whether still in use or not

	nodeWork   = 48      // units to evaluate one node of the tree
	checkEvery = 1 << 19 // units between two looks at the context
	valueBytes = 96      // what a value costs beside its text: the interface, the header, a dictionary's share
)

// BudgetError tells that a template asked for more than one rendering may take.
type BudgetError struct {
	What  string // "units of work", "bytes of memory", …
	Limit int
}

// Error names the limit.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("the template takes more than %d %s", e.Limit, e.What)
}

// A meter counts the work and the memory of a rendering. It is asked before work is done, and refuses what passes a limit;
// once it has refused, it refuses every later request too.
//
// Invariants: work and memory are not negative.
type meter struct {
	ctx       context.Context
	work      int // units left
	memory    int // bytes left
	nextCheck int // ctx is looked at when work has fallen to this
}

func newMeter(ctx context.Context) meter {
	return meter{ctx: ctx, work: maxWork, memory: maxMemory, nextCheck: maxWork - 1}
}

// spend asks for n units of work: one for each byte that is looked at one by one.
func (m *meter) spend(n int) error {
	if n < 0 || n > m.work {
		m.work = 0
		return &BudgetError{"units of work", maxWork}
	}
	if m.work -= n; m.work > m.nextCheck {
		return nil
	}
	m.nextCheck = m.work - checkEvery
	return m.ctx.Err()
}

// skim asks for the work of copying or comparing n bytes, of which a processor does many at a time.
func (m *meter) skim(n int) error { return m.spend(n>>3 + 1) }

// search asks for the work of looking for part in s.
func (m *meter) search(s, part string) error {
	if len(part) > longPart {
		return m.spend(3*len(s) + len(part))
	}
	return m.spend(len(s))
}

// longPart is the length from which on package strings looks for a part byte by byte.
const longPart = 32

// take asks for n bytes of memory, and for the work of filling them.
func (m *meter) take(n int) error {
	if n < 0 || n > m.memory {
		m.memory = 0
		return &BudgetError{"bytes of memory", maxMemory}
	}
	m.memory -= n
	return m.spend(n>>2 + 1)
}

// takeValues asks for the memory of n values whose texts, if they have any, are parts of others.
func (m *meter) takeValues(n int) error {
	return m.take((min(n, maxMemory/valueBytes) + 1) * valueBytes)
}
