package numbers

import (
	"math/big"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// A model writes a number digit by digit, and whatever it has begun it must be able to end soon. So of the texts that write a number,
// Written has those with digits that float64s differ in, and every beginning of a text is the beginning of a plain decimal of the set. For example,
//
//	set           texts                                     no text
//	0 to 1        0.25 1.0 1e-05 0.000001                   7 (though 7e-5 is in the set), 0.3333333333333333333333333
//	from 10 on    12.5 1000 1e+20                           1.5e+20 (no plain decimal from 10 on begins with "1.")
//	1e30 to 2e30  1e+30 1.25e+30                            a plain decimal, which would have 31 digits
//
// An exponent stands only in texts of numbers from 1e16 on or below 1e-4, which programs write so, with one digit before the point.

// Bounds of the texts of Written, for sets that do not ask for more. They leave room for every shortest text of a float64, as
// JavaScript, Python and Go write it.
const (
	mostWhole    = 21 // digits before the point
	mostFraction = 17 // digits behind the point
	mostZeros    = 5  // zeros before these, in 0.000001
	mostMantissa = 16 // digits behind the point of a number with an exponent
)

// long is above all numbers without an exponent.
var long = power(mostWhole)

// Any returns the texts of all numbers as Written has them, and those of minus zero.
func Any(r *regular.Arena) regular.Expr {
	return r.Concat(r.Optional(r.Literal("-")), Set{Min: new(big.Rat)}.magnitudes(r, nil, normal))
}

// Written returns the texts in which a number of s is to be written, or None if s is empty. Whole numbers without bounds are within ±2⁵³,
// which a float64 counts without gaps. Errors are Language's.
func Written(r *regular.Arena, s Set) (regular.Expr, error) {
	step, err := s.check()
	if err != nil {
		return regular.None, err
	}
	if step == nil && s.Min == nil && s.Max == nil {
		return Any(r), nil
	}
	if s.Integer {
		s.ZeroFraction = false
		return s.safe(step).halves(r, step, exact), nil
	}
	e := s.halves(r, step, normal)
	if !r.Alive(e) {
		e = s.halves(r, step, wide)
	}
	return e, nil
}

// WrittenOf returns those texts of e, which has plain decimals, that Written would have; whole numbers are within ±2⁵³. It returns e if
// there are no such texts, or if counting their digits would make too many states: multiples of many numbers at once.
func WrittenOf(r *regular.Arena, e regular.Expr) regular.Expr {
	point, ok := hasPoint(r, e)
	if !ok {
		return e
	}
	if !point {
		step := big.NewRat(1, 1)
		if some := r.And(e, Set{Integer: true}.safe(step).halves(r, step, exact)); r.Alive(some) {
			return some
		}
	}
	if some := r.And(e, Set{}.halves(r, nil, short)); r.Alive(some) {
		return some
	}
	return e
}

// How many states of a language, or how much effort to find them, is too much to count digits in it.
const (
	manyStates = 100
	muchEffort = 10_000
)

// hasPoint reports whether a text of e has a point; ok is false if that is too much work.
func hasPoint(r *regular.Arena, e regular.Expr) (point, ok bool) {
	seen, todo := map[regular.Expr]bool{e: true}, []regular.Expr{e}
	for begin := r.Effort(); len(todo) > 0; {
		at := todo[0]
		todo = todo[1:]
		for _, b := range r.First(at).Bytes(nil) {
			next := r.Next(at, b)
			if next == regular.None || seen[next] {
				continue
			}
			if len(seen) == manyStates || r.Effort()-begin > muchEffort {
				return false, false
			}
			point = point || b == '.' && r.Alive(next)
			seen[next] = true
			todo = append(todo, next)
		}
	}
	return point, true
}

// safe returns the set with both bounds: if one is missing, ±2⁵³, or further if its other bound or the step between its numbers is.
func (s Set) safe(step *big.Rat) Set {
	far := func(other *big.Rat) *big.Rat {
		far := big.NewRat(1<<53-1, 1)
		for _, v := range []*big.Rat{other, step} {
			if v != nil && v.Cmp(far) >= 0 {
				far = new(big.Rat).Add(v, v)
			}
		}
		return far
	}
	low, high := s.Min, s.Max
	if low == nil {
		var mirrored *big.Rat
		if high != nil {
			mirrored = new(big.Rat).Neg(high)
		}
		s.Min = new(big.Rat).Neg(far(mirrored))
	}
	if high == nil {
		s.Max = far(low)
	}
	return s
}

// writing says which texts of numbers are wanted.
type writing int

const (
	exact  writing = iota // all plain decimals
	short                 // plain decimals with as many digits as float64s differ in
	normal                // short ones, and those with exponents
	wide                  // plain decimals with as many digits as the bounds and the step have
)
