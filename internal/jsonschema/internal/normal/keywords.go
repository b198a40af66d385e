package normal

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
)

// demands turns what schemas say about arrays and objects into shapes.
type demands struct {
	*nodes
	singles map[*document.Value]*read.Schema // of only
}

// objectKeywords adds what the keywords of s say about objects.
func (c *demands) objectKeywords(sh *shape, s *read.Schema) {
	sh.members.list = slices.Grow(sh.members.list, len(s.Properties))
	for _, p := range s.Properties {
		sh.members.add(memberRule{keys{kind: keyNamed, name: p.Name}, is(p.Is)})
	}
	for _, p := range s.ByPattern {
		sh.members.add(memberRule{keys{kind: keyPattern, pattern: p.Pattern, of: s}, is(p.Is)})
	}
	rest := s.Additional
	if rest == nil && s.RestMembers != nil && s.Alone() {
		rest = s.RestMembers
	}
	sh.subsets = sh.subsets || s.RestMembers != nil
	if rest != nil {
		sh.members.add(memberRule{keys{kind: keyRest, of: s}, is(rest)})
	}
	if s.Names != nil {
		sh.names = append(sh.names, is(s.Names))
	}
	for _, name := range s.Required {
		sh.required.add(name)
	}
	if s.MinMembers > sh.minMembers {
		sh.minMembers, sh.counting = s.MinMembers, s
	}
	sh.maxMembers = min(sh.maxMembers, s.MaxMembers)
	for _, n := range s.Needs {
		yes := alternative{require: append([]string{n.Name}, n.Names...)}
		if n.Is != nil {
			yes.lits = []lit{is(n.Is)}
		}
		sh.choices = append(sh.choices, choice{s, "dependencies", []alternative{without(n.Name), yes}})
	}
}

// objectKeywordsNot adds the ways in which an object is not what the keywords of s say.
func (c *demands) objectKeywordsNot(ch *choice, s *read.Schema) {
	some := func(k keys, l lit) {
		ch.demand(func(sh *shape) { sh.some = append(sh.some, someMember{k, l}) })
	}
	for _, name := range s.Required {
		ch.alts = append(ch.alts, without(name))
	}
	for _, p := range s.Properties {
		if !p.Is.Trivial {
			ch.alts = append(ch.alts, alternative{require: []string{p.Name}, name: p.Name, is: []lit{isNot(p.Is)}})
		}
	}
	for _, p := range s.ByPattern {
		if !p.Is.Trivial {
			some(keys{kind: keyPattern, pattern: p.Pattern, of: s}, isNot(p.Is))
		}
	}
	rest := s.Additional
	if rest == nil && s.RestMembers != nil && !s.RestMembers.Trivial {
		if rest = s.RestMembers; !s.Alone() {
			c.Unsupported(s, "unevaluatedProperties", "the schema stands where it must not be satisfied")
		}
	}
	if rest != nil && !rest.Trivial {
		some(keys{kind: keyRest, of: s}, isNot(rest))
	}
	if s.Names != nil && !s.Names.Trivial {
		some(keys{kind: keyNames, names: isNot(s.Names)}, anything)
	}
	if s.MinMembers > 0 {
		ch.demand(func(sh *shape) { sh.maxMembers = min(sh.maxMembers, s.MinMembers-1) })
	}
	if s.MaxMembers < limits.Unlimited {
		ch.demand(func(sh *shape) {
			if s.MaxMembers+1 > sh.minMembers {
				sh.minMembers, sh.counting = s.MaxMembers+1, s
			}
		})
	}
	for _, n := range s.Needs {
		for _, name := range n.Names {
			a := without(name)
			a.require = []string{n.Name}
			ch.alts = append(ch.alts, a)
		}
		if n.Is != nil {
			ch.alts = append(ch.alts, alternative{lits: []lit{isNot(n.Is)}, require: []string{n.Name}})
		}
	}
}

// arrayKeywords adds what the keywords of s say about arrays.
func (c *demands) arrayKeywords(sh *shape, s *read.Schema) {
	for i, p := range s.Prefix {
		sh.elements = append(sh.elements, elementRule{i, i, is(p)})
	}
	rest := s.Items
	if rest == nil && s.RestItems != nil && s.Alone() && s.Contains == nil {
		rest = s.RestItems
	}
	sh.subsets = sh.subsets || s.RestItems != nil
	if rest != nil {
		sh.elements = append(sh.elements, elementRule{len(s.Prefix), limits.Unlimited, is(rest)})
	}
	sh.minItems, sh.maxItems = max(sh.minItems, s.MinItems), min(sh.maxItems, s.MaxItems)
	if s.Contains != nil {
		sh.matches = append(sh.matches, matchRule{least: s.MinMatches, most: s.MaxMatches, is: is(s.Contains)})
	}
	if s.Unique {
		sh.unique = s
	}
}

// arrayKeywordsNot adds the ways in which an array is not what the keywords of s say.
func (c *demands) arrayKeywordsNot(ch *choice, s *read.Schema) {
	some := func(m matchRule) {
		ch.demand(func(sh *shape) { sh.matches = append(sh.matches, m) })
	}
	for i, p := range s.Prefix {
		if !p.Trivial {
			ch.demand(func(sh *shape) {
				sh.minItems = max(sh.minItems, i+1)
				sh.elements = append(sh.elements, elementRule{i, i, isNot(p)})
			})
		}
	}
	rest := s.Items
	if rest == nil && s.RestItems != nil && !s.RestItems.Trivial {
		if rest = s.RestItems; !s.Alone() || s.Contains != nil {
			c.Unsupported(s, "unevaluatedItems", "the schema stands where it must not be satisfied")
		}
	}
	if rest != nil && !rest.Trivial {
		some(matchRule{from: len(s.Prefix), least: 1, most: limits.Unlimited, is: isNot(rest)})
	}
	if s.MinItems > 0 {
		ch.demand(func(sh *shape) { sh.maxItems = min(sh.maxItems, s.MinItems-1) })
	}
	if s.MaxItems < limits.Unlimited {
		ch.demand(func(sh *shape) { sh.minItems = max(sh.minItems, s.MaxItems+1) })
	}
	if s.Contains != nil {
		if s.MinMatches > 0 {
			some(matchRule{least: 0, most: s.MinMatches - 1, is: is(s.Contains)})
		}
		if s.MaxMatches < limits.Unlimited {
			some(matchRule{least: s.MaxMatches + 1, most: limits.Unlimited, is: is(s.Contains)})
		}
	}
	if s.Unique {
		c.Unsupported(s, "uniqueItems", "the schema stands where it must not be satisfied")
	}
}
