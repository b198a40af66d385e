package jsonschema

import "slices"

// demands turns what schemas say about arrays and objects into shapes.
type demands struct {
	*nodes
	singles map[*value]*schema // of only
}

// objectKeywords adds what the keywords of s say about objects.
func (c *demands) objectKeywords(sh *shape, s *schema) {
	sh.members.list = slices.Grow(sh.members.list, len(s.properties))
	for _, p := range s.properties {
		sh.members.add(memberRule{keys{kind: keyNamed, name: p.name}, is(p.is)})
	}
	for _, p := range s.byPattern {
		sh.members.add(memberRule{keys{kind: keyPattern, pattern: p.pattern, of: s}, is(p.is)})
	}
	rest := s.additional
	if rest == nil && s.restMembers != nil && s.alone() {
		rest = s.restMembers
	}
	sh.subsets = sh.subsets || s.restMembers != nil
	if rest != nil {
		sh.members.add(memberRule{keys{kind: keyRest, of: s}, is(rest)})
	}
	if s.names != nil {
		sh.names = append(sh.names, is(s.names))
	}
	for _, name := range s.required {
		sh.required.add(name)
	}
	if s.minMembers > sh.minMembers {
		sh.minMembers, sh.counting = s.minMembers, s
	}
	sh.maxMembers = min(sh.maxMembers, s.maxMembers)
	for _, n := range s.needs {
		yes := alternative{require: append([]string{n.name}, n.names...)}
		if n.is != nil {
			yes.lits = []lit{is(n.is)}
		}
		sh.choices = append(sh.choices, choice{s, "dependencies", []alternative{without(n.name), yes}})
	}
}

// objectKeywordsNot adds the ways in which an object is not what the keywords of s say.
func (c *demands) objectKeywordsNot(ch *choice, s *schema) {
	demand := func(f func(*shape) bool) { ch.alts = append(ch.alts, alternative{demand: f}) }
	some := func(k keys, l lit) {
		demand(func(sh *shape) bool { sh.some = append(sh.some, someMember{k, l}); return true })
	}
	for _, name := range s.required {
		ch.alts = append(ch.alts, without(name))
	}
	for _, p := range s.properties {
		if !p.is.trivial {
			ch.alts = append(ch.alts, alternative{require: []string{p.name}, name: p.name, is: []lit{isNot(p.is)}})
		}
	}
	for _, p := range s.byPattern {
		if !p.is.trivial {
			some(keys{kind: keyPattern, pattern: p.pattern, of: s}, isNot(p.is))
		}
	}
	rest := s.additional
	if rest == nil && s.restMembers != nil && !s.restMembers.trivial {
		if rest = s.restMembers; !s.alone() {
			c.unsupported(s, "unevaluatedProperties", "the schema stands where it must not be satisfied")
		}
	}
	if rest != nil && !rest.trivial {
		some(keys{kind: keyRest, of: s}, isNot(rest))
	}
	if s.names != nil && !s.names.trivial {
		some(keys{kind: keyNames, names: isNot(s.names)}, anything)
	}
	if s.minMembers > 0 {
		demand(func(sh *shape) bool { sh.maxMembers = min(sh.maxMembers, s.minMembers-1); return true })
	}
	if s.maxMembers < unlimited {
		demand(func(sh *shape) bool {
			if s.maxMembers+1 > sh.minMembers {
				sh.minMembers, sh.counting = s.maxMembers+1, s
			}
			return true
		})
	}
	for _, n := range s.needs {
		for _, name := range n.names {
			a := without(name)
			a.require = []string{n.name}
			ch.alts = append(ch.alts, a)
		}
		if n.is != nil {
			ch.alts = append(ch.alts, alternative{lits: []lit{isNot(n.is)}, require: []string{n.name}})
		}
	}
}

// arrayKeywords adds what the keywords of s say about arrays.
func (c *demands) arrayKeywords(sh *shape, s *schema) {
	for i, p := range s.prefix {
		sh.elements = append(sh.elements, elementRule{i, i, is(p)})
	}
	rest := s.items
	if rest == nil && s.restItems != nil && s.alone() && s.contains == nil {
		rest = s.restItems
	}
	sh.subsets = sh.subsets || s.restItems != nil
	if rest != nil {
		sh.elements = append(sh.elements, elementRule{len(s.prefix), unlimited, is(rest)})
	}
	sh.minItems, sh.maxItems = max(sh.minItems, s.minItems), min(sh.maxItems, s.maxItems)
	if s.contains != nil {
		sh.matches = append(sh.matches, matchRule{least: s.minMatches, most: s.maxMatches, is: s.contains})
	}
	if s.unique {
		sh.unique = s
	}
}

// arrayKeywordsNot adds the ways in which an array is not what the keywords of s say.
func (c *demands) arrayKeywordsNot(ch *choice, s *schema) {
	demand := func(f func(*shape) bool) { ch.alts = append(ch.alts, alternative{demand: f}) }
	some := func(m matchRule) {
		demand(func(sh *shape) bool { sh.matches = append(sh.matches, m); return true })
	}
	for i, p := range s.prefix {
		if !p.trivial {
			demand(func(sh *shape) bool {
				sh.minItems = max(sh.minItems, i+1)
				sh.elements = append(sh.elements, elementRule{i, i, isNot(p)})
				return true
			})
		}
	}
	rest := s.items
	if rest == nil && s.restItems != nil && !s.restItems.trivial {
		if rest = s.restItems; !s.alone() || s.contains != nil {
			c.unsupported(s, "unevaluatedItems", "the schema stands where it must not be satisfied")
		}
	}
	if rest != nil && !rest.trivial {
		some(matchRule{from: len(s.prefix), least: 1, most: unlimited, is: rest, not: true})
	}
	if s.minItems > 0 {
		demand(func(sh *shape) bool { sh.maxItems = min(sh.maxItems, s.minItems-1); return true })
	}
	if s.maxItems < unlimited {
		demand(func(sh *shape) bool { sh.minItems = max(sh.minItems, s.maxItems+1); return true })
	}
	if s.contains != nil {
		if s.minMatches > 0 {
			some(matchRule{least: 0, most: s.minMatches - 1, is: s.contains})
		}
		if s.maxMatches < unlimited {
			some(matchRule{least: s.maxMatches + 1, most: unlimited, is: s.contains})
		}
	}
	if s.unique {
		c.unsupported(s, "uniqueItems", "the schema stands where it must not be satisfied")
	}
}
