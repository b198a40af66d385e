// Package numbers has the regular languages of the texts that write JSON numbers: those within bounds, whole ones, multiples of one.
//
// A number can be written in many ways: 1, 1.0, 10e-1. Plain is the plain decimals: no exponent, no leading zero but that of 0.5, any
// number of trailing zeros behind the point, no minus before zero. Of these, a Language has exactly those that write numbers of its Set
// (with a Set of whole numbers that has no ZeroFraction, only the ones without a point). Beyond the plain decimals a Language may have
// texts with exponents: only for numbers of the Set, and not all of them. Therefore
//
//   - the intersection of Languages is right, if not complete: it may lack texts with exponents;
//   - "a number that is not of s" is Minus(Plain, Language(s)), with ZeroFraction if s is of whole numbers;
//   - a Language that is intersected with a complement must also be intersected with Plain, or 50e-1 passes for a number that is not 5.
package numbers

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// Language cuts a Set at zero. Each half has a range of magnitudes. Its bounds are moved inwards to multiples of the step, then it becomes
// the expression of its texts, and the negative half gets a minus. For example, the whole numbers from -3.5 to 12 are
//
//	half       magnitudes       bounds after that    texts
//	positive   from 0 to 12     0, 12                0|[1-9]|1[0-2]
//	negative   above 0, to 3.5  1, 3                 -[1-3]
//
// Zero is in the positive half alone, since it has no minus.

// Set is a set of numbers: those from Min to Max that are multiples of MultipleOf. A nil field sets no condition.
type Set struct {
	Integer                    bool // only whole numbers
	ZeroFraction               bool // whole numbers may be written 1.0, which decoders for whole numbers may refuse
	Min, Max                   *big.Rat
	MinExclusive, MaxExclusive bool
	MultipleOf                 *big.Rat
}

// Bounds of what languages are built of.
const (
	maxWhole  = 400       // digits before the point of a bound
	maxPlaces = 400       // digits behind the point of a bound or of MultipleOf
	maxOf     = 1<<31 - 1 // MultipleOf in units of its last place
)

// Plain returns the plain decimals.
func Plain(r *regular.Arena) regular.Expr {
	return Set{}.halves(r, nil, exact)
}

// Language returns the plain decimals of the numbers of s, or None if s is empty. A bound with too many digits, or one that is no decimal, is
// an error.
func Language(r *regular.Arena, s Set) (regular.Expr, error) {
	step, err := s.check()
	if err != nil {
		return regular.None, err
	}
	return s.halves(r, step, exact), nil
}

// Check returns the error that Language would return.
func (s Set) Check() error {
	_, err := s.check()
	return err
}

// check returns the step between the numbers of s, or nil, and the error of Language.
func (s Set) check() (step *big.Rat, err error) {
	if step, err = s.step(); err != nil {
		return nil, err
	}
	for _, b := range []*big.Rat{s.Min, s.Max} {
		if err := check(b, "the bound"); err != nil {
			return nil, err
		}
	}
	return step, nil
}

// halves returns the texts of the numbers of s, cut at zero.
func (s Set) halves(r *regular.Arena, step *big.Rat, w writing) regular.Expr {
	positive, negative := s, s.mirrored()
	if s.Min == nil || s.Min.Sign() < 0 {
		positive.Min, positive.MinExclusive = new(big.Rat), false
	}
	if negative.Min == nil || negative.Min.Sign() <= 0 { // zero is among the positive ones: it has no minus
		negative.Min, negative.MinExclusive = new(big.Rat), true
	}
	return r.Or(positive.magnitudes(r, step, w), r.Concat(r.Literal("-"), negative.magnitudes(r, step, w)))
}

// Value returns every plain decimal that writes v: 1, 1.0, 1.00 and so on; None if v is no decimal.
func Value(r *regular.Arena, v *big.Rat) regular.Expr {
	text := Text(v)
	if text == "" {
		return regular.None
	}
	zeros := r.Repeat(r.Literal("0"), 1, regular.Unbounded)
	if v.IsInt() {
		return r.Concat(r.Literal(text), r.Optional(r.Concat(r.Literal("."), zeros)))
	}
	return r.Concat(r.Literal(text), r.Optional(zeros))
}

