package numbers

import (
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// maxExponent bounds the exponents of scientific texts: numbers between 1e-308 and 1e309 are float64s with all, or nearly all, of their
// digits.
const maxExponent = 308

// exponent returns the language of e or E, an optional sign, and the digits.
func exponent(r *regular.Arena, some regular.Expr) regular.Expr {
	return r.Concat(r.Class(regular.ClassOf('e', 'E')), r.Optional(r.Class(regular.ClassOf('+', '-'))), some)
}

// scientific returns the texts of the numbers of s with an exponent and exactly one digit before the point, which is not 0, as programs
// write small and large numbers: 1e-05, 1.5e+16. s is not a set of multiples. The digits only matter for the exponents of the bounds.
func (s *span) scientific() regular.Expr {
	r := s.r
	low, least := s.low.scientific()
	high, most := bound{}, maxExponent+1
	if s.high != nil {
		high, most = s.high.scientific()
	}
	digits := func(low, high *bound) regular.Expr {
		m := span{r: r, low: bound{whole: "1"}, fraction: true, normal: true}
		p := place{whole: 1, high: high != nil}
		if m.high = high; low != nil {
			m.low, p.low = *low, true
		}
		return m.mantissa(p)
	}
	switch {
	case s.high != nil && high.whole == "0": // zero has no such text
		return regular.None
	case low.whole == "0":
		least = -maxExponent - 1
	case s.high != nil && least == most:
		return r.Concat(digits(&low, &high), powers(r, least, least))
	}
	e := r.Concat(digits(nil, nil), powers(r, least+1, most-1))
	if low.whole != "0" {
		e = r.Or(e, r.Concat(digits(&low, nil), powers(r, least, least)))
	}
	if s.high != nil {
		e = r.Or(e, r.Concat(digits(nil, &high), powers(r, most, most)))
	}
	return e
}

// mantissa is wholeFrom at the first place. Possibly no bound matters there.
func (s *span) mantissa(p place) regular.Expr {
	if !p.low && !p.high {
		return s.r.Concat(s.r.Class(regular.Range('1', '9')), s.anyWhole(0, 0, 0))
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

// powers returns the exponents from least to most, within maxExponent, each with a leading zero or without if it has one digit.
func powers(r *regular.Arena, least, most int) regular.Expr {
	least, most = max(least, -maxExponent), min(most, maxExponent)
	if least > most {
		return regular.None
	}
	magnitudes := func(least, most int) regular.Expr {
		if least > most {
			return regular.None
		}
		s := span{r: r, of: 1, low: bound{whole: strconv.Itoa(least)}, high: &bound{whole: strconv.Itoa(most)}}
		e := s.plain()
		if least > 9 {
			return e
		}
		s = span{r: r, of: 1, low: bound{whole: strconv.Itoa(least)}, high: &bound{whole: strconv.Itoa(min(most, 9))}}
		return r.Or(e, r.Concat(r.Literal("0"), s.plain()))
	}
	return r.Concat(r.Class(regular.ClassOf('e', 'E')), r.Or(
		r.Concat(r.Optional(r.Literal("+")), magnitudes(max(least, 0), most)),
		r.Concat(r.Literal("-"), magnitudes(max(-most, 0), -least))))
}
