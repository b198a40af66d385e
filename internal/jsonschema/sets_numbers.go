package jsonschema

import (
	"math/big"
	"slices"

	"github.com/antigravity-go/antigravity/internal/numbers"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// numberSet is a set of numbers.
type numberSet struct {
	kind  setKind
	set   numbers.Set    // of setSimple
	texts []numeral      // of setFinite
	index map[int32]bool // of texts, by numeral.same, where there are many
	expr  regular.Expr   // of setExpr: all plain decimals of its numbers, and perhaps other writings of them
}

// numeral is a number and how a schema writes it.
type numeral struct {
	value *big.Rat
	text  string
	same  int32 // source.same
}

// numeralOf returns the number that a value is; ok is false if it is no number, or has too many digits.
func numeralOf(s *source, v *value) (n numeral, ok bool) {
	r := rational(v)
	if r == nil {
		return n, false
	}
	return numeral{r, v.text, s.same(v)}, true
}

// fewTexts is how many numbers are looked at one by one.
const fewTexts = 8

// listed returns the set of some numbers, each of which comes once.
func listed(texts []numeral) numberSet {
	if len(texts) == 0 {
		return numberSet{}
	}
	a := numberSet{kind: setFinite, texts: texts}
	if len(texts) > fewTexts {
		a.index = make(map[int32]bool, len(texts))
		for _, n := range texts {
			a.index[n.same] = true
		}
	}
	return a
}

// numberSteps is how much work it is to read a number or to write one.
const numberSteps = 10

func (c *sets) andNumbers(a, b numberSet) numberSet {
	switch {
	case a.kind == setNone || b.kind == setAll:
		return a
	case b.kind == setNone || a.kind == setAll:
		return b
	case a.kind == setSimple && b.kind == setSimple:
		c.spend(numberSteps)
		a.set = a.set.And(b.set)
		if m := a.set.MultipleOf; m != nil && m.Num().BitLen()+m.Denom().BitLen() > maxBits {
			c.refuseMultiple("the number that all of them are multiples of has too many digits")
		}
		return a
	case a.kind == setFinite && b.kind == setFinite && len(a.texts) == len(b.texts) && &a.texts[0] == &b.texts[0]: // references to one enumeration
		return a
	case b.kind == setFinite:
		a, b = b, a
		fallthrough
	case a.kind == setFinite:
		kept := make([]numeral, 0, len(a.texts))
		for _, n := range a.texts {
			if c.hasNumber(b, n) {
				kept = append(kept, n)
			}
		}
		return listed(kept)
	}
	return numberSet{kind: setExpr, expr: c.r.And(c.numberExpr(a, true), c.numberExpr(b, true))}
}

// orNumbers returns the numbers that are in any of some sets.
func (c *sets) orNumbers(sets ...numberSet) numberSet {
	var texts []numeral
	var others []numberSet
	seen := map[int32]bool{}
	for _, a := range sets {
		switch a.kind {
		case setNone:
		case setAll:
			return a
		case setFinite:
			c.spend(len(a.texts))
			for _, n := range a.texts {
				if !seen[n.same] {
					seen[n.same] = true
					texts = append(texts, n)
				}
			}
		default:
			others = append(others, a)
		}
	}
	switch {
	case len(others) == 0:
		return listed(texts)
	case len(others) == 1 && texts == nil:
		return others[0]
	}
	list := make([]regular.Expr, 0, len(others)+1)
	for _, a := range others {
		list = append(list, c.numberExpr(a, true))
	}
	return numberSet{kind: setExpr, expr: c.r.Or(append(list, c.numberExpr(listed(texts), true))...)}
}

func (c *sets) notNumbers(a numberSet) numberSet {
	switch a.kind {
	case setNone:
		return numberSet{kind: setAll}
	case setAll:
		return numberSet{}
	}
	if c.plain == regular.None {
		c.plain = numbers.Plain(c.r)
	}
	return numberSet{kind: setExpr, expr: c.r.Minus(c.plain, c.numberExpr(a, true))}
}

// oneNumber returns the numbers that are in exactly one of some sets, where a set that is loose may lack numbers that it says it has.
func (c *sets) oneNumber(sets []numberSet, loose []bool) numberSet {
	var texts []numeral
	finite := map[int32]tally{}
	zero, one := numberSet{kind: setAll}, numberSet{}
	var rest []int
	for i, a := range sets {
		if a.kind != setFinite {
			rest = append(rest, i)
			continue
		}
		c.spend(len(a.texts))
		for _, n := range a.texts {
			if finite[n.same] == (tally{}) {
				texts = append(texts, n)
			}
			finite[n.same] = finite[n.same].with(loose[i])
		}
	}
	for _, i := range rest {
		is, isNot := sets[i], numberSet{kind: setAll}
		if !loose[i] {
			isNot = c.notNumbers(is)
		}
		one = c.orNumbers(c.andNumbers(one, isNot), c.andNumbers(zero, is))
		zero = c.andNumbers(zero, isNot)
	}
	if texts == nil {
		return one
	}
	kept := make([]numeral, 0, len(texts))
	for _, n := range texts {
		t := finite[n.same]
		for _, i := range rest {
			if c.hasNumber(sets[i], n) {
				t = t.with(loose[i])
			}
		}
		if t.one() {
			kept = append(kept, n)
		}
	}
	if one.kind != setNone {
		one = c.andNumbers(one, c.notNumbers(listed(texts)))
	}
	return c.orNumbers(listed(kept), one)
}

// hasNumber tells whether a number belongs to a set.
func (c *sets) hasNumber(a numberSet, n numeral) bool {
	c.spend(1)
	switch a.kind {
	case setNone:
		return false
	case setAll:
		return true
	case setSimple:
		c.spend(numberSteps)
		return a.set.Has(n.value)
	case setFinite:
		if a.index != nil {
			return a.index[n.same]
		}
		return slices.ContainsFunc(a.texts, func(m numeral) bool { return m.same == n.same })
	}
	c.spend(numberSteps)
	return c.r.Matches(a.expr, numbers.Text(n.value))
}

// numberExpr returns the texts of the numbers of a set. With all it has every plain decimal of them; otherwise whole numbers have no
// fraction, and the numbers of an enumeration are written as they are there, or shortest.
func (c *sets) numberExpr(a numberSet, all bool) regular.Expr {
	switch a.kind {
	case setNone:
		return regular.None
	case setAll:
		return c.l.Number
	case setFinite:
		c.spend(numberSteps * len(a.texts))
		var list []regular.Expr
		for _, n := range a.texts {
			if all {
				list = append(list, numbers.Value(c.r, n.value))
				continue
			}
			list = append(list, c.r.Literal(n.text))
			if text := numbers.Text(n.value); text != "" {
				list = append(list, c.r.Literal(text))
			}
		}
		return c.r.Or(list...)
	case setExpr:
		return a.expr
	}
	set := a.set
	set.ZeroFraction = all
	c.spend(numberSteps)
	e, err := numbers.Language(c.r, set)
	if err != nil {
		c.refuseMultiple(err.Error())
	}
	return e
}

// maxBits bounds what numbers are to be multiples of.
const maxBits = 4096

// refuseMultiple ends the compilation: what several schemas say together, each of which alone can be promised, is too much.
func (c *sets) refuseMultiple(reason string) {
	refuse(c.here, "multipleOf", reason)
}
