package jsonschema

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/numbers"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// numberSet is a set of numbers.
type numberSet struct {
	kind  setKind
	set   numbers.Set  // of setSimple
	texts []numeral    // of setFinite
	expr  regular.Expr // of setExpr: all plain decimals of its numbers, and perhaps other writings of them
}

// numeral is a number and how a schema writes it.
type numeral struct {
	value *big.Rat
	text  string
}

// setKind tells how a set of numbers or of strings is held. The simpler ones keep what most schemas need out of the arena.
type setKind uint8

const (
	setNone setKind = iota
	setAll
	setSimple // numbers within bounds; strings of some lengths
	setFinite
	setExpr
)

// rational returns the number that a value is, or nil where it is none or has too many digits.
func rational(v *value) *big.Rat {
	if v.kind != number {
		return nil
	}
	r, err := numbers.Parse(v.text)
	if err != nil {
		return nil
	}
	return r
}

// bound reads a keyword that bounds numbers.
func bound(c *compiler, s *schema, all, v *value, path, name string) {
	if s.number == nil {
		s.number = &numbers.Set{}
	}
	if v.kind == boolean && strings.HasPrefix(name, "exclusive") { // draft 4: minimum says where
		return
	}
	if v.kind != number {
		c.fail("%s is not a number", path)
	}
	r := rational(v)
	if r == nil {
		c.unsupported(s, name, "%.40s has too many digits", v.text)
		return
	}
	exclusive := func(name string) bool {
		e := all.get(name)
		return e != nil && e.kind == boolean && e.truth
	}
	add := numbers.Set{}
	switch name {
	case "minimum":
		add.Min, add.MinExclusive = r, exclusive("exclusiveMinimum")
	case "maximum":
		add.Max, add.MaxExclusive = r, exclusive("exclusiveMaximum")
	case "exclusiveMinimum":
		add.Min, add.MinExclusive = r, true
	case "exclusiveMaximum":
		add.Max, add.MaxExclusive = r, true
	case "multipleOf":
		if r.Sign() <= 0 {
			c.fail("%s is not above 0", path)
		}
		add.MultipleOf = r
	}
	*s.number = s.number.And(add)
}

// numbersOf returns the numbers that the keywords of s allow.
func (c *compiler) numbersOf(s *schema) numberSet {
	if s.types&(integers|fractions) == 0 {
		return numberSet{}
	}
	set := numbers.Set{ZeroFraction: true}
	if s.number != nil {
		set = s.number.And(set)
	}
	set.Integer = s.types&fractions == 0
	set.ZeroFraction = true
	n := numberSet{kind: setSimple, set: set}
	if set.Min == nil && set.Max == nil && set.MultipleOf == nil && !set.Integer {
		n.kind = setAll
	} else if s.number != nil {
		if _, err := numbers.Language(c.r, set); err != nil {
			c.unsupported(s, "multipleOf", "%v", err)
			n.kind = setAll
		}
	}
	for _, list := range s.enums {
		some := numberSet{kind: setFinite}
		for _, v := range list {
			if v.kind != number {
				continue
			}
			r := rational(v)
			if r == nil {
				c.unsupported(s, "enum", "%.40s has too many digits", v.text)
				continue
			}
			if !slices.ContainsFunc(some.texts, func(n numeral) bool { return n.value.Cmp(r) == 0 }) {
				some.texts = append(some.texts, numeral{r, v.text})
			}
		}
		if len(some.texts) == 0 {
			return numberSet{}
		}
		n = c.andNumbers(n, some)
	}
	return n
}

func (c *compiler) andNumbers(a, b numberSet) numberSet {
	switch {
	case a.kind == setNone || b.kind == setAll:
		return a
	case b.kind == setNone || a.kind == setAll:
		return b
	case a.kind == setSimple && b.kind == setSimple:
		a.set = a.set.And(b.set)
		return a
	case b.kind == setFinite:
		a, b = b, a
		fallthrough
	case a.kind == setFinite:
		out := numberSet{kind: setFinite}
		for _, n := range a.texts {
			if c.hasNumber(b, n.value) {
				out.texts = append(out.texts, n)
			}
		}
		if len(out.texts) == 0 {
			return numberSet{}
		}
		return out
	}
	return numberSet{kind: setExpr, expr: c.r.And(c.numberExpr(a, true), c.numberExpr(b, true))}
}

func (c *compiler) orNumbers(a, b numberSet) numberSet {
	switch {
	case a.kind == setNone || b.kind == setAll:
		return b
	case b.kind == setNone || a.kind == setAll:
		return a
	case a.kind == setFinite && b.kind == setFinite:
		out := numberSet{kind: setFinite, texts: slices.Clone(a.texts)}
		for _, n := range b.texts {
			if !c.hasNumber(a, n.value) {
				out.texts = append(out.texts, n)
			}
		}
		return out
	}
	return numberSet{kind: setExpr, expr: c.r.Or(c.numberExpr(a, true), c.numberExpr(b, true))}
}

func (c *compiler) notNumbers(a numberSet) numberSet {
	switch a.kind {
	case setNone:
		return numberSet{kind: setAll}
	case setAll:
		return numberSet{}
	}
	return numberSet{kind: setExpr, expr: c.r.Minus(numbers.Plain(c.r), c.numberExpr(a, true))}
}

// hasNumber tells whether a number belongs to a set.
func (c *compiler) hasNumber(a numberSet, v *big.Rat) bool {
	switch a.kind {
	case setNone:
		return false
	case setAll:
		return true
	case setFinite:
		return slices.ContainsFunc(a.texts, func(n numeral) bool { return n.value.Cmp(v) == 0 })
	}
	return c.r.Matches(c.numberExpr(a, true), numbers.Text(v))
}

// numberExpr returns the texts of the numbers of a set. With all it has every plain decimal of them; otherwise whole numbers have no
// fraction, and the numbers of an enumeration are written as they are there, or shortest.
func (c *compiler) numberExpr(a numberSet, all bool) regular.Expr {
	switch a.kind {
	case setNone:
		return regular.None
	case setAll:
		return c.l.Number
	case setFinite:
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
	set.ZeroFraction = all || c.zeroFraction
	e, err := numbers.Language(c.r, set)
	if err != nil {
		c.fail("%v", err)
	}
	return e
}

// plainNumber returns a text that is the same for all writings of a number.
func plainNumber(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	mantissa, power := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := strconv.Atoi(strings.TrimPrefix(s[i+1:], "+"))
		if err != nil {
			return sign + s
		}
		mantissa, power = s[:i], n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	power -= len(fraction)
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	return sign + short + "e" + strconv.Itoa(power+len(digits)-len(short))
}
