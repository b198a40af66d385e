package jsonschema

import "slices"

// objectKeywords adds what the keywords of s say about objects.
func (c *compiler) objectKeywords(sh *shape, s *schema) {
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
		sh.choices = append(sh.choices, choice{s, "dependencies", []alternative{c.without(n.name), yes}})
	}
}

// without returns the alternative that there is no property of a name.
func (c *compiler) without(name string) alternative {
	return alternative{name: name, is: []lit{isNot(c.always)}}
}

// objectKeywordsNot adds the ways in which an object is not what the keywords of s say.
func (c *compiler) objectKeywordsNot(ch *choice, s *schema) {
	demand := func(f func(*shape) bool) { ch.alts = append(ch.alts, alternative{demand: f}) }
	some := func(k keys, l lit) {
		demand(func(sh *shape) bool { sh.some = append(sh.some, someMember{k, l}); return true })
	}
	for _, name := range s.required {
		ch.alts = append(ch.alts, c.without(name))
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
		some(keys{kind: keyNames, names: isNot(s.names)}, is(c.always))
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
			a := c.without(name)
			a.require = []string{n.name}
			ch.alts = append(ch.alts, a)
		}
		if n.is != nil {
			ch.alts = append(ch.alts, alternative{lits: []lit{isNot(n.is)}, require: []string{n.name}})
		}
	}
}

// memberLits returns what is true of a member with a name.
func (c *compiler) memberLits(sh *shape, name string) []lit {
	var lits []lit
	looked := sh.members.about(name, func(m memberRule) {
		if c.hasKey(m.keys, name) {
			lits = append(lits, m.is)
		}
	})
	for _, l := range sh.names {
		if !c.hasString(c.scalarsUnder(l).strings, name) {
			lits = append(lits, isNot(c.always))
		}
	}
	c.spend(1 + looked)
	return lits
}
