package sets

import (
	"math/big"
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/numbers"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// A set of numbers is held in the simplest of five ways that fits (Kind), so that most schemas need no automaton:
//
//	And({1, 5, 9}, from 3 on) = {5, 9}                        Finite, number by number
//	And(from 3 on, multiples of 2) = both conditions          Simple
//	Not(from 3 on)                                            Expr: a regular language of plain decimals

// Numbers is a set of numbers.
type Numbers struct {
	Kind  Kind
	Set   numbers.Set    // of Simple
	Texts []Numeral      // of Finite
	index map[int32]bool // of texts, by Numeral.Same, if there are many
	expr  regular.Expr   // of Expr: all plain decimals of its numbers
	parts []Numbers      // of Expr: the ranges and lists that it is the union of, if there are few; each is written in its own way
}

// isRange reports whether a set is that of the numbers, or the integers, between two bounds. Multiples are no ranges: what several numbers
// divide at once takes more states than the conditions one by one.
func (a *Numbers) isRange() bool { return a.Kind == Simple && a.Set.MultipleOf == nil }

// fewParts is how many sets of a union are kept. Of more, numbers that are long as plain decimals are not written.
const fewParts = 32

// Numeral is a number and how a schema writes it.
type Numeral struct {
	value *big.Rat
	text  string
	Same  int32 // Document.Same
}

// NumeralOf returns the number that a value is; ok is false if it is no number, or has too many digits.
func NumeralOf(s *document.Document, v *document.Value) (n Numeral, ok bool) {
	r := document.Rational(v)
	if r == nil {
		return n, false
	}
	return Numeral{r, v.Text, s.Same(v)}, true
}

// fewTexts is how many numbers are looked at one by one.
const fewTexts = 8

// Listed returns the set of the given numbers, which must differ.
func Listed(texts []Numeral) Numbers {
	if len(texts) == 0 {
		return Numbers{}
	}
	a := Numbers{Kind: Finite, Texts: texts}
	if len(texts) > fewTexts {
		a.index = make(map[int32]bool, len(texts))
		for _, n := range texts {
			a.index[n.Same] = true
		}
	}
	return a
}

// NumberSteps is how much work it is to read a number or to write one.
const NumberSteps = 10

// AndNumbers returns the numbers that are in both sets.
func (c *Algebra) AndNumbers(a, b Numbers) Numbers {
	switch {
	case a.Kind == None || b.Kind == All:
		return a
	case b.Kind == None || a.Kind == All:
		return b
	case a.Kind == Simple && b.Kind == Simple:
		c.Spend(NumberSteps)
		a.Set = a.Set.And(b.Set)
		if m := a.Set.MultipleOf; m != nil && m.Num().BitLen()+m.Denom().BitLen() > maxBits {
			c.refuseMultiple("the number that all of them are multiples of has too many digits")
		}
		return a
	case a.Kind == Finite && b.Kind == Finite && len(a.Texts) == len(b.Texts) && &a.Texts[0] == &b.Texts[0]: // references to one enumeration
		return a
	case b.Kind == Finite:
		a, b = b, a
		fallthrough
	case a.Kind == Finite:
		kept := make([]Numeral, 0, len(a.Texts))
		for _, n := range a.Texts {
			if c.HasNumber(b, n) {
				kept = append(kept, n)
			}
		}
		return Listed(kept)
	}
	if a.parts == nil {
		a, b = b, a
	}
	if a.parts != nil && (b.isRange() || b.parts != nil) && len(a.parts)*max(len(b.parts), 1) <= fewParts { // each part with b, or with each of b's
		some := make([]Numbers, len(a.parts))
		for i, part := range a.parts {
			some[i] = c.AndNumbers(part, b)
		}
		return c.orNumbers(some...)
	}
	return Numbers{Kind: Expr, expr: c.Arena.And(c.NumberExpr(a, true), c.NumberExpr(b, true))}
}

// orNumbers returns the numbers that are in any of some sets.
func (c *Algebra) orNumbers(sets ...Numbers) Numbers {
	var texts []Numeral
	var others []Numbers
	seen := map[int32]bool{}
	for _, a := range sets {
		switch a.Kind {
		case None:
		case All:
			return a
		case Finite:
			c.Spend(len(a.Texts))
			for _, n := range a.Texts {
				if !seen[n.Same] {
					seen[n.Same] = true
					texts = append(texts, n)
				}
			}
		default:
			others = append(others, a)
		}
	}
	switch {
	case len(others) == 0:
		return Listed(texts)
	case len(others) == 1 && texts == nil:
		return others[0]
	}
	list := make([]regular.Expr, 0, len(others)+1)
	for _, a := range others {
		list = append(list, c.NumberExpr(a, true))
	}
	union := Numbers{Kind: Expr, expr: c.Arena.Or(append(list, c.NumberExpr(Listed(texts), true))...)}
	if texts != nil {
		others = append(others, Listed(texts))
	}
	for _, a := range others {
		if a.isRange() || a.Kind == Finite {
			a.parts = []Numbers{a}
		}
		if union.parts = append(union.parts, a.parts...); a.parts == nil || len(union.parts) > fewParts {
			union.parts = nil
			break
		}
	}
	return union
}

func (c *Algebra) notNumbers(a Numbers) Numbers {
	switch a.Kind {
	case None:
		return Numbers{Kind: All}
	case All:
		return Numbers{}
	}
	if c.plain == regular.None {
		c.plain = numbers.Plain(c.Arena)
	}
	return Numbers{Kind: Expr, expr: c.Arena.Minus(c.plain, c.NumberExpr(a, true))}
}

// oneNumber returns the numbers that are in exactly one of some sets. A set that is loose may lack numbers that the set says it has.
func (c *Algebra) oneNumber(sets []Numbers, loose []bool) Numbers {
	var texts []Numeral
	finite := map[int32]tally{}
	zero, one := Numbers{Kind: All}, Numbers{}
	var rest []int
	for i, a := range sets {
		if a.Kind != Finite {
			rest = append(rest, i)
			continue
		}
		c.Spend(len(a.Texts))
		for _, n := range a.Texts {
			if finite[n.Same] == (tally{}) {
				texts = append(texts, n)
			}
			finite[n.Same] = finite[n.Same].with(loose[i])
		}
	}
	for _, i := range rest {
		is, isNot := sets[i], Numbers{Kind: All}
		if !loose[i] {
			isNot = c.notNumbers(is)
		}
		one = c.orNumbers(c.AndNumbers(one, isNot), c.AndNumbers(zero, is))
		zero = c.AndNumbers(zero, isNot)
	}
	if texts == nil {
		return one
	}
	kept := make([]Numeral, 0, len(texts))
	for _, n := range texts {
		t := finite[n.Same]
		for _, i := range rest {
			if c.HasNumber(sets[i], n) {
				t = t.with(loose[i])
			}
		}
		if t.one() {
			kept = append(kept, n)
		}
	}
	if one.Kind != None {
		one = c.AndNumbers(one, c.notNumbers(Listed(texts)))
	}
	return c.orNumbers(Listed(kept), one)
}

// HasNumber reports whether a number belongs to a set.
func (c *Algebra) HasNumber(a Numbers, n Numeral) bool {
	c.Spend(1)
	switch a.Kind {
	case None:
		return false
	case All:
		return true
	case Simple:
		c.Spend(NumberSteps)
		return a.Set.Has(n.value)
	case Finite:
		if a.index != nil {
			return a.index[n.Same]
		}
		return slices.ContainsFunc(a.Texts, func(m Numeral) bool { return m.Same == n.Same })
	}
	c.Spend(NumberSteps)
	return c.Arena.Matches(a.expr, numbers.Text(n.value))
}

// NumberExpr returns the texts of the numbers of a set. With all it has every plain decimal of them; otherwise those that are to be written:
// the numbers of an enumeration as they are there, or shortest, others as numbers.Written has them.
func (c *Algebra) NumberExpr(a Numbers, all bool) regular.Expr {
	switch a.Kind {
	case None:
		return regular.None
	case All:
		return c.Language.Number
	case Finite:
		c.Spend(NumberSteps * len(a.Texts))
		var list []regular.Expr
		for _, n := range a.Texts {
			if all {
				list = append(list, numbers.Value(c.Arena, n.value))
				continue
			}
			list = append(list, c.Arena.Literal(n.text))
			if text := numbers.Text(n.value); text != "" {
				list = append(list, c.Arena.Literal(text))
			}
		}
		return c.Arena.Or(list...)
	case Expr:
		if all {
			return a.expr
		}
		if a.parts != nil {
			list := make([]regular.Expr, len(a.parts))
			for i, part := range a.parts {
				list[i] = c.NumberExpr(part, false)
			}
			return c.Arena.Or(list...)
		}
		return numbers.WrittenOf(c.Arena, a.expr)
	}
	c.Spend(NumberSteps)
	texts := numbers.Written
	if all {
		texts, a.Set.ZeroFraction = numbers.Language, true
	}
	e, err := texts(c.Arena, a.Set)
	if err != nil {
		c.refuseMultiple(err.Error())
	}
	return e
}

// maxBits bounds what numbers are to be multiples of.
const maxBits = 4096

// refuseMultiple ends the compilation: each of several schemas can be promised alone, but not all together.
func (c *Algebra) refuseMultiple(reason string) {
	limits.Refuse(c.Here, "multipleOf", reason)
}