// Text returns the shortest plain decimal that writes v; "" if v is no decimal.
func Text(v *big.Rat) string {
	places, exact := v.FloatPrec()
	if !exact {
		return ""
	}
	return v.FloatString(places)
}

// errNoDecimal says that a number, 1/3 say, has no end when it is written as a decimal.
var errNoDecimal = errors.New("it is no decimal")

// check returns an error if a bound has too many digits.
func check(v *big.Rat, what string) error {
	if v == nil {
		return nil
	}
	if places, exact := v.FloatPrec(); !exact {
		return fmt.Errorf("%s %s: %w", what, v, errNoDecimal)
	} else if places > maxPlaces || v.Num().BitLen()-v.Denom().BitLen() > 4*maxWhole || leading(strings.TrimPrefix(Text(v), "-")) > maxWhole {
		return fmt.Errorf("%s has more digits than the %d before and %d behind the point that can be followed", what, maxWhole, maxPlaces)
	}
	return nil
}

// step returns what all numbers of s are multiples of, or nil.
func (s Set) step() (*big.Rat, error) {
	step := s.MultipleOf
	if step != nil {
		if step.Sign() <= 0 {
			return nil, fmt.Errorf("multiples of %s: want a number above 0", step.RatString())
		}
		if err := check(step, "multiples: the number"); err != nil {
			return nil, err
		}
		if s.Integer { // the least common multiple of a/b and 1 is a, if a and b have no common divisor
			step = new(big.Rat).SetInt(step.Num())
		}
		if of := units(step, decimals(step)); of.Cmp(big.NewInt(maxOf)) > 0 {
			return nil, fmt.Errorf("multiples of %s: want a number of at most %d units of its last decimal place", Text(step), maxOf)
		}
	} else if s.Integer {
		step = big.NewRat(1, 1)
	}
	return step, nil
}

// decimals returns how many decimal places v has.
func decimals(v *big.Rat) int {
	n, _ := v.FloatPrec()
	return n
}

// units returns v·10ⁿ, which is whole.
func units(v *big.Rat, n int) *big.Int {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
	return new(big.Rat).Mul(v, new(big.Rat).SetInt(scale)).Num()
}

// And returns the set of the numbers that belong to both.
func (s Set) And(t Set) Set {
	s.Integer, s.ZeroFraction = s.Integer || t.Integer, (s.ZeroFraction || !s.Integer) && (t.ZeroFraction || !t.Integer)
	s.Min, s.MinExclusive = tighter(s.Min, t.Min, s.MinExclusive, t.MinExclusive, 1)
	s.Max, s.MaxExclusive = tighter(s.Max, t.Max, s.MaxExclusive, t.MaxExclusive, -1)
	switch a, b := s.MultipleOf, t.MultipleOf; {
	case a == nil:
		s.MultipleOf = b
	case b != nil && a.Sign() > 0 && b.Sign() > 0: // the least common multiple
		x, y := new(big.Int).Mul(a.Num(), b.Denom()), new(big.Int).Mul(b.Num(), a.Denom())
		divisor := new(big.Int).GCD(nil, nil, x, y)
		s.MultipleOf = new(big.Rat).SetFrac(x.Mul(x, y.Quo(y, divisor)), divisor.Mul(a.Denom(), b.Denom()))
	case b != nil && b.Sign() <= 0: // an error that Language finds
		s.MultipleOf = b
	}
	return s
}

// Has reports whether v belongs to s.
func (s Set) Has(v *big.Rat) bool {
	if s.Integer && !v.IsInt() {
		return false
	}
	if s.Min != nil {
		if c := v.Cmp(s.Min); c < 0 || c == 0 && s.MinExclusive {
			return false
		}
	}
	if s.Max != nil {
		if c := v.Cmp(s.Max); c > 0 || c == 0 && s.MaxExclusive {
			return false
		}
	}
	return s.MultipleOf == nil || new(big.Rat).Quo(v, s.MultipleOf).IsInt()
}

