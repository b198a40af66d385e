package jsonschema

import (
	"slices"
)

// shape is what some lits say about arrays, or about objects, where nothing is left to choose: an intersection of plain demands.
type shape struct {
	of      int   // ofArrays or ofObjects
	seen    []lit // what is true
	choices []choice
	values  [][]*value // the value is one of each list
	subsets bool       // it matters which alternatives of anyOf are true: a schema has unevaluatedProperties or unevaluatedItems

	members    []memberRule
	some       []someMember
	required   []string
	names      []lit // what is true of each name
	minMembers int
	maxMembers int
	counting   *schema // one that has minProperties

	elements []elementRule
	matches  []matchRule
	minItems int
	maxItems int
	unique   *schema
}

// choice is a union: one of the alternatives is true.
type choice struct {
	s       *schema
	keyword string
	alts    []alternative
}

// alternative is what is true in one case: lits; names of properties that there are; what a property is if there is one (which may be
// that there is none); and a plain demand, which returns false if nothing satisfies it.
type alternative struct {
	lits    []lit
	require []string
	name    string // of the property that is
	is      []lit  // none: name says nothing
	demand  func(*shape) bool
}

// memberRule says what the members with some names are.
type memberRule struct {
	keys keys
	is   lit
}

// someMember says that there is a member with one of some names, which is something.
type someMember struct {
	keys keys
	is   lit
}

// elementRule says what the elements from one to another are.
type elementRule struct {
	from, to int // to is the last one, or unlimited
	is       lit
}

// matchRule says how many elements, from one on, are something.
type matchRule struct {
	from        int
	least, most int
	is          *schema
	not         bool // they are not of it
}

var typesOf = [2]typeSet{arrays, objects}

// clone returns a shape that can be changed without changing sh.
func (sh *shape) clone() *shape {
	c := *sh
	c.seen, c.choices = slices.Clip(sh.seen), slices.Clone(sh.choices)
	c.values = slices.Clip(sh.values)
	c.members, c.some, c.required, c.names = slices.Clip(sh.members), slices.Clip(sh.some), slices.Clip(sh.required), slices.Clip(sh.names)
	c.elements, c.matches = slices.Clip(sh.elements), slices.Clip(sh.matches)
	return &c
}
