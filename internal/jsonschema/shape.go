package jsonschema

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// shape is what some lits say about arrays, or about objects, where nothing is left to choose: an intersection of plain demands.
type shape struct {
	of      int   // ofArrays or ofObjects
	seen    []lit // what is true
	choices []choice
	values  [][]*value // the value is one of each list
	subsets bool       // it matters which alternatives of anyOf are true: a schema has unevaluatedProperties or unevaluatedItems

	members    []memberRule
	some       []someMember
	required   []string
	names      []lit // what is true of each name
	minMembers int
	maxMembers int
	counting   *schema // one that has minProperties

	elements []elementRule
	matches  []matchRule
	minItems int
	maxItems int
	unique   *schema
}

// choice is a union: one of the alternatives is true.
type choice struct {
	s       *schema
	keyword string
	alts    []alternative
}

// alternative is what is true in one case: lits; names of properties that there are; what a property is if there is one (which may be
// that there is none); and a plain demand, which returns false if nothing satisfies it.
type alternative struct {
	lits    []lit
	require []string
	name    string // of the property that is
	is      []lit  // none: name says nothing
	demand  func(*shape) bool
}

// keys is a set of names: one; those that match a pattern; those that are not among the properties of a schema and match none of its
// patterns; or those of which a lit is true.
type keys struct {
	kind    keysKind
	name    string
	pattern string
	of      *schema
	by      *evaluation
	names   lit
}

type keysKind uint8

const (
	keyNamed keysKind = iota
	keyPattern
	keyRest
	keyUnevaluated // those that neither of nor the schemas in by evaluate
	keyNames
)

// memberRule says what the members with some names are.
type memberRule struct {
	keys keys
	is   lit
}

// someMember says that there is a member with one of some names, which is something.
type someMember struct {
	keys keys
	is   lit
}

// elementRule says what the elements from one to another are.
type elementRule struct {
	from, to int // to is the last one, or unlimited
	is       lit
}

// matchRule says how many elements, from one on, are something.
type matchRule struct {
	from        int
	least, most int
	is          *schema
	not         bool // they are not of it
}

var typesOf = [2]typeSet{arrays, objects}

// clone returns a shape that can be changed without changing sh.
func (sh *shape) clone() *shape {
	c := *sh
	c.seen, c.choices = slices.Clip(sh.seen), slices.Clone(sh.choices)
	c.values = slices.Clip(sh.values)
	c.members, c.some, c.required, c.names = slices.Clip(sh.members), slices.Clip(sh.some), slices.Clip(sh.required), slices.Clip(sh.names)
	c.elements, c.matches = slices.Clip(sh.elements), slices.Clip(sh.matches)
	return &c
}

// expand returns the forms of the arrays or objects of n.
func (c *compiler) expand(n *node, of int) []form {
	sh := &shape{of: of, maxMembers: unlimited, maxItems: unlimited}
	for _, l := range n.lits {
		if !c.assume(sh, l) {
			return nil
		}
	}
	var forms []form
	c.branch(n, sh, &forms)
	return forms
}

