package jsonschema

import (
	"cmp"
	"slices"
)

// objectForm is a shape of objects that the grammar can follow: properties by name in their order, then members with other names.
type objectForm struct {
	props []formProperty
	rest  []formRest
	least int // members
	most  int
	flags uint8 // which demands for some member must be fulfilled
	s     *schema
	far   []int // by flags: how many members are needed until all are set; -1: it cannot be
}

// formProperty is a property with a name.
type formProperty struct {
	name     string
	n        *node
	required bool
}

// formRest is a set of names, and what the members with these names are.
type formRest struct {
	names stringSet
	n     *node
	in    uint8 // the demands whose names these are
	gives uint8 // the demands that such a member fulfils
}

// Bounds of object forms.
const (
	maxRest  = 64
	maxFlags = 4
)

// finishObject adds the forms of a shape without choices.
func (c *compiler) finishObject(n *node, sh *shape, forms *[]form) {
	c.evaluateMembers(sh)
	if !c.plausible(sh) {
		return
	}
	names := c.propertyOrder(n, sh)
	c.distribute(sh, 0, nil, names, forms)
}

// distribute goes through the demands for some member: a member with one of the names fulfils it, or one of the others (open).
func (c *compiler) distribute(sh *shape, i int, open []someMember, names []string, forms *[]form) {
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
			if c.work++; c.work > maxWork {
				c.tooComplex(c.always, "not")
			}
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

// closed tells whether it is easy to see that there is no member but those that are named.
func (c *compiler) closed(sh *shape) bool {
	c.spend(1 + len(sh.members.list)/fewRules)
	return slices.ContainsFunc(sh.members.list, func(m memberRule) bool {
		return m.keys.kind == keyRest && len(m.keys.of.byPattern) == 0 && c.sureEmpty(c.node(m.is))
	})
}

// implied tells whether it is easy to see that l is true of all values of which lits are.
func (c *compiler) implied(lits []lit, l lit) bool {
	c.spend(1)
	return l == is(c.always) || slices.Contains(lits, l) || c.sureEmpty(c.node(append(slices.Clip(lits), l^1)...))
}

// buildObject adds the form of a shape.
func (c *compiler) buildObject(sh *shape, open []someMember, names []string, forms *[]form) {
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
				lits = []lit{isNot(c.always)}
			}
		}
		if slices.Contains(lits, isNot(c.always)) {
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
		c.tooComplex(c.always, "not")
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
func (c *compiler) findRest(sh *shape, f *objectForm, open []someMember, wide []memberRule, names []string) {
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
			c.tooComplex(cmp.Or(c.here, c.always), "patternProperties")
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
		if slices.Contains(p.lits, isNot(c.always)) {
			continue
		}
		if named.kind != setNone {
			endless := p.names.kind == setAll // whatever is named, there are other names
			if p.names = c.andStrings(p.names, named); !endless && !c.someString(p.names) {
				continue
			}
		}
		if p.names.excess != nil {
			c.unsupported(p.names.excess, "format", "the strings that are not of the format %q are not known", p.names.excess.format)
		}
		if n := c.node(p.lits...); !c.sureEmpty(n) {
			f.rest = append(f.rest, formRest{p.names, n, p.in, p.gives})
		}
	}
}

// someString tells whether a set has any string.
func (c *compiler) someString(a stringSet) bool {
	return a.kind != setNone && (a.kind != setExpr || c.alive(a.expr))
}

// propertyOrder returns the names that have a place of their own: those of properties, in the order in which they are written, the schema's
// own first, then those of the schemas that apply to the same value; then those that are only required.
func (c *compiler) propertyOrder(n *node, sh *shape) []string {
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
		if l&1 == 0 && sh.seen.has(l) {
			visit(c.list[l>>1])
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

func (f *objectForm) below(yield func(*node)) {
	for _, p := range f.props {
		yield(p.n)
	}
	for _, r := range f.rest {
		yield(r.n)
	}
}

func (f *objectForm) settle() bool {
	named, necessary := 0, 0
	for _, p := range f.props {
		if p.required {
			if necessary++; !p.n.productive {
				return false
			}
		}
		if p.n.productive {
			named++
		}
	}
	some := false
	for _, r := range f.rest {
		some = some || r.n.productive
	}
	f.measure()
	return f.far[0] >= 0 && necessary+f.far[0] <= f.most && (some || named >= f.least) && f.least <= f.most
}

// measure finds out how many members are needed to fulfil all demands for some member.
func (f *objectForm) measure() {
	f.far = make([]int, int(f.flags)+1)
	for i := range f.far {
		f.far[i] = -1
	}
	f.far[f.flags] = 0
	for changed := true; changed; {
		changed = false
		for i := range f.far {
			for _, r := range f.rest {
				if to := i | int(r.gives); r.n.productive && usable(i, r.in, r.gives) && f.far[to] >= 0 && (f.far[i] < 0 || f.far[i] > f.far[to]+1) {
					f.far[i], changed = f.far[to]+1, true
				}
			}
		}
	}
}

// usable tells whether a member may come, whose names are those of some demands and that fulfils some, when some demands are fulfilled. It could repeat the name of the member that fulfilled a
// demand and take its place: then it must fulfil it too.
func usable(flags int, in, gives uint8) bool { return flags&int(in&^gives) == 0 }

// trueOf returns the schemas below s, for the same value, that sh says are true of it, in the order in which they are written.
func (c *compiler) trueOf(sh *shape, s *schema) (list []*schema) {
	c.spend(1)
	if len(s.applicators) <= fewElements+len(sh.seen.list) {
		c.spend(len(s.applicators))
		for _, t := range s.applicators {
			if sh.seen.has(is(t)) {
				list = append(list, t)
			}
		}
	} else { // one of the many alternatives of an anyOf
		if s.places == nil {
			c.spend(len(s.applicators))
			s.places = make(map[*schema]int, len(s.applicators))
			for i, t := range s.applicators {
				s.places[t] = i
			}
		}
		c.spend(len(sh.seen.list))
		for _, l := range sh.seen.list {
			if _, ok := s.places[c.list[l>>1]]; ok && l&1 == 0 {
				list = append(list, c.list[l>>1])
			}
		}
		slices.SortFunc(list, func(a, b *schema) int { return s.places[a] - s.places[b] })
	}
	for _, need := range s.needs {
		if need.is != nil && sh.seen.has(is(need.is)) {
			list = append(list, need.is)
		}
	}
	return list
}
