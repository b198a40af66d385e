package numbers

import (
	"math/big"
	"strings"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// The texts of an interval of numbers are found digit by digit. For example, the whole numbers from 8 to 120 are the union of those with as
// many digits as the lower bound, those with as many as the upper bound, and those between:
//
//	[89] | [1-9][0-9] | 1(0[0-9]|1[0-9]|20)
//
// With multiples, the state of a text is also the remainder of its digits: after 1 and 7, the multiples of 5 go on with a 0 or a 5.

// digits is the class of the digits.
var digits = regular.Range('0', '9')

// bound is a number from 0 on as its digits: the whole part without leading zeros (0 has one), the fraction without trailing zeros.
type bound struct {
	whole, fraction string
	exclusive       bool
}

// boundOf returns v, which is at least 0 and a decimal, as a bound.
func boundOf(v *big.Rat, exclusive bool) bound {
	whole, fraction, _ := strings.Cut(Text(v), ".")
	return bound{whole, fraction, exclusive}
}

// at returns the digit at place i if the whole part has n digits.
func (b *bound) at(i int) byte {
	if i < len(b.whole) {
		return b.whole[i] - '0'
	}
	if i -= len(b.whole); i < len(b.fraction) {
		return b.fraction[i] - '0'
	}
	return 0
}

// span builds the texts of the numbers from low to high (nil: no bound) that are multiples of 'of' units of 10^-places; of is 0 if there is
// no such condition. If of is not 0, bounds are multiples themselves, and not exclusive. low is not above high, and below it if either is
// exclusive.
//
// A text is followed digit by digit. As long as its digits are those of a bound, the next digit must not go beyond; once one differs,
// the bound does not matter any more, and the rest is the same expression wherever that happens.
type span struct {
	r        *regular.Arena
	low      bound
	high     *bound
	of       int32
	places   int
	fraction bool // whether a point may be written; without, places is 0
	normal   bool // the first digit is not 0
	most     int  // digits behind the point, besides mostZeros zeros behind "0."; Unbounded: any number
}

// place is a place in a text, described by the digits before it.
type place struct {
	i         int  // digits
	whole     int  // how many digits the whole part has
	low, high bool // whether the digits are those of the bound
	zeros     int  // how many zeros follow "0." without another digit; notZero: the text does not begin so
	rem       int32
}

// notZero is place.zeros of a number from 1 on.
const notZero = -1

// left returns how many zeros, and then how many digits, may still come at a place behind the point.
func (s *span) left(p place) (zeros, most int) {
	i := p.i - p.whole
	switch {
	case s.most == regular.Unbounded:
		return 0, s.most
	case p.zeros == i: // only zeros have come
		return max(mostZeros-i, 0), s.most - max(i-mostZeros, 0)
	case p.zeros > 0:
		i -= min(p.zeros, mostZeros)
	}
	return 0, max(s.most-i, 0)
}

// plain returns the plain decimals.
func (s *span) plain() regular.Expr {
	n := len(s.low.whole)
	if s.high != nil && len(s.high.whole) == n {
		return s.wholeFrom(place{whole: n, low: true, high: true})
	}
	es := []regular.Expr{s.wholeFrom(place{whole: n, low: true})}
	least, most := n, regular.Unbounded // digits behind the first one of numbers that are longer than low and shorter than high
	if s.high != nil {
		most = len(s.high.whole) - 2
		es = append(es, s.wholeFrom(place{whole: len(s.high.whole), high: true}))
	}
	if most < 0 || least <= most {
		es = append(es, s.digitRange(1, 9, func(d byte) regular.Expr { return s.anyWhole(place{rem: s.remainderAfter(0, d)}, least, most) }))
	}
	return s.r.Or(es...)
}

// remainderAfter returns the remainder after one more digit.
func (s *span) remainderAfter(rem int32, d byte) int32 {
	if s.of == 0 {
		return 0
	}
	return int32((int64(rem)*10 + int64(d)) % int64(s.of))
}

// multiples returns the digits that may follow others with a remainder of rem.
func (s *span) multiples(rem int32, places int) regular.Multiples {
	return regular.Multiples{Of: s.of, Remainder: rem, Scale: places, Short: s.most != regular.Unbounded}
}

// anyWhole returns the rest of a number from within the whole part on, if no bound matters any more: least to most digits, and a fraction.
func (s *span) anyWhole(p place, least, most int) regular.Expr {
	r, rem := s.r, p.rem
	if s.of <= 1 {
		fraction := regular.Empty
		if s.fraction {
			fraction = r.Optional(r.Concat(r.Literal("."), s.anyFraction(place{rem: rem, zeros: notZero}, true)))
		}
		return r.Concat(r.Repeat(r.Class(digits), least, most), fraction)
	}
	m := s.multiples(rem, s.places)
	if !s.fraction {
		m.Scale = regular.NoFraction
	}
	if most < 0 {
		m.Digits, m.More = least, true
		return r.Multiples(m)
	}
	var es []regular.Expr
	for m.Digits = least; m.Digits <= most; m.Digits++ {
		es = append(es, r.Multiples(m))
	}
	return r.Or(es...)
}

// anyFraction returns the rest of a number at a place behind the point, if no bound matters any more. If some is true, at least one digit
// follows.
func (s *span) anyFraction(p place, some bool) regular.Expr {
	if s.of != 0 {
		return s.r.MultiplesFraction(s.multiples(p.rem, s.places-(p.i-p.whole)), some)
	}
	least := 0
	if some {
		least = 1
	}
	zeros, most := s.left(p)
	return s.r.Concat(s.r.Repeat(s.r.Literal("0"), 0, zeros), s.r.Repeat(s.r.Class(digits), least, most))
}

// wholeFrom returns the texts that may follow at a place in the whole part, or at its end.
func (s *span) wholeFrom(p place) regular.Expr {
	if p.i < p.whole {
		if !p.low && !p.high {
			return s.anyWhole(p, p.whole-p.i, p.whole-p.i)
		}
		return s.digit(p, s.wholeFrom)
	}
	if !p.low && !p.high {
		return s.anyWhole(p, 0, 0)
	}
	e := regular.None
	if s.mayEnd(p) {
		e = regular.Empty
	}
	if s.fraction {
		e = s.r.Or(e, s.r.Concat(s.r.Literal("."), s.fractionFrom(p, true)))
	}
	return e
}

// mayEnd reports whether a text may end at a place behind the whole part.
func (s *span) mayEnd(p place) bool {
	low := !p.low || p.i-p.whole >= len(s.low.fraction) && !s.low.exclusive
	high := !p.high || p.i-p.whole < len(s.high.fraction) || !s.high.exclusive
	if !low || !high || s.of <= 1 {
		return low && high
	}
	// The digits must make a multiple when the places that are missing are zeros.
	rem := p.rem
	for range s.places - (p.i - p.whole) {
		rem = s.remainderAfter(rem, 0)
	}
	return rem == 0
}

// fractionFrom returns the texts that may follow at a place behind the point; if some is true, at least one digit.
func (s *span) fractionFrom(p place, some bool) regular.Expr {
	r, i := s.r, p.i-p.whole
	if !p.low && !p.high {
		return s.anyFraction(p, some)
	}
	last := 0
	if p.low {
		last = len(s.low.fraction)
	}
	if p.high {
		last = max(last, len(s.high.fraction))
	}
	if i < last {
		zeros, most := s.left(p)
		if zeros == 0 && most == 0 { // the text has as many digits as may be
			if s.mayEnd(p) {
				return regular.Empty
			}
			return regular.None
		}
		e := s.digit(p, func(p place) regular.Expr { return s.fractionFrom(p, false) })
		if !some && s.mayEnd(p) {
			e = r.Or(e, regular.Empty)
		}
		return e
	}
	// All the digits of the bound are written.
	least := 0
	if some {
		least = 1
	}
	switch {
	case p.high && s.high.exclusive:
		return regular.None
	case p.high:
		_, most := s.left(p)
		if s.of != 0 && most != regular.Unbounded {
			most = max(s.places-i, least)
		}
		return r.Repeat(r.Literal("0"), least, most)
	case s.low.exclusive:
		zeros, most := s.left(p)
		return r.Concat(r.Repeat(r.Literal("0"), 0, zeros), s.notZeros(most))
	}
	return s.anyFraction(p, some)
}

// notZeros returns up to left digits that are not all zeros.
func (s *span) notZeros(left int) regular.Expr {
	r := s.r
	nonzero, digit, zero := r.Class(regular.Range('1', '9')), r.Class(digits), r.Literal("0")
	if left == regular.Unbounded {
		return r.Concat(r.Star(zero), nonzero, r.Star(digit))
	}
	e := regular.None
	for n := range left {
		e = r.Or(r.Concat(nonzero, r.Repeat(digit, 0, n)), r.Concat(zero, e))
	}
	return e
}

// digit returns the digits that may follow at a place, each with the rest of the text.
func (s *span) digit(p place, then func(place) regular.Expr) regular.Expr {
	least, most := byte(0), byte(9)
	if p.i == 0 && (p.whole > 1 || s.normal) {
		least = 1
	}
	if p.low {
		least = max(least, s.low.at(p.i))
	}
	if p.high {
		most = s.high.at(p.i)
	}
	return s.digitRange(least, most, func(d byte) regular.Expr {
		zeros := p.zeros
		switch {
		case p.i < p.whole && (p.i > 0 || d > 0):
			zeros = notZero
		case p.i >= p.whole && p.zeros == p.i-p.whole && d == 0:
			zeros++
		}
		return then(place{i: p.i + 1, whole: p.whole, zeros: zeros, low: p.low && d == s.low.at(p.i), high: p.high && d == s.high.at(p.i), rem: s.remainderAfter(p.rem, d)})
	})
}

// digitRange returns the digits from least to most, each with the rest of the text. Digits with the same rest become one class.
func (s *span) digitRange(least, most byte, then func(d byte) regular.Expr) regular.Expr {
	var classes []regular.Class
	var rests []regular.Expr
	for d := least; d <= most; d++ {
		rest := then(d)
		if n := len(rests); n > 0 && rests[n-1] == rest {
			classes[n-1].Add('0' + d)
			continue
		}
		classes, rests = append(classes, regular.ClassOf('0'+d)), append(rests, rest)
	}
	for i, c := range classes {
		rests[i] = s.r.Concat(s.r.Class(c), rests[i])
	}
	return s.r.Or(rests...)
}
