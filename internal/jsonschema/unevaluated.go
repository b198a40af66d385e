package jsonschema

import "slices"

// What unevaluatedProperties and unevaluatedItems apply to depends on which schemas are true of the same value. Once a shape has no
// choice left, it says of each whether it is known to be true. One that is not known to be true is taken not to evaluate anything, which
// allows less; that it is true is another alternative (subsets).

// evaluation is the schemas that evaluate properties: one that has unevaluatedProperties, and those below it that are true of the same
// value.
type evaluation struct {
	schemas   []*schema
	named     map[string]bool // the properties of all of them; nil: not asked for
	patterned []*schema       // those that have patterns
}

// fill finds named and patterned.
func (e *evaluation) fill() {
	e.named = map[string]bool{}
	for _, s := range e.schemas {
		for _, p := range s.properties {
			e.named[p.name] = true
		}
		if s.byPattern != nil {
			e.patterned = append(e.patterned, s)
		}
	}
}

// alone tells whether no other schema applies to the same values as s.
func (s *schema) alone() bool {
	return len(s.applicators) == 0 && s.not == nil && !slices.ContainsFunc(s.needs, func(n need) bool { return n.is != nil })
}

// maxSubsets bounds the schemas in anyOf of which every combination is an alternative.
const maxSubsets = 5

// subsets makes alternatives of all combinations of those of anyOf, where it matters which are true.
func (c *compiler) subsets(sh *shape, ch choice) choice {
	if !sh.subsets || len(ch.alts) < 2 {
		return ch
	}
	if len(ch.alts) > maxSubsets {
		c.tooComplex(ch.s, ch.keyword)
	}
	all := choice{s: ch.s, keyword: ch.keyword}
	for set := 1<<len(ch.alts) - 1; set > 0; set-- {
		var a alternative
		for i, one := range ch.alts {
			if set>>i&1 != 0 {
				a.lits = append(a.lits, one.lits...)
			}
		}
		all.alts = append(all.alts, a)
	}
	return all
}

// under returns s and the schemas below it that apply to the same value and are true of it.
func (c *compiler) under(sh *shape, s *schema) []*schema {
	var all set[*schema]
	c.gather(sh, s, &all)
	return all.list
}

// gather adds to all what under returns.
func (c *compiler) gather(sh *shape, s *schema, all *set[*schema]) {
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
func (c *compiler) evaluateMembers(sh *shape) {
	for _, l := range sh.seen.list {
		s := c.list[l>>1]
		if l&1 != 0 || s.restMembers == nil || s.additional != nil || s.alone() {
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
func (c *compiler) evaluateItems(sh *shape) {
	for _, l := range sh.seen.list {
		s := c.list[l>>1]
		if l&1 != 0 || s.restItems == nil || s.items != nil || s.alone() && s.contains == nil {
			continue
		}
		from, all := 0, false
		allowed := []*schema{s.restItems}
		for _, t := range c.under(sh, s) {
			from, all = max(from, len(t.prefix)), all || t.items != nil || t != s && t.restItems != nil
			if t.contains != nil && t.in.draft >= draft2020 { // in draft 2019-09, contains leaves the elements to others
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
