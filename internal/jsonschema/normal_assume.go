package jsonschema

import "slices"

// only returns the schema of one value.
func (c *demands) only(like *schema, v *value) *schema {
	if s, ok := c.singles[v]; ok {
		return s
	}
	s := c.add(like, func(s *schema) { s.enums, s.single = []*valueList{{values: []*value{v}}}, true })
	c.singles[v] = s
	return s
}

// differ adds the ways in which an array or object is not the one that s allows.
func (c *demands) differ(ch *choice, s *schema) {
	v := s.enums[0].values[0]
	c.spend(1 + len(v.items) + len(v.members))
	if v.kind == array {
		n := len(v.items)
		ch.alts = append(ch.alts, alternative{demand: func(sh *shape) bool { sh.minItems = max(sh.minItems, n+1); return true }})
		if n > 0 {
			ch.alts = append(ch.alts, alternative{demand: func(sh *shape) bool { sh.maxItems = min(sh.maxItems, n-1); return true }})
		}
		for i, item := range v.items {
			other := isNot(c.only(s, item))
			ch.alts = append(ch.alts, alternative{demand: func(sh *shape) bool {
				sh.minItems = max(sh.minItems, i+1)
				sh.elements = append(sh.elements, elementRule{i, i, other})
				return true
			}})
		}
		return
	}
	names := c.add(s, func(u *schema) { u.named = map[string]*schema{} })
	for _, m := range v.members {
		names.named[m.name] = c.always
		names.properties = append(names.properties, property{m.name, c.always})
		ch.alts = append(ch.alts, without(m.name), alternative{require: []string{m.name}, name: m.name, is: []lit{isNot(c.only(s, m.value))}})
	}
	ch.alts = append(ch.alts, alternative{demand: func(sh *shape) bool {
		sh.some = append(sh.some, someMember{keys{kind: keyRest, of: names}, anything})
		return true
	}})
}

// apart reports whether it is easy to see that no object is of two of some schemas: each requires a property of one name, a "kind", and lists
// values for it that no other one lists.
func (c *demands) apart(list []*schema) bool {
	if len(list) == 0 {
		return true
	}
	for _, name := range c.direct(list[0]).required {
		if c.tellsApart(list, name) {
			return true
		}
	}
	return false
}

// tellsApart is apart for the property of a name.
func (c *demands) tellsApart(list []*schema, name string) bool {
	seen := map[int32]bool{}
	for _, s := range list {
		s = c.direct(s)
		c.spend(1 + len(s.required))
		kind := s.named[name]
		if kind == nil || len(kind.enums) == 0 || !slices.Contains(s.required, name) {
			return false
		}
		c.spend(len(kind.enums[0].values))
		for same := range kind.enums[0].among(c.source) {
			if seen[same] {
				return false
			}
			seen[same] = true
		}
	}
	return true
}

// maxHops bounds the references that direct follows.
const maxHops = 8

// direct returns s, or what it only refers to.
func (c *demands) direct(s *schema) *schema {
	for range maxHops {
		if len(s.ref) != 1 || s.required != nil {
			break
		}
		s = s.ref[0]
	}
	return s
}

// disjoint tells whether it is easy to see that no array, or object, is of both schemas.
func (c *demands) disjoint(s, t *schema, of int) bool {
	c.spend(1)
	if s == t {
		return false
	}
	n := c.node(is(s), is(t))
	return n.known[of] != begun && len(c.formsOf(n, of)) == 0
}

// exactlyOne returns the choice that oneOf is.
func (c *demands) exactlyOne(s *schema, of int) choice {
	ch := choice{s: s, keyword: "oneOf"}
	var may []*schema
	for _, u := range s.oneOf {
		if c.mayBe(u)&typesOf[of] != 0 {
			may = append(may, u)
		}
	}
	apart := of == ofObjects && c.apart(may)
	for i, u := range may {
		a := alternative{lits: []lit{is(u)}}
		for j, v := range may {
			if apart {
				break
			}
			if c.spend(1); i != j && !c.disjoint(u, v, of) {
				a.lits = append(a.lits, isNot(v))
			}
		}
		ch.alts = append(ch.alts, a)
	}
	return ch
}

// maxSubsets bounds the schemas in anyOf of which every combination is an alternative.
const maxSubsets = 5

