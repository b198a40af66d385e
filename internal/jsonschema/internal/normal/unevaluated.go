package normal

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
)

// finisher makes forms of shapes without choices.
type finisher struct {
	*demands
	places map[*read.Schema]map[*read.Schema]int // of trueOf: the places of a schema's applicators
}

// under returns s and the schemas below it that apply to the same value and are true of it.
func (c *finisher) under(sh *shape, s *read.Schema) []*read.Schema {
	var all set[*read.Schema]
	c.gather(sh, s, &all)
	return all.list
}

// gather adds to all what under returns.
func (c *finisher) gather(sh *shape, s *read.Schema, all *set[*read.Schema]) {
	if !all.add(s) {
		return
	}
	c.Deeper(s)
	defer c.Shallower()
	c.Spend(len(s.Applicators) + len(s.Needs))
	for _, some := range [][]*read.Schema{s.Ref, s.AllOf, s.AnyOf, s.OneOf} {
		for _, t := range some {
			if sh.seen.has(is(t)) {
				c.gather(sh, t, all)
			}
		}
	}
	if s.If != nil && sh.seen.has(is(s.If)) {
		if c.gather(sh, s.If, all); s.Then != nil && sh.seen.has(is(s.Then)) {
			c.gather(sh, s.Then, all)
		}
	}
	if s.If != nil && s.Else != nil && sh.seen.has(isNot(s.If)) && sh.seen.has(is(s.Else)) {
		c.gather(sh, s.Else, all)
	}
	for _, n := range s.Needs {
		if n.Is != nil && sh.seen.has(is(n.Is)) && sh.required.has(n.Name) {
			c.gather(sh, n.Is, all)
		}
	}
}

// evaluateMembers adds what unevaluatedProperties says.
func (c *finisher) evaluateMembers(sh *shape) {
	for _, l := range sh.seen.list {
		s := c.schema(l)
		if !l.positive() || s.RestMembers == nil || s.Additional != nil || s.Alone() {
			continue
		}
		by := &evaluation{schemas: c.under(sh, s)}
		if slices.ContainsFunc(by.schemas, func(t *read.Schema) bool { return t.Additional != nil || t != s && t.RestMembers != nil }) {
			continue // which evaluates everything
		}
		sh.members.add(memberRule{keys{kind: keyUnevaluated, by: by}, is(s.RestMembers)})
	}
}

// evaluateItems adds what unevaluatedItems says.
func (c *finisher) evaluateItems(sh *shape) {
	for _, l := range sh.seen.list {
		s := c.schema(l)
		if !l.positive() || s.RestItems == nil || s.Items != nil || s.Alone() && s.Contains == nil {
			continue
		}
		from, all := 0, false
		allowed := []*read.Schema{s.RestItems}
		for _, t := range c.under(sh, s) {
			from, all = max(from, len(t.Prefix)), all || t.Items != nil || t != s && t.RestItems != nil
			if t.EvaluatesMatches() {
				allowed = append(allowed, t.Contains)
			}
		}
		if all {
			continue
		}
		rest := s.RestItems
		if len(allowed) > 1 {
			rest = c.Add(s, func(u *read.Schema) { u.AnyOf, u.Applicators = allowed, allowed })
		}
		sh.elements = append(sh.elements, elementRule{from, limits.Unlimited, is(rest)})
	}
}
