package jsonschema

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// meter measures the work of one compilation.
type meter struct {
	budget *Budget
	arena  *regular.Arena
	effort int     // of the arena that is spent already
	depth  int     // calls that are within each other: see deeper
	here   subject // what is being compiled, as far as known
}

func newMeter(b *Budget, arena *regular.Arena) *meter {
	return &meter{budget: b, arena: arena, effort: arena.Effort(), here: unknown{}}
}

// spend takes steps out of the budget, and what the arena has done since the last call. It ends the compilation if there are none left.
func (c *meter) spend(steps int) {
	effort := c.arena.Effort()
	steps += (effort - c.effort) / effortsOfStep
	c.effort = effort
	ok, err := c.budget.spend(steps)
	if err != nil {
		panic(failure{err})
	}
	if !ok {
		tooComplex(c.here, c.here.telling("properties"))
	}
}

// effortsOfStep is how many units of regular.Arena's effort are about as much work as a step.
const effortsOfStep = 4

// deeper counts a call that is within others, and shallower its end. Chains of schemas can be as long as the text.
func (c *meter) deeper(s subject) {
	c.spend(1)
	if c.depth++; c.depth > maxCalls {
		refuse(s, s.telling("$ref"), fmt.Sprintf("schemas refer to each other more than %d deep", maxCalls))
	}
}

func (c *meter) shallower() { c.depth-- }

// maxCalls bounds how deep calls are within each other, for the stack's sake: about 4 kB each.
const maxCalls = 5000

// tooComplex ends the compilation in either mode.
func tooComplex(s subject, keyword string) { refuse(s, keyword, "it makes the schema too complex") }

// checkArena ends the compilation if the arena is at its bounds.
func (c *meter) checkArena() {
	if c.arena.Effort() > maxEffort || c.arena.Err() != nil {
		panic(failure{c.outgrown()})
	}
}

// maxEffort is how much effort of the arena there may be.
const maxEffort = 12_000_000

// outgrown returns the error that the expressions of the schema that is being compiled are too many.
func (c *meter) outgrown() error {
	return &UnsupportedError{c.here.telling("pattern"), c.here.pointer(), "the patterns, formats, bounds and listed values here are too complex together"}
}

// longText is how many bytes of a text are about as much work as a step.
const longText = 32

// unlimited is the upper bound of a count that has none.
const unlimited = 1<<31 - 1

// catch is deferred. It sets *err to the error that ended the compilation.
func (c *meter) catch(err *error) {
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
