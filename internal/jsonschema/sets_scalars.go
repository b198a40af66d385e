package jsonschema

import "github.com/antigravity-go/antigravity/internal/regular"

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

// scalars is a set of values that are neither arrays nor objects. Of these sets unions, intersections and complements are exact.
type scalars struct {
	words   words
	numbers numberSet
	strings stringSet
}

var allScalars = scalars{allWords, numberSet{kind: setAll}, stringSet{kind: setAll}}

func (c *sets) and(a, b scalars) scalars {
	c.spend(2)
	return scalars{a.words & b.words, c.andNumbers(a.numbers, b.numbers), c.andStrings(a.strings, b.strings)}
}

// or returns the values that are in any of some sets.
func (c *sets) or(sets ...scalars) (all scalars) {
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
func (c *sets) one(sets []scalars, loose []bool) (some scalars) {
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

func (c *sets) complement(a scalars) scalars {
	return scalars{allWords &^ a.words, c.notNumbers(a.numbers), c.notStrings(a.strings)}
}

// scalarExpr returns the texts of the values.
func (c *sets) scalarExpr(a scalars) regular.Expr {
	list := make([]regular.Expr, 0, 5)
	for i, word := range [...]string{"null", "true", "false"} {
		if a.words>>i&1 != 0 {
			list = append(list, c.r.Literal(word))
		}
	}
	return c.r.Or(append(list, c.numberExpr(a.numbers, false), c.quoted(a.strings))...)
}

// someScalar tells whether a set has any value. It asks what is easy to tell first.
func (c *sets) someScalar(a scalars) bool {
	simple := func(k setKind) bool { return k == setAll || k == setFinite }
	if a.words != 0 || simple(a.numbers.kind) || simple(a.strings.kind) || a.strings.kind == setSimple {
		return true
	}
	return a.numbers.kind != setNone && c.alive(c.numberExpr(a.numbers, true)) || a.strings.kind == setExpr && c.alive(a.strings.expr)
}
