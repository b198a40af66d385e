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

var (
	allScalars = scalars{allWords, numberSet{kind: setAll}, stringSet{kind: setAll}}
	noScalars  = scalars{}
)

func (c *compiler) and(a, b scalars) scalars {
	return scalars{a.words & b.words, c.andNumbers(a.numbers, b.numbers), c.andStrings(a.strings, b.strings)}
}

func (c *compiler) or(a, b scalars) scalars {
	return scalars{a.words | b.words, c.orNumbers(a.numbers, b.numbers), c.orStrings(a.strings, b.strings)}
}

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
	if s.never {
		s.scalarsKnown = done
		return noScalars
	}
	set := scalars{words: allWords}
	if s.types&nulls == 0 {
		set.words &^= wordNull
	}
	if s.types&booleans == 0 {
		set.words &^= wordTrue | wordFalse
	}
	for _, list := range s.enums {
		var some words
		for _, v := range list {
			some |= wordOf(v)
		}
		set.words &= some
	}
	set.numbers, set.strings = c.numbersOf(s), c.stringsOf(s)
	for _, list := range [][]*schema{s.ref, s.allOf} {
		for _, t := range list {
			set = c.and(set, c.scalarsOf(t))
		}
	}
	if s.anyOf != nil {
		some := noScalars
		for _, t := range s.anyOf {
			some = c.or(some, c.scalarsOf(t))
		}
		set = c.and(set, some)
	}
	if s.oneOf != nil {
		zero, one := allScalars, noScalars
		for _, t := range s.oneOf {
			is := c.and(c.scalarsOf(t), set)
			isNot := c.scalarsNot(t)
			one = c.or(c.and(one, isNot), c.and(zero, is))
			zero = c.and(zero, isNot)
		}
		set = c.and(set, one)
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
	s.scalars, s.scalarsKnown = set, done
	for _, t := range s.applicators {
		s.inexact = s.inexact || t.inexact
	}
	return set
}

// scalarsNot returns the values that are not of s and are neither arrays nor objects. Of a schema that something was left out of,
// nothing is known to be no value.
func (c *compiler) scalarsNot(s *schema) scalars {
	set := c.scalarsOf(s)
	if s.inexact {
		return allScalars
	}
	return c.complement(set)
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
	if c.r.Effort() > maxEffort || c.r.Err() != nil {
		panic(failure{c.outgrown()})
	}
	return c.r.Alive(e)
}
