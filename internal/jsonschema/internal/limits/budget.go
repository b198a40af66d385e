// Package limits bounds what the compilation of a schema may take, and carries the errors that end it.
//
// The steps of a compilation call each other deeply, and any of these calls may find that the schema is wrong, that a keyword cannot be
// promised, or that the Budget is spent. Such a call panics with the error (Fail, Refuse, Meter.Spend), and Meter.Catch returns the error
// to the caller of the compilation. No panic leaves package jsonschema.
package limits

import "context"

// Budget is the work that compilations that belong together may take: one schema, or those of all functions on offer. Every phase, from
// reading the text to making rules, takes steps out of it, so that no schema can make any phase long; and a step sees when the context
// has ended. One goroutine at a time uses a Budget.
//
// A step is about 50 ns, or 50 bytes: what a loop does with one schema, value, member or name.
type Budget struct {
	ctx   context.Context
	spent int
	most  int
}

// maxSteps is how many steps there are in a Budget.
const maxSteps = 6_000_000

// patience is after how many steps a Budget looks at its context: about every 0.2 ms.
const patience = 4096

// NewBudget returns a Budget with all its steps. Taking steps after ctx has ended returns the error of ctx.
func NewBudget(ctx context.Context) *Budget { return &Budget{ctx: ctx, most: maxSteps} }

// Limit lowers how many steps the Budget has.
func (b *Budget) Limit(steps int) { b.most = min(steps, maxSteps) }

// Spent returns how many steps were taken.
func (b *Budget) Spent() int { return b.spent }

// spend takes steps. It returns false if more steps are taken than there are, and the context's error when the context has ended.
func (b *Budget) spend(steps int) (ok bool, err error) {
	before := b.spent
	if b.spent += steps; b.spent/patience != before/patience {
		err = b.ctx.Err()
	}
	return b.spent <= b.most, err
}
