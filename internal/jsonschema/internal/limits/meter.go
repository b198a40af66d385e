package limits

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// Meter measures the work of one compilation.
type Meter struct {
	budget *Budget
	arena  *regular.Arena
	effort int     // of the arena that is spent already
	depth  int     // calls that are within each other: see deeper
	Here   Subject // what is being compiled, as far as known
}

func NewMeter(b *Budget, arena *regular.Arena) *Meter {
	return &Meter{budget: b, arena: arena, effort: arena.Effort(), Here: Unknown{}}
}

// Spend takes steps out of the budget, and what the arena has done since the last call. It ends the compilation if there are none left.
func (c *Meter) Spend(steps int) {
	effort := c.arena.Effort()
	steps += (effort - c.effort) / effortsOfStep
	c.effort = effort
	ok, err := c.budget.spend(steps)
	if err != nil {
		panic(failure{err})
	}
	if !ok {
		TooComplex(c.Here, c.Here.Telling("properties"))
	}
}

// effortsOfStep is how many units of regular.Arena's effort are about as much work as a step.
const effortsOfStep = 4

// Deeper counts a call that is within others, and shallower its end. Chains of schemas can be as long as the text.
func (c *Meter) Deeper(s Subject) {
	c.Spend(1)
	if c.depth++; c.depth > maxCalls {
		Refuse(s, s.Telling("$ref"), fmt.Sprintf("schemas refer to each other more than %d deep", maxCalls))
	}
}

func (c *Meter) Shallower() { c.depth-- }

// maxCalls bounds how deep calls are within each other, for the stack's sake: about 4 kB each.
const maxCalls = 5000

// TooComplex ends the compilation in either mode.
func TooComplex(s Subject, keyword string) { Refuse(s, keyword, "it makes the schema too complex") }

// CheckArena ends the compilation if the arena is at its bounds.
func (c *Meter) CheckArena() {
	if c.arena.Effort() > maxEffort || c.arena.Err() != nil {
		panic(failure{c.outgrown()})
	}
}

// maxEffort is how much effort of the arena there may be.
const maxEffort = 12_000_000

// outgrown returns the error that the expressions of the schema that is being compiled are too many.
func (c *Meter) outgrown() error {
	return &UnsupportedError{c.Here.Telling("pattern"), c.Here.Pointer(), "the patterns, formats, bounds and listed values here are too complex together"}
}

// LongText is how many bytes of a text are about as much work as a step.
const LongText = 32

// Unlimited is the upper bound of a count that has none.
const Unlimited = 1<<31 - 1

// Catch is deferred. It sets *err to the error that ended the compilation.
func (c *Meter) Catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case failure:
		*err = e.err
	default:
		panic(e)
	}
	if c.arena.Err() != nil && c.budget.ctx.Err() == nil { // then nothing that was found out is right
		*err = c.outgrown()
	}
}
