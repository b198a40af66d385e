package sets

import (
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// Words is a set of null, true and false.
type Words uint8

const (
	WordNull Words = 1 << iota
	WordTrue
	WordFalse
	AllWords = WordNull | WordTrue | WordFalse
)

// WordOf returns the word that a value is, if it is one.
func WordOf(v *document.Value) Words {
	switch {
	case v.Kind == document.Null:
		return WordNull
	case v.Kind == document.Boolean && v.Truth:
		return WordTrue
	case v.Kind == document.Boolean:
		return WordFalse
	}
	return 0
}

// Scalars is a set of values that are neither arrays nor objects. Of these sets unions, intersections and complements are exact.
type Scalars struct {
	Words   Words
	Numbers Numbers
	Strings Strings
}

// AllScalars is the set of every value that is neither an array nor an object.
var AllScalars = Scalars{AllWords, Numbers{Kind: All}, Strings{Kind: All}}

// And returns the values that are in both sets.
func (c *Algebra) And(a, b Scalars) Scalars {
	c.Spend(2)
	return Scalars{a.Words & b.Words, c.AndNumbers(a.Numbers, b.Numbers), c.AndStrings(a.Strings, b.Strings)}
}

// Or returns the values that are in any of some sets.
func (c *Algebra) Or(sets ...Scalars) (all Scalars) {
	ns, ss := make([]Numbers, len(sets)), make([]Strings, len(sets))
	for i, a := range sets {
		all.Words |= a.Words
		ns[i], ss[i] = a.Numbers, a.Strings
	}
	all.Numbers, all.Strings = c.orNumbers(ns...), c.orStrings(ss...)
	return all
}

// One returns the values that are in exactly one of some sets. A set that is loose may lack values that it says it has: that a value is in it
// does not keep the value out of another.
func (c *Algebra) One(sets []Scalars, loose []bool) (some Scalars) {
	ns, ss := make([]Numbers, len(sets)), make([]Strings, len(sets))
	zero := AllWords
	for i, a := range sets {
		is, isNot := a.Words, AllWords
		if !loose[i] {
			isNot = AllWords &^ is
		}
		some.Words, zero = some.Words&isNot|zero&is, zero&isNot
		ns[i], ss[i] = a.Numbers, a.Strings
	}
	some.Numbers, some.Strings = c.oneNumber(ns, loose), c.oneString(ss, loose)
	return some
}

// Complement returns the values that are not in the set.
func (c *Algebra) Complement(a Scalars) Scalars {
	return Scalars{AllWords &^ a.Words, c.notNumbers(a.Numbers), c.NotStrings(a.Strings)}
}

// ScalarExpr returns the texts of the values.
func (c *Algebra) ScalarExpr(a Scalars) regular.Expr {
	list := make([]regular.Expr, 0, 5)
	for i, word := range c.Language.Words {
		if a.Words>>i&1 != 0 {
			list = append(list, c.Arena.Literal(word))
		}
	}
	return c.Arena.Or(append(list, c.NumberExpr(a.Numbers, false), c.Quoted(a.Strings))...)
}

// SomeScalar reports whether a set has any value. It tries the cheap tests first.
func (c *Algebra) SomeScalar(a Scalars) bool {
	simple := func(k Kind) bool { return k == All || k == Finite }
	if a.Words != 0 || simple(a.Numbers.Kind) || simple(a.Strings.Kind) || a.Strings.Kind == Simple {
		return true
	}
	return a.Numbers.Kind != None && c.Alive(c.NumberExpr(a.Numbers, true)) || a.Strings.Kind == Expr && c.Alive(a.Strings.Expr)
}