// tighter returns the bound that leaves less. If direction is 1, larger numbers leave less; if it is -1, smaller ones do.
func tighter(a, b *big.Rat, aExclusive, bExclusive bool, direction int) (*big.Rat, bool) {
	if a == nil || b == nil {
		if a == nil {
			return b, bExclusive
		}
		return a, aExclusive
	}
	switch c := a.Cmp(b) * direction; {
	case c > 0:
		return a, aExclusive
	case c < 0:
		return b, bExclusive
	}
	return a, aExclusive || bExclusive
}

// mirrored returns the set of the negations.
func (s Set) mirrored() Set {
	m := s
	m.Min, m.Max, m.MinExclusive, m.MaxExclusive = nil, nil, s.MaxExclusive, s.MinExclusive
	if s.Max != nil {
		m.Min = new(big.Rat).Neg(s.Max)
	}
	if s.Min != nil {
		m.Max = new(big.Rat).Neg(s.Min)
	}
	return m
}

// magnitudes returns the texts of the numbers of s without a sign. Min is at least 0.
func (s Set) magnitudes(r *regular.Arena, step *big.Rat, w writing) regular.Expr {
	p := span{r: r, fraction: true, most: regular.Unbounded}
	if step != nil {
		p.places = decimals(step)
		p.of = int32(units(step, p.places).Int64())
		p.fraction = !s.Integer || s.ZeroFraction
		s.Min, s.MinExclusive = snap(s.Min, step, s.MinExclusive, 1), false
		if s.Max != nil {
			s.Max, s.MaxExclusive = snap(s.Max, step, s.MaxExclusive, -1), false
		}
	}
	if s.empty() {
		return regular.None
	}
	all := s
	if w != exact {
		s = s.short(step, w == wide)
		p.most = mostFraction
		if w == wide {
			p.most = max(p.most, decimals(s.Min)+1, decimals(s.Max)+1) // so that there is a number next to a bound that is excluded
		}
	}
	plain := regular.None
	if !s.empty() {
		if s.Max != nil {
			high := boundOf(s.Max, s.MaxExclusive)
			p.high = &high
		}
		p.low = boundOf(s.Min, s.MinExclusive)
		plain = p.plain()
	}
	if step != nil || w != normal {
		return plain
	}
	return r.Or(plain, all.scientific(r, plain))
}

// short returns the set without numbers of too many digits. If its own bounds or its step ask for these, and wide is true, they stay.
func (s Set) short(step *big.Rat, wide bool) Set {
	most := long
	for _, v := range []*big.Rat{s.Min, step} {
		if wide && v != nil && v.Cmp(most) >= 0 {
			most = new(big.Rat).Add(v, v)
		}
	}
	if s.Max != nil && (wide || s.Max.Cmp(most) < 0) {
		return s
	}
	s.Max, s.MaxExclusive = most, true
	if step != nil {
		s.Max, s.MaxExclusive = snap(most, step, true, -1), false
	}
	return s
}

// empty reports whether no number lies between the bounds of s.
func (s Set) empty() bool {
	if s.Max == nil {
		return false
	}
	c := s.Min.Cmp(s.Max)
	return c > 0 || c == 0 && (s.MinExclusive || s.MaxExclusive)
}

// snap returns the multiple of step that is next to v towards direction: v itself if it is one and not exclusive.
func snap(v, step *big.Rat, exclusive bool, direction int64) *big.Rat {
	q := new(big.Rat).Quo(v, step)
	n := new(big.Int).Div(q.Num(), q.Denom()) // rounds down: the denominator is positive
	switch {
	case q.IsInt() && exclusive:
		n.Add(n, big.NewInt(direction))
	case !q.IsInt() && direction > 0:
		n.Add(n, big.NewInt(1))
	}
	return q.Mul(q.SetInt(n), step)
}
