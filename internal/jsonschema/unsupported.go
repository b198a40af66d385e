package jsonschema

import (
	"cmp"
	"fmt"
)

// UnsupportedError says that a constraint cannot promise what a keyword of a schema demands.
type UnsupportedError struct {
	Keyword string
	Path    string // the JSON pointer of the schema that has the keyword; "" is the whole schema
	Reason  string
}

// Error names the keyword, its place and the reason.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the keyword %q at %q cannot be promised: %s", e.Keyword, e.Path, e.Reason)
}

// failure carries an error up to Compile.
type failure struct{ err error }

// fail ends the compilation.
func (c *compiler) fail(format string, args ...any) {
	panic(failure{fmt.Errorf(format, args...)})
}

// unsupported ends the compilation, or notes in lossy mode that a keyword is left out.
func (c *compiler) unsupported(s *schema, keyword, format string, args ...any) {
	e := UnsupportedError{keyword, s.path.String(), fmt.Sprintf(format, args...)}
	if !c.lossy {
		panic(failure{&e})
	}
	c.spend(1 + (len(e.Path)+len(e.Reason))/longText)
	if c.inexact(s); !c.noted[e] && len(c.noted) < maxLeft {
		c.noted[e] = true
		*c.left = append(*c.left, &e)
	}
}

// inexact notes that something is left out of s.
func (c *compiler) inexact(s *schema) {
	s.inexact = true
	if s.value != nil {
		c.loose[spot{s.value, s.in.root}] = true
	}
	c.loosen(s)
}

// loosen notes that s, and what uses it for the same value, allows more than it says.
func (c *compiler) loosen(s *schema) {
	for todo := []*schema{s}; len(todo) > 0; {
		s, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if !s.loose {
			s.loose, todo = true, append(todo, s.users...)
		}
	}
}

// link notes in the schemas that apply to the same value as s that s uses them.
func (c *compiler) link(s *schema) {
	if !c.lossy { // nothing is ever loose
		return
	}
	for _, t := range s.applicators {
		c.use(s, t)
	}
	if s.not != nil {
		c.use(s, s.not)
	}
}

func (c *compiler) use(s, t *schema) {
	if t.users = append(t.users, s); t.loose {
		c.loosen(s)
	}
}

// maxLeft bounds the list of what a lossy constraint leaves out.
const maxLeft = 1000

// longText is how many bytes of a text are about as much work as a step.
const longText = 32

// tooComplex ends the compilation in either mode.
func (c *compiler) tooComplex(s *schema, keyword string) {
	panic(failure{&UnsupportedError{keyword, s.path.String(), "it makes the schema too complex"}})
}

// spend takes steps out of the budget, and what the arena has done since the last call. It ends the compilation if there are none left.
func (c *compiler) spend(steps int) {
	effort := c.r.Effort()
	steps += (effort - c.effort) / effortsOfStep
	c.effort = effort
	ok, err := c.o.Budget.spend(steps)
	if err != nil {
		panic(failure{err})
	}
	if !ok {
		s := cmp.Or(c.here, c.always)
		c.tooComplex(s, s.telling("properties"))
	}
}

// effortsOfStep is how many units of regular.Arena's effort are about as much work as a step.
const effortsOfStep = 4

// deeper counts a call that is within others, and shallower its end. Chains of schemas can be as long as the text.
func (c *compiler) deeper(s *schema) {
	c.spend(1)
	if c.depth++; c.depth > maxCalls {
		panic(failure{&UnsupportedError{s.telling("$ref"), s.path.String(), fmt.Sprintf("schemas refer to each other more than %d deep", maxCalls)}})
	}
}

func (c *compiler) shallower() { c.depth-- }

// maxCalls bounds how deep calls are within each other, for the stack's sake: about 4 kB each.
const maxCalls = 5000

// telling returns the keyword of s that most likely makes it complex; other if none does.
func (s *schema) telling(other string) string {
	for _, k := range []struct {
		name string
		has  bool
	}{
		{"pattern", s.hasPattern}, {"format", s.format != ""}, {"multipleOf", s.number != nil}, {"enum", s.enums != nil}, {"patternProperties", s.byPattern != nil},
		{"anyOf", s.anyOf != nil}, {"oneOf", s.oneOf != nil}, {"not", s.not != nil}, {"allOf", s.allOf != nil}, {"if", s.cond != nil}, {"$ref", s.ref != nil},
		{"dependentSchemas", s.needs != nil}, {"properties", s.properties != nil}, {"required", s.required != nil}, {"prefixItems", s.prefix != nil},
	} {
		if k.has {
			return k.name
		}
	}
	return other
}
