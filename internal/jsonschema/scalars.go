package jsonschema

import "github.com/antigravity-go/antigravity/internal/regular"

// scalars is a set of values that are neither arrays nor objects. Of these sets unions, intersections and complements are exact.
type scalars struct {
	words   words
	numbers numberSet
	strings stringSet
}

// words is a set of null, true and false.
type words uint8

const (
	wordNull words = 1 << iota
	wordTrue
	wordFalse
	allWords = wordNull | wordTrue | wordFalse
)

// wordOf returns the word that a value is, if it is one.
func wordOf(v *value) words {
	switch {
	case v.kind == null:
		return wordNull
	case v.kind == boolean && v.truth:
		return wordTrue
	case v.kind == boolean:
		return wordFalse
	}
	return 0
}

var allScalars = scalars{allWords, numberSet{kind: setAll}, stringSet{kind: setAll}}

func (c *compiler) and(a, b scalars) scalars {
	c.spend(2)
	return scalars{a.words & b.words, c.andNumbers(a.numbers, b.numbers), c.andStrings(a.strings, b.strings)}
}

// or returns the values that are in any of some sets.
func (c *compiler) or(sets ...scalars) (all scalars) {
	ns, ss := make([]numberSet, len(sets)), make([]stringSet, len(sets))
	for i, a := range sets {
		all.words |= a.words
		ns[i], ss[i] = a.numbers, a.strings
	}
	all.numbers, all.strings = c.orNumbers(ns...), c.orStrings(ss...)
	return all
}

// one returns the values that are in exactly one of some sets. A set that is loose may lack values that it says it has: that a value is in it
// does not keep the value out of another.
func (c *compiler) one(sets []scalars, loose []bool) (some scalars) {
	ns, ss := make([]numberSet, len(sets)), make([]stringSet, len(sets))
	zero := allWords
	for i, a := range sets {
		is, isNot := a.words, allWords
		if !loose[i] {
			isNot = allWords &^ is
		}
		some.words, zero = some.words&isNot|zero&is, zero&isNot
		ns[i], ss[i] = a.numbers, a.strings
	}
	some.numbers, some.strings = c.oneNumber(ns, loose), c.oneString(ss, loose)
	return some
}

// tally counts the sets that a value is in, up to two of each kind.
type tally struct{ exact, loose uint8 }

func (t tally) with(loose bool) tally {
	if loose {
		t.loose = min(t.loose+1, 2)
	} else {
		t.exact = min(t.exact+1, 2)
	}
	return t
}

// one reports whether the value may be in exactly one of the sets.
func (t tally) one() bool { return t.exact == 1 || t.exact == 0 && t.loose > 0 }

func (c *compiler) complement(a scalars) scalars {
	return scalars{allWords &^ a.words, c.notNumbers(a.numbers), c.notStrings(a.strings)}
}

// scalarsOf returns the values of s that are neither arrays nor objects.
func (c *compiler) scalarsOf(s *schema) scalars {
	switch s.scalarsKnown {
	case done:
		return s.scalars
	case begun:
		c.fail("%q: the schema refers to itself without end", s.path)
	}
	s.scalarsKnown, c.here = begun, s
	if !s.never {
		c.deeper(s)
		s.scalars = c.scalarsSaid(s)
		c.shallower()
	}
	s.scalarsKnown = done
	return s.scalars
}

// scalarsSaid is scalarsOf for what was not asked before.
func (c *compiler) scalarsSaid(s *schema) scalars {
	set := c.ownScalars(s)
	for _, list := range [][]*schema{s.ref, s.allOf} {
		for _, t := range list {
			set = c.and(set, c.scalarsOf(t))
		}
	}
	if s.anyOf != nil {
		some := make([]scalars, len(s.anyOf))
		for i, t := range s.anyOf {
			some[i] = c.scalarsOf(t)
		}
		set = c.and(set, c.or(some...))
	}
	if s.oneOf != nil {
		some, loose := make([]scalars, len(s.oneOf)), make([]bool, len(s.oneOf))
		for i, t := range s.oneOf {
			some[i], loose[i] = c.scalarsOf(t), t.loose
			if set.numbers.kind == setNone {
				some[i].numbers = numberSet{}
			}
			if set.strings.kind == setNone {
				some[i].strings = stringSet{}
			}
		}
		set = c.and(set, c.one(some, loose))
	}
	if s.not != nil {
		set = c.and(set, c.scalarsNot(s.not))
	}
	if s.cond != nil && (s.then != nil || s.otherwise != nil) {
		then, otherwise := c.scalarsOf(s.cond), c.scalarsNot(s.cond)
		if s.then != nil {
			then = c.and(then, c.scalarsOf(s.then))
		}
		if s.otherwise != nil {
			otherwise = c.and(otherwise, c.scalarsOf(s.otherwise))
		}
		set = c.and(set, c.or(then, otherwise))
	}
	return set
}

// ownScalars returns the values that the keywords allow that hold no schemas.
func (c *compiler) ownScalars(s *schema) scalars {
	set := scalars{words: allWords}
	if s.types&nulls == 0 {
		set.words &^= wordNull
	}
	if s.types&booleans == 0 {
		set.words &^= wordTrue | wordFalse
	}
	for _, list := range s.enums {
		var some words
		c.spend(len(list.values))
		for _, v := range list.values {
			some |= wordOf(v)
		}
		set.words &= some
	}
	set.numbers, set.strings = c.numbersOf(s), c.stringsOf(s)
	return set
}

// scalarsNot returns the values that are not of s and are neither arrays nor objects. Of a schema that something was left out of,
// nothing is known to be no value.
func (c *compiler) scalarsNot(s *schema) scalars {
	set := c.scalarsOf(s)
	if s.loose {
		return allScalars
	}
	if s.others == nil {
		c.here = s
		others := c.complement(set)
		s.others = &others
	}
	return *s.others
}

// scalarExpr returns the texts of the values.
func (c *compiler) scalarExpr(a scalars) regular.Expr {
	list := make([]regular.Expr, 0, 5)
	for i, word := range [...]string{"null", "true", "false"} {
		if a.words>>i&1 != 0 {
			list = append(list, c.r.Literal(word))
		}
	}
	return c.r.Or(append(list, c.numberExpr(a.numbers, false), c.quoted(a.strings))...)
}

// someScalar tells whether a set has any value. It asks what is easy to tell first.
func (c *compiler) someScalar(a scalars) bool {
	simple := func(k setKind) bool { return k == setAll || k == setFinite }
	if a.words != 0 || simple(a.numbers.kind) || simple(a.strings.kind) || a.strings.kind == setSimple {
		return true
	}
	return a.numbers.kind != setNone && c.alive(c.numberExpr(a.numbers, true)) || a.strings.kind == setExpr && c.alive(a.strings.expr)
}

// alive tells whether e has any string.
func (c *compiler) alive(e regular.Expr) bool {
	c.spend(0)
	if c.r.Effort() > maxEffort || c.r.Err() != nil {
		panic(failure{c.outgrown()})
	}
	return c.r.Alive(e)
}
