package normal

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
)

// finishObject makes forms of a shape of objects in which nothing is left to choose: the members that have a place of their own, and the
// others, by sets of names that are treated alike. For example,
//
//	{"properties": {"a": A}, "patternProperties": {"^x": X}, "additionalProperties": Y}
//
// has one form: a is A; other names that begin with x are X; all other names are Y. A demand for some member, as under a not, makes more
// forms: one in which a member with a place fulfils it, and so on, and one in which one of the others does (distribute).

// Bounds of object forms.
const (
	maxRest  = 64
	maxFlags = 4
)

// finishObject adds the forms of a shape without choices.
func (c *finisher) finishObject(n *Node, sh *shape, forms *[]Form) {
	c.evaluateMembers(sh)
	if !c.plausible(sh) {
		return
	}
	names := c.propertyOrder(n, sh)
	c.distribute(sh, 0, nil, names, forms)
}

// distribute goes through the demands for some member: a member with one of the names fulfils it, or one of the others (open).
func (c *finisher) distribute(sh *shape, i int, open []someMember, names []string, forms *[]Form) {
	if i == len(sh.some) {
		if c.plausible(sh) {
			c.buildObject(sh, open, names, forms)
		}
		return
	}
	e := sh.some[i]
	c.Spend(len(sh.required.list) + len(names))
	for _, name := range sh.required.list {
		if c.hasKey(e.keys, name) && c.implied(c.memberLits(sh, name), e.is) {
			c.distribute(sh, i+1, open, names, forms)
			return
		}
	}
	for _, name := range names {
		if c.hasKey(e.keys, name) {
			c.branched(c.Always, "not")
			next := sh.clone()
			next.required.add(name)
			next.members.add(memberRule{keys{kind: keyNamed, name: name}, e.is})
			if c.plausible(next) {
				c.distribute(next, i+1, open, names, forms)
			}
		}
	}
	if slices.Contains(open, e) {
		c.distribute(sh, i+1, open, names, forms)
	} else if !c.closed(sh) {
		c.distribute(sh, i+1, append(slices.Clip(open), e), names, forms)
	}
}

// buildObject adds the form of a shape.
func (c *finisher) buildObject(sh *shape, open []someMember, names []string, forms *[]Form) {
	f := &Object{Least: sh.minMembers, Most: sh.maxMembers}
	byName := make(map[string][]lit, len(names))
	var wide []memberRule
	for _, m := range sh.members.list {
		if m.keys.kind == keyNamed {
			byName[m.keys.name] = append(byName[m.keys.name], m.is)
		} else {
			wide = append(wide, m)
		}
	}
	required := make(map[string]bool, len(sh.required.list))
	for _, name := range sh.required.list {
		required[name] = true
	}
	necessary := 0
	c.Spend(len(sh.members.list) + len(names)*(1+len(wide)+len(sh.names)))
	for _, name := range names {
		lits := byName[name]
		for _, m := range wide {
			if c.hasKey(m.keys, name) {
				lits = append(slices.Clip(lits), m.is)
			}
		}
		for _, l := range sh.names {
			if !c.HasString(c.scalarsUnder(l).Strings, name) {
				lits = []lit{nothing}
			}
		}
		if slices.Contains(lits, nothing) {
			if required[name] {
				return
			}
			continue
		}
		m := c.node(lits...)
		if required[name] {
			necessary++
		}
		f.Props = append(f.Props, Property{name, m, required[name]})
	}
	if len(open) > maxFlags {
		limits.TooComplex(c.Always, "not")
	}
	c.findRest(sh, f, open, wide, names)
	if f.Least > necessary+1 && len(f.Rest) > 0 {
		c.Unsupported(sh.counting, "minProperties", "members with names that the schema does not list could repeat a name")
		f.Least = necessary + 1
	}
	if f.Least <= necessary {
		f.Least = 0
	}
	if len(f.Rest) == 0 {
		if len(f.Props) < f.Least {
			return
		}
		if f.Most >= len(f.Props) {
			f.Most = limits.Unlimited
		}
	}
	*forms = append(*forms, f)
}

