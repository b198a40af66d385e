package jsonschema

import "fmt"

// schemas is all schemas of a compilation: those of the text, and those that are made of parts of these.
type schemas struct {
	*meter
	lossy  bool
	list   []*schema // by id
	always *schema
	attempts
}

// attempts is what one attempt at a lossy schema finds out for the next one: a schema that something was left out of may have been
// taken for a whole one before.
type attempts struct {
	loose map[spot]bool
	noted map[UnsupportedError]bool
	left  *[]*UnsupportedError
}

// spot is a schema of the text, in any attempt.
type spot struct{ v, root *value }

// add returns a schema that no text has, made of parts of one that has.
func (c *schemas) add(like *schema, change func(*schema)) *schema {
	s := c.newSchema(like.path, like.in)
	change(s)
	c.link(s)
	return s
}

// newSchema returns a schema that says nothing yet.
func (c *schemas) newSchema(path *place, in *resource) *schema {
	c.spend(schemaSteps)
	s := &schema{id: int32(len(c.list)), path: path, in: in, types: everything, maxLength: unlimited, maxMembers: unlimited, maxItems: unlimited, minMatches: 1, maxMatches: unlimited}
	c.list = append(c.list, s)
	return s
}

// schemaSteps is how much work a schema is.
const schemaSteps = 20

// link notes in the schemas that apply to the same value as s that s uses them.
func (c *schemas) link(s *schema) {
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

func (c *schemas) use(s, t *schema) {
	if t.users = append(t.users, s); t.loose {
		c.loosen(s)
	}
}

// unsupported ends the compilation, or notes in lossy mode that a keyword is left out.
func (c *schemas) unsupported(s *schema, keyword, format string, args ...any) {
	e := UnsupportedError{keyword, s.path.String(), fmt.Sprintf(format, args...)}
	if !c.lossy {
		panic(failure{&e})
	}
	c.spend(1 + (len(e.Path)+len(e.Reason))/longText)
	if c.leaveOut(s); !c.noted[e] && len(c.noted) < maxLeft {
		c.noted[e] = true
		*c.left = append(*c.left, &e)
	}
}

// leaveOut notes that something is left out of s.
func (c *schemas) leaveOut(s *schema) {
	if s.value != nil {
		c.loose[spot{s.value, s.in.root}] = true
	}
	c.loosen(s)
}

// loosen notes that s, and what uses it for the same value, allows more than it says.
func (c *schemas) loosen(s *schema) {
	for todo := []*schema{s}; len(todo) > 0; {
		s, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if !s.loose {
			s.loose, todo = true, append(todo, s.users...)
		}
	}
}

// maxLeft bounds the list of what a lossy constraint leaves out.
const maxLeft = 1000