// branch follows the choices that are left, the narrowest first.
func (c *compiler) branch(n *node, sh *shape, forms *[]form) {
	for {
		best := -1
		for i := 0; i < len(sh.choices); i++ {
			ch := &sh.choices[i]
			kept := ch.alts[:0:0]
			settled := false
			for _, a := range ch.alts {
				possible, implied := c.weigh(sh, &a)
				if implied {
					settled = true
					break
				}
				if possible {
					kept = append(kept, a)
				}
			}
			if settled {
				sh.choices = slices.Delete(sh.choices, i, i+1)
				i--
				if best > i {
					best--
				}
				continue
			}
			ch.alts = kept
			if len(kept) == 0 {
				return
			}
			if best < 0 || len(kept) < len(sh.choices[best].alts) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		ch := sh.choices[best]
		sh.choices = slices.Delete(sh.choices, best, best+1)
		if len(ch.alts) == 1 {
			if !c.take(sh, ch.alts[0]) {
				return
			}
			continue
		}
		for _, a := range ch.alts {
			if c.work++; c.work > maxWork {
				c.tooComplex(ch.s, ch.keyword)
			}
			next := sh.clone()
			if c.take(next, a) && c.plausible(next) {
				c.branch(n, next, forms)
			}
		}
		return
	}
	if c.work++; c.work > maxWork {
		c.tooComplex(c.list[n.lits[0]>>1], "anyOf")
	}
	c.finish(n, sh, forms)
}

// weigh tells whether an alternative may be true, and whether it is true already. It sees what is easy to see.
func (c *compiler) weigh(sh *shape, a *alternative) (possible, implied bool) {
	possible, implied = true, a.demand == nil
	for _, l := range a.lits {
		if slices.Contains(sh.seen, l^1) {
			return false, false
		}
		implied = implied && slices.Contains(sh.seen, l)
	}
	for _, name := range a.require {
		if !slices.Contains(sh.required, name) {
			implied = false
			if !slices.Contains(a.is, isNot(c.always)) && slices.Contains(c.memberLits(sh, name), isNot(c.always)) {
				return false, false
			}
		}
	}
	if a.is == nil {
		return possible, implied
	}
	c.work++
	lits := c.memberLits(sh, a.name)
	if slices.Contains(sh.required, a.name) || slices.Contains(a.require, a.name) {
		if c.sureEmpty(c.node(append(slices.Clip(lits), a.is...)...)) {
			return false, false
		}
	}
	for _, l := range a.is {
		implied = implied && c.implied(lits, l)
	}
	return possible, implied
}

// take makes an alternative true.
func (c *compiler) take(sh *shape, a alternative) bool {
	if a.demand != nil && !a.demand(sh) {
		return false
	}
	for _, name := range a.require {
		require(sh, name)
	}
	for _, l := range a.is {
		sh.members = append(sh.members, memberRule{keys{kind: keyNamed, name: a.name}, l})
	}
	for _, l := range a.lits {
		if !c.assume(sh, l) {
			return false
		}
	}
	return true
}

// plausible tells whether it is not easy to see that no value has the shape.
func (c *compiler) plausible(sh *shape) bool {
	for _, name := range sh.required {
		if c.sureEmpty(c.node(c.memberLits(sh, name)...)) {
			return false
		}
	}
	if sh.of == ofArrays && sh.minItems > sh.maxItems || sh.of == ofObjects && (sh.minMembers > sh.maxMembers || len(sh.required) > sh.maxMembers) {
		return false
	}
	return true
}

// finish adds the forms of a shape without choices.
func (c *compiler) finish(n *node, sh *shape, forms *[]form) {
	if len(sh.values) > 0 {
		c.finite(n, sh, forms)
		return
	}
	if !c.plausible(sh) {
		return
	}
	if sh.of == ofArrays {
		c.finishArray(n, sh, forms)
	} else {
		c.finishObject(n, sh, forms)
	}
}

// assume makes a lit true. It returns false if that cannot be.
func (c *compiler) assume(sh *shape, l lit) bool {
	if slices.Contains(sh.seen, l) {
		return true
	}
	if slices.Contains(sh.seen, l^1) {
		return false
	}
	sh.seen = append(sh.seen, l)
	s := c.list[l>>1]
	if l&1 == 0 {
		return c.assumeIs(sh, s)
	}
	if c.isLoose(s, 0) {
		return true
	}
	return c.assumeNot(sh, s)
}

// only returns the schema of one value.
func (c *compiler) only(like *schema, v *value) *schema {
	if s, ok := c.singles[v]; ok {
		return s
	}
	s := c.add(like, func(s *schema) { s.enums, s.single = [][]*value{{v}}, true })
	c.singles[v] = s
	return s
}

// differ adds the ways in which an array or object is not the one that s allows.
func (c *compiler) differ(ch *choice, s *schema) {
	v := s.enums[0][0]
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
		ch.alts = append(ch.alts, c.without(m.name), alternative{require: []string{m.name}, name: m.name, is: []lit{isNot(c.only(s, m.value))}})
	}
	ch.alts = append(ch.alts, alternative{demand: func(sh *shape) bool {
		sh.some = append(sh.some, someMember{keys{kind: keyRest, of: names}, is(c.always)})
		return true
	}})
}

