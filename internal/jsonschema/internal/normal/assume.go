package normal

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
)

// assume makes a lit true in a shape. Keywords that say one thing change the shape; those that leave alternatives add a choice, which
// branch takes later. A lit that is not true has an alternative for each thing that its schema says. For example,
//
//	{"oneOf": [A, B]}                                is        a choice: A and not B; B and not A
//	not {"required": ["a"], "maxProperties": 2}      is        a choice: no member a; at least 3 members
//	{"allOf": [A, B]}                                is        A, and then B: no choice

// only returns the schema of one value.
func (c *demands) only(like *read.Schema, v *document.Value) *read.Schema {
	if s, ok := c.singles[v]; ok {
		return s
	}
	s := c.Add(like, func(s *read.Schema) { s.Enums, s.Single = []*document.List{{Values: []*document.Value{v}}}, true })
	c.singles[v] = s
	return s
}

// differ adds the ways in which an array or object is not the one that s allows.
func (c *demands) differ(ch *choice, s *read.Schema) {
	v := s.Enums[0].Values[0]
	c.Spend(1 + len(v.Items) + len(v.Members))
	if v.Kind == document.Array {
		n := len(v.Items)
		ch.demand(func(sh *shape) { sh.minItems = max(sh.minItems, n+1) })
		if n > 0 {
			ch.demand(func(sh *shape) { sh.maxItems = min(sh.maxItems, n-1) })
		}
		for i, item := range v.Items {
			other := isNot(c.only(s, item))
			ch.demand(func(sh *shape) {
				sh.minItems = max(sh.minItems, i+1)
				sh.elements = append(sh.elements, elementRule{i, i, other})
			})
		}
		return
	}
	names := c.Add(s, func(u *read.Schema) { u.Named = map[string]*read.Schema{} })
	for _, m := range v.Members {
		names.Named[m.Name] = c.Always
		names.Properties = append(names.Properties, read.Property{Name: m.Name, Is: c.Always})
		ch.alts = append(ch.alts, without(m.Name), alternative{require: []string{m.Name}, name: m.Name, is: []lit{isNot(c.only(s, m.Value))}})
	}
	ch.demand(func(sh *shape) {
		sh.some = append(sh.some, someMember{keys{kind: keyRest, of: names}, anything})
	})
}

// apart reports whether it is easy to see that no object is of two of some schemas: each requires a property of one name, a "kind", and lists
// values for it that no other one lists.
func (c *demands) apart(list []*read.Schema) bool {
	if len(list) == 0 {
		return true
	}
	for _, name := range c.direct(list[0]).Required {
		if c.apartBy(list, name) {
			return true
		}
	}
	return false
}

