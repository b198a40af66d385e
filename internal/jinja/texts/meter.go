package texts

import (
	"context"
	"fmt"
)

// Bounds on one rendering. A unit of work takes about a nanosecond; published templates over long conversations take less
// than a hundredth of either bound.
const (
	MaxWork   = 1 << 26  // units
	MaxMemory = 40 << 20 // bytes allocated in all, whether still in use or not

	NodeWork   = 48      // units to evaluate one node of the tree
	CheckEvery = 1 << 19 // units between two looks at the context
	ValueBytes = 96      // the cost of a value besides its text: the interface, the header, a dictionary's share
)

// BudgetError says that a template asked for more than one rendering may take.
type BudgetError struct {
	What  string // "units of work", "bytes of memory", …
	Limit int
}

// Error names the limit.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("the template takes more than %d %s", e.Limit, e.What)
}

// A Meter counts the work and the memory of a rendering. It is asked before work is done, and refuses what passes a limit;
// once it has refused, it refuses every later request too.
//
// Invariants: work and memory are not negative.
type Meter struct {
	ctx       context.Context
	work      int // units left
	memory    int // bytes left
	nextCheck int // ctx is looked at when work has fallen to this
}

// NewMeter returns a meter of a part of the bounds: 1 for all, 2 for half.
func NewMeter(ctx context.Context, part int) Meter {
	return Meter{ctx: ctx, work: MaxWork / part, memory: MaxMemory / part, nextCheck: MaxWork/part - 1}
}

// Left returns how much work may still be done, and how many bytes may still be taken.
func (m *Meter) Left() (work, memory int) { return m.work, m.memory }

// Spend asks for n units of work: one for each byte that is looked at one by one.
func (m *Meter) Spend(n int) error {
	if n < 0 || n > m.work {
		m.work = 0
		return &BudgetError{"units of work", MaxWork}
	}
	if m.work -= n; m.work > m.nextCheck {
		return nil
	}
	m.nextCheck = m.work - CheckEvery
	return m.ctx.Err()
}

// Skim asks for the work of copying or comparing n bytes, which a processor does many at a time.
func (m *Meter) Skim(n int) error { return m.Spend(n>>3 + 1) }

// Search asks for the work of looking for part in s.
func (m *Meter) Search(s, part string) error {
	if len(part) > longPart {
		return m.Spend(3*len(s) + len(part))
	}
	return m.Spend(len(s))
}

// longPart is the length from which on package strings looks for a part byte by byte.
const longPart = 32

// Take asks for n bytes of memory, and for the work of filling them.
func (m *Meter) Take(n int) error {
	if n < 0 || n > m.memory {
		m.memory = 0
		return &BudgetError{"bytes of memory", MaxMemory}
	}
	m.memory -= n
	return m.Spend(n>>2 + 1)
}

// TakeValues asks for the memory of n values. Their texts, if they have any, must be parts of other texts.
func (m *Meter) TakeValues(n int) error {
	return m.Take((min(n, MaxMemory/ValueBytes) + 1) * ValueBytes)
}