// subsets makes alternatives of all combinations of those of anyOf, where it matters which are true.
func (c *demands) subsets(sh *shape, ch choice) choice {
	if !sh.subsets || len(ch.alts) < 2 {
		return ch
	}
	if len(ch.alts) > maxSubsets {
		tooComplex(ch.s, ch.keyword)
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

// assume makes a lit true. It returns false if that cannot be.
func (c *demands) assume(sh *shape, l lit) bool {
	s := c.schema(l)
	c.spend(1)
	if sh.seen.has(l) {
		return true
	}
	if sh.seen.has(l.opposite()) {
		return false
	}
	sh.seen.add(l)
	c.deeper(s)
	defer c.shallower()
	if l.positive() {
		return c.assumeIs(sh, s)
	}
	if s.loose {
		return true
	}
	return c.assumeNot(sh, s)
}

// assumeIs adds what s says.
func (c *demands) assumeIs(sh *shape, s *schema) bool {
	t := typesOf[sh.of]
	if s.never || c.mayBe(s)&t == 0 {
		return false
	}
	sh.values = append(sh.values, s.enums...)
	if sh.of == ofObjects {
		c.objectKeywords(sh, s)
	} else {
		c.arrayKeywords(sh, s)
	}
	for _, list := range [][]*schema{s.ref, s.allOf} {
		for _, u := range list {
			if !c.assume(sh, is(u)) {
				return false
			}
		}
	}
	if s.not != nil && !c.assume(sh, isNot(s.not)) {
		return false
	}
	if s.anyOf != nil {
		ch := choice{s: s, keyword: "anyOf"}
		for _, u := range s.anyOf {
			if c.mayBe(u)&t != 0 {
				ch.alts = append(ch.alts, alternative{lits: []lit{is(u)}})
			}
		}
		sh.choices = append(sh.choices, c.subsets(sh, ch))
	}
	if s.oneOf != nil {
		sh.choices = append(sh.choices, c.exactlyOne(s, sh.of))
	}
	if s.cond != nil && (s.then != nil || s.otherwise != nil || sh.subsets) {
		yes, no := alternative{lits: []lit{is(s.cond)}}, alternative{lits: []lit{isNot(s.cond)}}
		if s.then != nil {
			yes.lits = append(yes.lits, is(s.then))
		}
		if s.otherwise != nil {
			no.lits = append(no.lits, is(s.otherwise))
		}
		sh.choices = append(sh.choices, choice{s, "if", []alternative{yes, no}})
	}
	return true
}

// assumeNot adds that a value is not of s: that one of the things that s says is not true.
func (c *demands) assumeNot(sh *shape, s *schema) bool {
	t := typesOf[sh.of]
	if s.never || c.mayBe(s)&t == 0 {
		return true
	}
	ch := choice{s: s, keyword: "not"}
	add := func(lits ...lit) { ch.alts = append(ch.alts, alternative{lits: lits}) }
	if len(s.enums) > 0 {
		var none []lit
		for _, v := range s.enums[0].values {
			if typeOf(v) == t {
				none = append(none, isNot(c.only(s, v)))
			}
		}
		switch {
		case len(none) == 0 || len(s.enums) > 1:
			return true // mayBe has said so already
		case s.single:
			c.differ(&ch, s)
		default:
			add(none...)
		}
	}
	if sh.of == ofObjects {
		c.objectKeywordsNot(&ch, s)
	} else {
		c.arrayKeywordsNot(&ch, s)
	}
	for _, list := range [][]*schema{s.ref, s.allOf} {
		for _, u := range list {
			add(isNot(u))
		}
	}
	if s.not != nil {
		add(is(s.not))
	}
	if s.anyOf != nil {
		var none []lit
		for _, u := range s.anyOf {
			none = append(none, isNot(u))
		}
		add(none...)
	}
	if s.oneOf != nil {
		var none []lit
		apart := sh.of == ofObjects && c.apart(s.oneOf)
		for i, u := range s.oneOf {
			none = append(none, isNot(u))
			for _, v := range s.oneOf[:i] {
				if apart {
					break
				}
				if c.spend(1); u == v || !c.disjoint(u, v, sh.of) {
					add(is(u), is(v))
				}
			}
		}
		add(none...)
	}
	if s.cond != nil {
		if s.then != nil {
			add(is(s.cond), isNot(s.then))
		}
		if s.otherwise != nil {
			add(isNot(s.cond), isNot(s.otherwise))
		}
	}
	sh.choices = append(sh.choices, ch)
	return true
}