// findRest finds the names of the members that have no place of their own, and what these members are.
func (c *finisher) findRest(sh *shape, f *Object, open []someMember, wide []memberRule, names []string) {
	type part struct {
		names sets.Strings
		lits  []lit
		in    uint8
		gives uint8
	}
	parts := []part{{names: sets.Strings{Kind: sets.All}}}
	for _, l := range sh.names {
		parts[0].names = c.AndStrings(parts[0].names, c.scalarsUnder(l).Strings)
	}
	if !c.SomeString(parts[0].names) {
		parts = nil
	}
	split := func(set sets.Strings, change func(*part)) {
		if set.Kind == sets.All {
			for i := range parts {
				change(&parts[i])
			}
			return
		}
		var next []part
		for _, p := range parts {
			inside, outside := p, p
			inside.names, outside.names = c.AndStrings(p.names, set), c.AndStrings(p.names, c.NotStrings(set))
			if c.SomeString(inside.names) {
				inside.lits = slices.Clip(inside.lits)
				change(&inside)
				next = append(next, inside)
			}
			if c.SomeString(outside.names) {
				next = append(next, outside)
			}
		}
		if parts = next; len(parts) > maxRest {
			limits.TooComplex(c.Here, "patternProperties")
		}
	}
	for _, m := range wide {
		split(c.keyLanguage(m.keys), func(p *part) { p.lits = append(slices.Clip(p.lits), m.is) })
	}
	for i, e := range open {
		set := c.keyLanguage(e.keys)
		if e.keys.kind == keyRest && len(e.keys.of.Properties) > 0 {
			var named []string
			for _, p := range e.keys.of.Properties {
				named = append(named, p.Name)
			}
			slices.Sort(named)
			set = c.AndStrings(set, c.NotStrings(sets.Strings{Kind: sets.Finite, Texts: named}))
		}
		split(set, func(p *part) { p.in |= 1 << i })
		f.flags |= 1 << i
	}
	for i, e := range open { // a member may fulfil a demand, or need not
		for _, p := range parts {
			if p.in>>i&1 == 0 {
				continue
			}
			p.lits, p.gives = append(slices.Clip(p.lits), e.is), p.gives|1<<i
			parts = append(parts, p)
		}
	}
	var named sets.Strings
	if len(names) > 0 {
		sorted := slices.Clone(names)
		slices.Sort(sorted)
		named = c.NotStrings(sets.Strings{Kind: sets.Finite, Texts: slices.Compact(sorted)})
	}
	for _, p := range parts {
		if slices.Contains(p.lits, nothing) {
			continue
		}
		if named.Kind != sets.None {
			endless := p.names.Kind == sets.All // whatever is named, there are other names
			if p.names = c.AndStrings(p.names, named); !endless && !c.SomeString(p.names) {
				continue
			}
		}
		c.refuseExcess(p.names)
		if n := c.node(p.lits...); !c.sureEmpty(n) {
			f.Rest = append(f.Rest, Rest{p.names, n, p.in, p.gives})
		}
	}
}

// propertyOrder returns the names that have a place of their own: those of properties, in the order in which they are written, the schema's
// own first, then those of the schemas that apply to the same value; then those that are only required.
func (c *finisher) propertyOrder(n *Node, sh *shape) []string {
	var names []string
	has := map[string]bool{}
	add := func(name string) {
		if !has[name] {
			has[name] = true
			names = append(names, name)
		}
	}
	visited := map[*read.Schema]bool{}
	var visit func(s *read.Schema)
	visit = func(s *read.Schema) {
		if visited[s] {
			return
		}
		visited[s] = true
		c.Deeper(s)
		defer c.Shallower()
		c.Spend(len(s.Properties))
		for _, p := range s.Properties {
			add(p.Name)
		}
		for _, t := range c.trueOf(sh, s) {
			visit(t)
		}
	}
	for _, l := range n.lits {
		if l.positive() && sh.seen.has(l) {
			visit(c.schema(l))
		}
	}
	for _, m := range sh.members.list {
		if m.keys.kind == keyNamed {
			add(m.keys.name)
		}
	}
	for _, name := range sh.required.list {
		add(name)
	}
	return names
}

// trueOf returns the schemas below s, for the same value, that sh says are true of it, in the order in which they are written.
func (c *finisher) trueOf(sh *shape, s *read.Schema) (list []*read.Schema) {
	c.Spend(1)
	if len(s.Applicators) <= fewElements+len(sh.seen.list) {
		c.Spend(len(s.Applicators))
		for _, t := range s.Applicators {
			if sh.seen.has(is(t)) {
				list = append(list, t)
			}
		}
	} else { // one of the many alternatives of an anyOf
		places := c.places[s]
		if places == nil {
			c.Spend(len(s.Applicators))
			places = make(map[*read.Schema]int, len(s.Applicators))
			for i, t := range s.Applicators {
				places[t] = i
			}
			c.places[s] = places
		}
		c.Spend(len(sh.seen.list))
		for _, l := range sh.seen.list {
			if _, ok := places[c.schema(l)]; ok && l.positive() {
				list = append(list, c.schema(l))
			}
		}
		slices.SortFunc(list, func(a, b *read.Schema) int { return places[a] - places[b] })
	}
	for _, need := range s.Needs {
		if need.Is != nil && sh.seen.has(is(need.Is)) {
			list = append(list, need.Is)
		}
	}
	return list
}
