package jsonschema

import (
	"slices"
)

// Bounds of object forms.
const (
	maxRest  = 64
	maxFlags = 4
)

// finishObject adds the forms of a shape without choices.
func (c *finisher) finishObject(n *node, sh *shape, forms *[]form) {
	c.evaluateMembers(sh)
	if !c.plausible(sh) {
		return
	}
	names := c.propertyOrder(n, sh)
	c.distribute(sh, 0, nil, names, forms)
}

// distribute goes through the demands for some member: a member with one of the names fulfils it, or one of the others (open).
func (c *finisher) distribute(sh *shape, i int, open []someMember, names []string, forms *[]form) {
	if i == len(sh.some) {
		if c.plausible(sh) {
			c.buildObject(sh, open, names, forms)
		}
		return
	}
	e := sh.some[i]
	c.spend(len(sh.required.list) + len(names))
	for _, name := range sh.required.list {
		if c.hasKey(e.keys, name) && c.implied(c.memberLits(sh, name), e.is) {
			c.distribute(sh, i+1, open, names, forms)
			return
		}
	}
	for _, name := range names {
		if c.hasKey(e.keys, name) {
			c.branched(c.always, "not")
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
func (c *finisher) buildObject(sh *shape, open []someMember, names []string, forms *[]form) {
	f := &objectForm{least: sh.minMembers, most: sh.maxMembers, s: sh.counting}
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
	c.spend(len(sh.members.list) + len(names)*(1+len(wide)+len(sh.names)))
	for _, name := range names {
		lits := byName[name]
		for _, m := range wide {
			if c.hasKey(m.keys, name) {
				lits = append(slices.Clip(lits), m.is)
			}
		}
		for _, l := range sh.names {
			if !c.hasString(c.scalarsUnder(l).strings, name) {
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
		f.props = append(f.props, formProperty{name, m, required[name]})
	}
	if len(open) > maxFlags {
		tooComplex(c.always, "not")
	}
	c.findRest(sh, f, open, wide, names)
	if f.least > necessary+1 && len(f.rest) > 0 {
		c.unsupported(f.s, "minProperties", "members with names that the schema does not list could repeat a name")
		f.least = necessary + 1
	}
	if f.least <= necessary {
		f.least = 0
	}
	if len(f.rest) == 0 {
		if len(f.props) < f.least {
			return
		}
		if f.most >= len(f.props) {
			f.most = unlimited
		}
	}
	*forms = append(*forms, f)
}

// findRest finds the names of the members that have no place of their own, and what these members are.
func (c *finisher) findRest(sh *shape, f *objectForm, open []someMember, wide []memberRule, names []string) {
	type part struct {
		names stringSet
		lits  []lit
		in    uint8
		gives uint8
	}
	parts := []part{{names: stringSet{kind: setAll}}}
	for _, l := range sh.names {
		parts[0].names = c.andStrings(parts[0].names, c.scalarsUnder(l).strings)
	}
	if !c.someString(parts[0].names) {
		parts = nil
	}
	split := func(set stringSet, change func(*part)) {
		if set.kind == setAll {
			for i := range parts {
				change(&parts[i])
			}
			return
		}
		var next []part
		for _, p := range parts {
			inside, outside := p, p
			inside.names, outside.names = c.andStrings(p.names, set), c.andStrings(p.names, c.notStrings(set))
			if c.someString(inside.names) {
				inside.lits = slices.Clip(inside.lits)
				change(&inside)
				next = append(next, inside)
			}
			if c.someString(outside.names) {
				next = append(next, outside)
			}
		}
		if parts = next; len(parts) > maxRest {
			tooComplex(c.here, "patternProperties")
		}
	}
	for _, m := range wide {
		split(c.keyLanguage(m.keys), func(p *part) { p.lits = append(slices.Clip(p.lits), m.is) })
	}
	for i, e := range open {
		set := c.keyLanguage(e.keys)
		if e.keys.kind == keyRest && len(e.keys.of.properties) > 0 {
			var named []string
			for _, p := range e.keys.of.properties {
				named = append(named, p.name)
			}
			slices.Sort(named)
			set = c.andStrings(set, c.notStrings(stringSet{kind: setFinite, texts: named}))
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
	var named stringSet
	if len(names) > 0 {
		sorted := slices.Clone(names)
		slices.Sort(sorted)
		named = c.notStrings(stringSet{kind: setFinite, texts: slices.Compact(sorted)})
	}
	for _, p := range parts {
		if slices.Contains(p.lits, nothing) {
			continue
		}
		if named.kind != setNone {
			endless := p.names.kind == setAll // whatever is named, there are other names
			if p.names = c.andStrings(p.names, named); !endless && !c.someString(p.names) {
				continue
			}
		}
		c.refuseExcess(p.names)
		if n := c.node(p.lits...); !c.sureEmpty(n) {
			f.rest = append(f.rest, formRest{p.names, n, p.in, p.gives})
		}
	}
}

// propertyOrder returns the names that have a place of their own: those of properties, in the order in which they are written, the schema's
// own first, then those of the schemas that apply to the same value; then those that are only required.
func (c *finisher) propertyOrder(n *node, sh *shape) []string {
	var names []string
	has := map[string]bool{}
	add := func(name string) {
		if !has[name] {
			has[name] = true
			names = append(names, name)
		}
	}
	visited := map[*schema]bool{}
	var visit func(s *schema)
	visit = func(s *schema) {
		if visited[s] {
			return
		}
		visited[s] = true
		c.deeper(s)
		defer c.shallower()
		c.spend(len(s.properties))
		for _, p := range s.properties {
			add(p.name)
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
func (c *finisher) trueOf(sh *shape, s *schema) (list []*schema) {
	c.spend(1)
	if len(s.applicators) <= fewElements+len(sh.seen.list) {
		c.spend(len(s.applicators))
		for _, t := range s.applicators {
			if sh.seen.has(is(t)) {
				list = append(list, t)
			}
		}
	} else { // one of the many alternatives of an anyOf
		places := c.places[s]
		if places == nil {
			c.spend(len(s.applicators))
			places = make(map[*schema]int, len(s.applicators))
			for i, t := range s.applicators {
				places[t] = i
			}
			c.places[s] = places
		}
		c.spend(len(sh.seen.list))
		for _, l := range sh.seen.list {
			if _, ok := places[c.schema(l)]; ok && l.positive() {
				list = append(list, c.schema(l))
			}
		}
		slices.SortFunc(list, func(a, b *schema) int { return places[a] - places[b] })
	}
	for _, need := range s.needs {
		if need.is != nil && sh.seen.has(is(need.is)) {
			list = append(list, need.is)
		}
	}
	return list
}