// apartBy is apart for the property of a name.
func (c *demands) apartBy(list []*read.Schema, name string) bool {
	seen := map[int32]bool{}
	for _, s := range list {
		s = c.direct(s)
		c.Spend(1 + len(s.Required))
		kind := s.Named[name]
		if kind == nil || len(kind.Enums) == 0 || !slices.Contains(s.Required, name) {
			return false
		}
		c.Spend(len(kind.Enums[0].Values))
		for same := range kind.Enums[0].Among(c.doc) {
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

// direct returns s, or, if it is only a reference, the schema that it refers to.
func (c *demands) direct(s *read.Schema) *read.Schema {
	for range maxHops {
		if len(s.Ref) != 1 || s.Required != nil {
			break
		}
		s = s.Ref[0]
	}
	return s
}

// disjoint reports whether it is easy to see that no array, or object, is of both schemas.
func (c *demands) disjoint(s, t *read.Schema, of int) bool {
	c.Spend(1)
	if s == t {
		return false
	}
	n := c.node(is(s), is(t))
	return n.known[of] != begun && len(c.formsOf(n, of)) == 0
}

// exactlyOne returns the choice that oneOf is.
func (c *demands) exactlyOne(s *read.Schema, of int) choice {
	ch := choice{s: s, keyword: "oneOf"}
	var may []*read.Schema
	for _, u := range s.OneOf {
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
			if c.Spend(1); i != j && !c.disjoint(u, v, of) {
				a.lits = append(a.lits, isNot(v))
			}
		}
		ch.alts = append(ch.alts, a)
	}
	return ch
}

// maxSubsets is the largest anyOf that becomes an alternative for every combination of its schemas.
const maxSubsets = 5

// subsets makes alternatives of all combinations of those of anyOf, if it matters which are true.
func (c *demands) subsets(sh *shape, ch choice) choice {
	if !sh.subsets || len(ch.alts) < 2 {
		return ch
	}
	if len(ch.alts) > maxSubsets {
		limits.TooComplex(ch.s, ch.keyword)
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
	c.Spend(1)
	if sh.seen.has(l) {
		return true
	}
	if sh.seen.has(l.opposite()) {
		return false
	}
	sh.seen.add(l)
	c.Deeper(s)
	defer c.Shallower()
	if l.positive() {
		return c.assumeIs(sh, s)
	}
	if s.Loose {
		return true
	}
	return c.assumeNot(sh, s)
}

// assumeIs adds what s says.
func (c *demands) assumeIs(sh *shape, s *read.Schema) bool {
	t := typesOf[sh.of]
	if s.Never || c.mayBe(s)&t == 0 {
		return false
	}
	sh.values = append(sh.values, s.Enums...)
	if sh.of == ofObjects {
		c.objectKeywords(sh, s)
	} else {
		c.arrayKeywords(sh, s)
	}
	for _, list := range [][]*read.Schema{s.Ref, s.AllOf} {
		for _, u := range list {
			if !c.assume(sh, is(u)) {
				return false
			}
		}
	}
	if s.Not != nil && !c.assume(sh, isNot(s.Not)) {
		return false
	}
	if s.AnyOf != nil {
		ch := choice{s: s, keyword: "anyOf"}
		for _, u := range s.AnyOf {
			if c.mayBe(u)&t != 0 {
				ch.alts = append(ch.alts, alternative{lits: []lit{is(u)}})
			}
		}
		sh.choices = append(sh.choices, c.subsets(sh, ch))
	}
	if s.OneOf != nil {
		sh.choices = append(sh.choices, c.exactlyOne(s, sh.of))
	}
	if s.If != nil && (s.Then != nil || s.Else != nil || sh.subsets) {
		yes, no := alternative{lits: []lit{is(s.If)}}, alternative{lits: []lit{isNot(s.If)}}
		if s.Then != nil {
			yes.lits = append(yes.lits, is(s.Then))
		}
		if s.Else != nil {
			no.lits = append(no.lits, is(s.Else))
		}
		sh.choices = append(sh.choices, choice{s, "if", []alternative{yes, no}})
	}
	return true
}

// assumeNot adds that a value is not of s: that one of the things that s says is not true.
func (c *demands) assumeNot(sh *shape, s *read.Schema) bool {
	t := typesOf[sh.of]
	if s.Never || c.mayBe(s)&t == 0 {
		return true
	}
	ch := choice{s: s, keyword: "not"}
	add := func(lits ...lit) { ch.alts = append(ch.alts, alternative{lits: lits}) }
	if len(s.Enums) > 0 {
		var none []lit
		for _, v := range s.Enums[0].Values {
			if read.TypeOf(v) == t {
				none = append(none, isNot(c.only(s, v)))
			}
		}
		switch {
		case len(none) == 0 || len(s.Enums) > 1:
			return true // mayBe has said so already
		case s.Single:
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
	for _, list := range [][]*read.Schema{s.Ref, s.AllOf} {
		for _, u := range list {
			add(isNot(u))
		}
	}
	if s.Not != nil {
		add(is(s.Not))
	}
	if s.AnyOf != nil {
		var none []lit
		for _, u := range s.AnyOf {
			none = append(none, isNot(u))
		}
		add(none...)
	}
	if s.OneOf != nil {
		var none []lit
		apart := sh.of == ofObjects && c.apart(s.OneOf)
		for i, u := range s.OneOf {
			none = append(none, isNot(u))
			for _, v := range s.OneOf[:i] {
				if apart {
					break
				}
				if c.Spend(1); u == v || !c.disjoint(u, v, sh.of) {
					add(is(u), is(v))
				}
			}
		}
		add(none...)
	}
	if s.If != nil {
		if s.Then != nil {
			add(is(s.If), isNot(s.Then))
		}
		if s.Else != nil {
			add(isNot(s.If), isNot(s.Else))
		}
	}
	sh.choices = append(sh.choices, ch)
	return true
}
