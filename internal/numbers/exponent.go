package numbers

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// Texts with exponents have one digit before the point, which is not 0, as programs write small and large numbers: 1e-05, 1.5e+16.

// Exponents of such texts: those of numbers between 1e-308 and 1e309, which are float64s with all, or nearly all, of their digits, unless
// the plain text is short.
const (
	maxExponent   = 308
	leastPositive = 16
	leastNegative = 5
)

// large and small are the numbers from which on, and below which, a set with such numbers alone has texts with exponents whatever
// its plain decimals begin with. largest is the largest float64's shortest text.
var large, small, largest = power(leastPositive), power(-leastNegative - 1), new(big.Rat).Mul(big.NewRat(17976931348623157, 1), power(maxExponent-16))

// power returns 10ⁿ.
func power(n int) *big.Rat {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

// scientific returns the texts with exponents of the magnitudes of s, which has no step. plain has the plain decimals of the magnitudes.
func (s Set) scientific(r *regular.Arena, plain regular.Expr) regular.Expr {
	if s.Max == nil || s.Max.Cmp(largest) > 0 {
		s.Max, s.MaxExclusive = largest, false
	}
	if s.empty() {
		return regular.None
	}
	high := boundOf(s.Max, s.MaxExclusive)
	p := span{r: r, low: boundOf(s.Min, s.MinExclusive), high: &high, fraction: true}
	all := p.scientific()
	one := s.Min.Cmp(power(0))
	if everyDigit := (one < 0 || one == 0 && !s.MinExclusive) && s.Max.Cmp(power(1)) >= 0; everyDigit || s.Min.Cmp(large) >= 0 || s.Max.Cmp(small) < 0 {
		return all
	}
	// What stands before the exponent must be the beginning of a plain decimal.
	begins := []regular.Expr{r.And(plain, r.Concat(r.Class(digits), r.Literal("."), regular.All))}
	for d := byte('1'); d <= '9'; d++ {
		if digit := r.Class(regular.ClassOf(d)); r.Alive(r.And(plain, r.Concat(digit, regular.All))) {
			begins = append(begins, digit)
		}
	}
	return r.And(all, r.Concat(r.Or(begins...), r.Class(regular.ClassOf('e', 'E')), regular.All))
}

// scientific returns the texts of the numbers of s with an exponent. The digits only matter for the exponents of the bounds.
func (s *span) scientific() regular.Expr {
	r := s.r
	low, least := s.low.scientific()
	high, most := s.high.scientific()
	digits := func(low, high *bound) regular.Expr {
		m := span{r: r, low: bound{whole: "1"}, fraction: true, normal: true, most: mostMantissa}
		p := place{whole: 1, high: high != nil}
		if m.high = high; low != nil {
			m.low, p.low = *low, true
		}
		return m.mantissa(p)
	}
	switch {
	case high.whole == "0": // zero has no such text
		return regular.None
	case low.whole == "0":
		least = -maxExponent - 1
	case least == most:
		return r.Concat(digits(&low, &high), powers(r, least, least))
	}
	e := r.Concat(digits(nil, nil), powers(r, least+1, most-1))
	if low.whole != "0" {
		e = r.Or(e, r.Concat(digits(&low, nil), powers(r, least, least)))
	}
	return r.Or(e, r.Concat(digits(nil, &high), powers(r, most, most)))
}

// mantissa is wholeFrom at the first place. Possibly no bound matters there.
func (s *span) mantissa(p place) regular.Expr {
	if !p.low && !p.high {
		return s.r.Concat(s.r.Class(regular.Range('1', '9')), s.anyWhole(place{}, 0, 0))
	}
	return s.digit(p, s.wholeFrom)
}

// scientific returns b divided by a power of ten, so that one digit that is not 0 stands before the point, and the power. 0 stays 0.
func (b bound) scientific() (bound, int) {
	all := b.whole + b.fraction
	digits := strings.TrimLeft(all, "0")
	if digits == "" {
		return b, 0
	}
	power := len(b.whole) - 1 - (len(all) - len(digits))
	return bound{digits[:1], strings.TrimRight(digits[1:], "0"), b.exclusive}, power
}

// powers returns the exponents from least to most, each with a leading zero or without if it has one digit.
func powers(r *regular.Arena, least, most int) regular.Expr {
	magnitudes := func(least, most int) regular.Expr {
		if most = min(most, maxExponent); least > most {
			return regular.None
		}
		numbers := func(least, most int) regular.Expr {
			s := span{r: r, of: 1, low: bound{whole: strconv.Itoa(least)}, high: &bound{whole: strconv.Itoa(most)}}
			return s.plain()
		}
		e := numbers(least, most)
		if least > 9 {
			return e
		}
		return r.Or(e, r.Concat(r.Literal("0"), numbers(least, min(most, 9))))
	}
	return r.Concat(r.Class(regular.ClassOf('e', 'E')), r.Or(
		r.Concat(r.Optional(r.Literal("+")), magnitudes(max(least, leastPositive), most)),
		r.Concat(r.Literal("-"), magnitudes(max(-most, leastNegative), -least))))
}
