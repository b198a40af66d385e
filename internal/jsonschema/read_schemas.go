package jsonschema

import "fmt"

// schemas is all schemas of a compilation: those of the text, and those that are made of parts of these.
type schemas struct {
	*meter
	list   []*schema // by id
	always *schema   // the schema true, which is the first
	ledger *Ledger
}

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
	if !c.ledger.Lossy { // nothing is ever loose
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
	e := UnsupportedError{keyword, s.pointer(), fmt.Sprintf(format, args...)}
	if !c.ledger.Lossy {
		refuse(s, e.Keyword, e.Reason)
	}
	c.spend(1 + (len(e.Path)+len(e.Reason))/longText)
	c.leaveOut(s)
	c.ledger.add(e)
}

// leaveOut notes that something is left out of s.
func (c *schemas) leaveOut(s *schema) {
	if s.value != nil {
		c.ledger.loose[spot{s.value, s.in.root}] = true
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
