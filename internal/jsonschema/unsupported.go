package jsonschema

import "fmt"

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
	e := &UnsupportedError{keyword, s.path, fmt.Sprintf(format, args...)}
	if !c.lossy {
		panic(failure{e})
	}
	for _, old := range c.left {
		if *old == *e {
			return
		}
	}
	if s.inexact = true; len(c.left) < maxLeft {
		c.left = append(c.left, e)
	}
}

// spend takes steps out of the budget. It ends the compilation if there are none left.
func (c *compiler) spend(steps int) {
	switch ok, err := c.o.Budget.spend(steps); {
	case err != nil:
		panic(failure{err})
	case !ok:
		c.tooComplex(c.always, "properties")
	}
}

// maxLeft bounds the list of what a lossy constraint leaves out.
const maxLeft = 1000

// tooComplex ends the compilation in either mode.
func (c *compiler) tooComplex(s *schema, keyword string) {
	panic(failure{&UnsupportedError{keyword, s.path, "it makes the schema too complex"}})
}