// isLoose tells whether s allows more than it says.
func (c *compiler) isLoose(s *schema, depth int) bool {
	if s.inexact || !c.lossy || depth > 100 {
		return s.inexact
	}
	for _, t := range s.applicators {
		if c.isLoose(t, depth+1) {
			return true
		}
	}
	return s.not != nil && c.isLoose(s.not, depth+1)
}

// assumeIs adds what s says.
func (c *compiler) assumeIs(sh *shape, s *schema) bool {
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

// exactlyOne returns the choice that oneOf is.
func (c *compiler) exactlyOne(s *schema, of int) choice {
	ch := choice{s: s, keyword: "oneOf"}
	var may []*schema
	for _, u := range s.oneOf {
		if c.mayBe(u)&typesOf[of] != 0 {
			may = append(may, u)
		}
	}
	for i, u := range may {
		a := alternative{lits: []lit{is(u)}}
		for j, v := range may {
			if i != j && !c.disjoint(u, v, of) {
				a.lits = append(a.lits, isNot(v))
			}
		}
		ch.alts = append(ch.alts, a)
	}
	return ch
}

// disjoint tells whether it is easy to see that no array, or object, is of both schemas.
func (c *compiler) disjoint(s, t *schema, of int) bool {
	if s == t {
		return false
	}
	n := c.node(is(s), is(t))
	return n.known[of] != begun && len(c.formsOf(n, of)) == 0
}

// assumeNot adds that a value is not of s: that one of the things that s says is not true.
func (c *compiler) assumeNot(sh *shape, s *schema) bool {
	t := typesOf[sh.of]
	if s.never || c.mayBe(s)&t == 0 {
		return true
	}
	ch := choice{s: s, keyword: "not"}
	add := func(lits ...lit) { ch.alts = append(ch.alts, alternative{lits: lits}) }
	if len(s.enums) > 0 {
		var none []lit
		for _, v := range s.enums[0] {
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
		for i, u := range s.oneOf {
			none = append(none, isNot(u))
			for _, v := range s.oneOf[:i] {
				if u == v || !c.disjoint(u, v, sh.of) {
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

// hasKey tells whether a name is in a set.
func (c *compiler) hasKey(k keys, name string) bool {
	switch k.kind {
	case keyNamed:
		return k.name == name
	case keyPattern:
		return c.hasString(stringSet{kind: setExpr, expr: c.pattern(k.of, "patternProperties", k.pattern)}, name)
	case keyNames:
		return c.hasString(c.scalarsUnder(k.names).strings, name)
	case keyUnevaluated:
		for _, s := range k.by.schemas {
			if !c.hasKey(keys{kind: keyRest, of: s}, name) {
				return false
			}
		}
		return true
	}
	if _, ok := k.of.named[name]; ok {
		return false
	}
	for _, p := range k.of.byPattern {
		if c.hasKey(keys{kind: keyPattern, pattern: p.pattern, of: k.of}, name) {
			return false
		}
	}
	return true
}

// keyLanguage returns the names of a set as canonical strings.
func (c *compiler) keyLanguage(k keys) stringSet {
	switch k.kind {
	case keyNamed:
		return stringSet{kind: setFinite, texts: []string{k.name}}
	case keyPattern:
		return stringSet{kind: setExpr, expr: c.pattern(k.of, "patternProperties", k.pattern)}
	case keyNames:
		return c.scalarsUnder(k.names).strings
	}
	all := stringSet{kind: setAll}
	schemas := []*schema{k.of}
	if k.kind == keyUnevaluated {
		schemas = k.by.schemas
	}
	var list []regular.Expr
	for _, s := range schemas {
		for _, p := range s.byPattern {
			list = append(list, c.pattern(s, "patternProperties", p.pattern))
		}
	}
	if len(list) > 0 {
		all = c.notStrings(stringSet{kind: setExpr, expr: c.r.Or(list...)})
	}
	return all
}
