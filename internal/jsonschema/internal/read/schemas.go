package read

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
)

// Schemas is all schemas of a compilation: those of the text, and those that are made of parts of these.
type Schemas struct {
	*limits.Meter
	List   []*Schema // by ID
	Always *Schema   // the schema true, which is the first
	ledger *Ledger
}

// Add returns a schema that no text has, made of parts of one that has.
func (c *Schemas) Add(like *Schema, change func(*Schema)) *Schema {
	s := c.newSchema(like.Path, like.in)
	change(s)
	c.link(s)
	return s
}

// newSchema returns a schema that says nothing yet.
func (c *Schemas) newSchema(path *document.Place, in *resource) *Schema {
	c.Spend(schemaSteps)
	s := &Schema{ID: int32(len(c.List)), Path: path, in: in, Types: Everything, MaxLength: limits.Unlimited, MaxMembers: limits.Unlimited, MaxItems: limits.Unlimited, MinMatches: 1, MaxMatches: limits.Unlimited}
	c.List = append(c.List, s)
	return s
}

// schemaSteps is how much work a schema is.
const schemaSteps = 20

// link notes in the schemas that apply to the same value as s that s uses them.
func (c *Schemas) link(s *Schema) {
	if !c.ledger.Lossy { // nothing is ever loose
		return
	}
	for _, t := range s.Applicators {
		c.use(s, t)
	}
	if s.Not != nil {
		c.use(s, s.Not)
	}
}

func (c *Schemas) use(s, t *Schema) {
	if t.users = append(t.users, s); t.Loose {
		c.loosen(s)
	}
}

// Unsupported ends the compilation, or notes in lossy mode that a keyword is left out.
func (c *Schemas) Unsupported(s *Schema, keyword, format string, args ...any) {
	e := limits.UnsupportedError{Keyword: keyword, Path: s.Pointer(), Reason: fmt.Sprintf(format, args...)}
	if !c.ledger.Lossy {
		limits.Refuse(s, e.Keyword, e.Reason)
	}
	c.Spend(1 + (len(e.Path)+len(e.Reason))/limits.LongText)
	c.leaveOut(s)
	c.ledger.add(e)
}

// leaveOut notes that something is left out of s.
func (c *Schemas) leaveOut(s *Schema) {
	if s.value != nil {
		c.ledger.loose[spot{s.value, s.in.root}] = true
	}
	c.loosen(s)
}

// loosen notes that s, and what uses it for the same value, allows more than it says.
func (c *Schemas) loosen(s *Schema) {
	for todo := []*Schema{s}; len(todo) > 0; {
		s, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if !s.Loose {
			s.Loose, todo = true, append(todo, s.users...)
		}
	}
}
