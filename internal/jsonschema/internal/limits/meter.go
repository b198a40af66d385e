package limits

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// Meter measures the work of one compilation, and holds the schema that is being compiled, for errors.
type Meter struct {
	budget *Budget
	arena  *regular.Arena
	effort int     // of the arena that is spent already
	depth  int     // calls that are within each other: see Deeper
	Here   Subject // the schema that is being compiled, for errors
}

// NewMeter returns a Meter of a compilation that takes steps out of b and makes expressions in arena.
func NewMeter(b *Budget, arena *regular.Arena) *Meter {
	return &Meter{budget: b, arena: arena, effort: arena.Effort(), Here: Unknown{}}
}

// Spend takes steps out of the budget, and what the arena has done since the last call. It ends the compilation if too few
// are left.
func (m *Meter) Spend(steps int) {
	effort := m.arena.Effort()
	steps += (effort - m.effort) / effortsOfStep
	m.effort = effort
	ok, err := m.budget.spend(steps)
	if err != nil {
		panic(failure{err})
	}
	if !ok {
		TooComplex(m.Here, m.Here.Suspect("properties"))
	}
}

// effortsOfStep is how many units of regular.Arena's effort are about as much work as a step.
const effortsOfStep = 4

// Deeper counts a call that is within others, and Shallower the end of that call. Chains of schemas can be as long as the text.
func (m *Meter) Deeper(s Subject) {
	m.Spend(1)
	if m.depth++; m.depth > maxCalls {
		Refuse(s, s.Suspect("$ref"), fmt.Sprintf("schemas refer to each other more than %d deep", maxCalls))
	}
}

// Shallower counts the end of a call that Deeper has counted.
func (m *Meter) Shallower() { m.depth-- }

// maxCalls bounds how deep calls are within each other, for the stack's sake: about 4 kB each.
const maxCalls = 5000

// TooComplex ends the compilation, in lossy mode too.
func TooComplex(s Subject, keyword string) { Refuse(s, keyword, "it makes the schema too complex") }

// CheckArena ends the compilation if the arena is at its bounds.
func (m *Meter) CheckArena() {
	if m.arena.Effort() > maxEffort || m.arena.Err() != nil {
		panic(failure{m.outgrown()})
	}
}

// maxEffort is how much effort of the arena there may be.
const maxEffort = 12_000_000

// outgrown returns the error that the expressions of the schema that is being compiled are too many.
func (m *Meter) outgrown() error {
	return &UnsupportedError{m.Here.Suspect("pattern"), m.Here.Pointer(), "the patterns, formats, bounds and listed values here are too complex together"}
}

// LongText is how many bytes of a text are about as much work as a step.
const LongText = 32

// Unlimited stands for the upper bound of a count without an upper bound.
const Unlimited = 1<<31 - 1

// Catch is deferred. It sets *err to the error that ended the compilation.
func (m *Meter) Catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case failure:
		*err = e.err
	default:
		panic(e)
	}
	if m.arena.Err() != nil && m.budget.ctx.Err() == nil { // then nothing that was found out is right
		*err = m.outgrown()
	}
}
