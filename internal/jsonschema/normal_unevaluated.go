package jsonschema

import "slices"

// finisher makes forms of shapes without choices.
type finisher struct {
	*demands
	places map[*schema]map[*schema]int // of trueOf: where the applicators of a schema stand
}

// under returns s and the schemas below it that apply to the same value and are true of it.
func (c *finisher) under(sh *shape, s *schema) []*schema {
	var all set[*schema]
	c.gather(sh, s, &all)
	return all.list
}

// gather adds to all what under returns.
func (c *finisher) gather(sh *shape, s *schema, all *set[*schema]) {
	if !all.add(s) {
		return
	}
	c.deeper(s)
	defer c.shallower()
	c.spend(len(s.applicators) + len(s.needs))
	for _, some := range [][]*schema{s.ref, s.allOf, s.anyOf, s.oneOf} {
		for _, t := range some {
			if sh.seen.has(is(t)) {
				c.gather(sh, t, all)
			}
		}
	}
	if s.cond != nil && sh.seen.has(is(s.cond)) {
		if c.gather(sh, s.cond, all); s.then != nil && sh.seen.has(is(s.then)) {
			c.gather(sh, s.then, all)
		}
	}
	if s.cond != nil && s.otherwise != nil && sh.seen.has(isNot(s.cond)) && sh.seen.has(is(s.otherwise)) {
		c.gather(sh, s.otherwise, all)
	}
	for _, n := range s.needs {
		if n.is != nil && sh.seen.has(is(n.is)) && sh.required.has(n.name) {
			c.gather(sh, n.is, all)
		}
	}
}

// evaluateMembers adds what unevaluatedProperties says.
func (c *finisher) evaluateMembers(sh *shape) {
	for _, l := range sh.seen.list {
		s := c.schema(l)
		if !l.positive() || s.restMembers == nil || s.additional != nil || s.alone() {
			continue
		}
		by := &evaluation{schemas: c.under(sh, s)}
		if slices.ContainsFunc(by.schemas, func(t *schema) bool { return t.additional != nil || t != s && t.restMembers != nil }) {
			continue // which evaluates everything
		}
		sh.members.add(memberRule{keys{kind: keyUnevaluated, by: by}, is(s.restMembers)})
	}
}

// evaluateItems adds what unevaluatedItems says.
func (c *finisher) evaluateItems(sh *shape) {
	for _, l := range sh.seen.list {
		s := c.schema(l)
		if !l.positive() || s.restItems == nil || s.items != nil || s.alone() && s.contains == nil {
			continue
		}
		from, all := 0, false
		allowed := []*schema{s.restItems}
		for _, t := range c.under(sh, s) {
			from, all = max(from, len(t.prefix)), all || t.items != nil || t != s && t.restItems != nil
			if t.evaluatesMatches() {
				allowed = append(allowed, t.contains)
			}
		}
		if all {
			continue
		}
		rest := s.restItems
		if len(allowed) > 1 {
			rest = c.add(s, func(u *schema) { u.anyOf, u.applicators = allowed, allowed })
		}
		sh.elements = append(sh.elements, elementRule{from, unlimited, is(rest)})
	}
}
