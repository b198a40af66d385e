package normal

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
)

// shape is what some lits say about arrays, or about objects, if no choice is left: an intersection of plain demands.
type shape struct {
	of      int      // ofArrays or ofObjects
	seen    set[lit] // the lits that are true
	choices []choice
	values  []*document.List // the value is one of each list
	subsets bool             // it matters which alternatives of anyOf are true: a schema has unevaluatedProperties or unevaluatedItems

	members    memberRules
	some       []someMember
	required   set[string]
	names      []lit // the lits that are true of each name
	minMembers int
	maxMembers int
	counting   *read.Schema // one that has minProperties

	elements []elementRule
	matches  []matchRule
	minItems int
	maxItems int
	unique   *read.Schema
}

// choice is a union: one of the alternatives is true.
type choice struct {
	s       *read.Schema
	keyword string
	alts    []alternative
}

// demand adds the alternative that a plain demand is fulfilled.
func (ch *choice) demand(f func(*shape)) { ch.alts = append(ch.alts, alternative{demand: f}) }

// alternative is one case of a choice: the lits that are true in it; the names of properties that exist; what a property is if it exists
// (nothing: it does not exist); and a plain demand.
type alternative struct {
	lits    []lit
	require []string
	name    string // of the property that is
	is      []lit  // nil: name says nothing
	demand  func(*shape)
}

// memberRule says what the members with some names are.
type memberRule struct {
	keys keys
	is   lit
}

// memberRules are the rules about members, with an index of the first of the rules. The index does not change: copies share it.
type memberRules struct {
	list  []memberRule
	index *memberIndex
}

// memberIndex has, in ascending order, the places of the rules about each name, and of those about many names, among the first rules.
type memberIndex struct {
	first  int
	byName map[string][]int32
	wide   []int32
}

// fewRules is how many rules are looked at one by one.
const fewRules = 16

func (m *memberRules) add(r memberRule) { m.list = append(m.list, r) }

// about calls yield with the rules that may be about a name, in order, and returns how many it looked at.
func (m *memberRules) about(name string, yield func(memberRule)) (looked int) {
	first := 0
	if m.index != nil {
		first = m.index.first
	}
	if len(m.list)-first > fewRules+first/4 {
		m.index = indexOf(m.list)
		looked, first = len(m.list), len(m.list)
	}
	if m.index != nil {
		named, wide := m.index.byName[name], m.index.wide
		looked += len(named) + len(wide)
		for len(named) > 0 || len(wide) > 0 {
			if len(wide) == 0 || len(named) > 0 && named[0] < wide[0] {
				yield(m.list[named[0]])
				named = named[1:]
			} else {
				yield(m.list[wide[0]])
				wide = wide[1:]
			}
		}
	}
	for _, r := range m.list[first:] {
		yield(r)
	}
	return looked + len(m.list) - first
}

func indexOf(list []memberRule) *memberIndex {
	x := &memberIndex{first: len(list), byName: make(map[string][]int32, len(list))}
	for i, r := range list {
		if r.keys.kind == keyNamed {
			x.byName[r.keys.name] = append(x.byName[r.keys.name], int32(i))
		} else {
			x.wide = append(x.wide, int32(i))
		}
	}
	return x
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
	is          lit
}

// clone returns a shape that can be changed without changing sh.
func (sh *shape) clone() *shape {
	c := *sh
	c.choices = slices.Clone(sh.choices)
	c.seen.clip()
	c.required.clip()
	c.values = slices.Clip(sh.values)
	c.members.list = slices.Clip(sh.members.list)
	c.some, c.names = slices.Clip(sh.some), slices.Clip(sh.names)
	c.elements, c.matches = slices.Clip(sh.elements), slices.Clip(sh.matches)
	return &c
}
