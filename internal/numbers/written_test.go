package numbers_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/numbers"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// longest returns how long the longest text of e is, or -1 if there is no longest one. It looks at no more than some states.
func longest(r *regular.Arena, e regular.Expr, states int) int {
	lengths := map[regular.Expr]int{}
	var visit func(e regular.Expr) int
	visit = func(e regular.Expr) int {
		if n, ok := lengths[e]; ok {
			return n
		}
		lengths[e] = math.MaxInt32 / 2 // if it is reached again, there is a circle
		n := 0
		for _, b := range r.First(e).Bytes(nil) {
			if len(lengths) > states {
				break
			}
			if next := r.Next(e, b); r.Alive(next) {
				n = max(n, 1+visit(next))
			}
		}
		lengths[e] = n
		return n
	}
	if n := visit(e); n < math.MaxInt32/2 {
		return n
	}
	return -1
}

// Each beginning is the beginning of a plain decimal of the set, can be ended, and ends.
func TestWritten(t *testing.T) {
	all := append(texts("-.0159", 6), texts("-.e+159", 6)...)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		s := randomSet(rng, all)
		s.ZeroFraction = false
		r := regular.New()
		e, err := numbers.Written(r, s)
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		plain, _ := numbers.Language(r, s)
		if r.Alive(e) != r.Alive(plain) {
			t.Fatalf("%+v: whether there is a number: %v", s, r.Alive(e))
		}
		for _, w := range all {
			if len(w.text) > 4 && rng.IntN(7) > 0 {
				continue
			}
			if got, want := r.Matches(e, w.text), s.Has(w.value); got && !want || !got && r.Matches(plain, w.text) && (s.MultipleOf == nil || s.Integer) {
				t.Fatalf("%+v: %s: %v", s, w.text, got)
			}
		}
		if n := longest(r, e, 20_000); n < 0 || n > 50 {
			t.Fatalf("%+v: the longest text has %d characters", s, n)
		}
		for range 20 { // draw texts
			text, at, beginning := "", e, plain
			for exponent := false; r.Alive(at); {
				next := r.First(at).Bytes(nil)
				if len(next) == 0 && !r.Nullable(at) {
					t.Fatalf("%+v: %q cannot be ended: %v", s, text, r.Err())
				}
				if r.Nullable(at) && (len(next) == 0 || rng.IntN(12) == 0) {
					break
				}
				b := next[rng.IntN(len(next))]
				if !r.Alive(r.Next(at, b)) {
					continue
				}
				text, at, beginning = text+string(b), r.Next(at, b), r.Next(beginning, b)
				if exponent = exponent || b|0x20 == 'e'; !exponent && !r.Alive(beginning) {
					t.Fatalf("%+v: no plain decimal begins with %s", s, text)
				}
			}
			if r.Alive(e) && !s.Has(rat(text)) {
				t.Fatalf("%+v: %s", s, text)
			}
		}
	}
}

// What programs write can be written, and what they never do cannot.
func TestWrittenTexts(t *testing.T) {
	whole := numbers.Set{Integer: true}
	for _, c := range []struct {
		describe string
		set      numbers.Set
		yes, no  string
	}{
		{"any", numbers.Set{}, "0 -0.0 1e-05 1.5e+16 1E22 5e-308 1.7976931348623157e308 123456789012345678901 0.30000000000000004 0.000001",
			"1.8e308 1e309 1e-400 1e5 12e20 1.12345678901234567890 1234567890123456789012 0.3333333333333333333"},
		{"a rate", numbers.Set{Min: rat("0"), Max: rat("1")}, "1e-05 0.25 1 1.0 0 0.00012345678901234567", "7 7e-5 1.1 1e-1 -1e-5 -0 0.123456789012345678"},
		{"a mark", numbers.Set{Min: rat("0"), Max: rat("5")}, "5 4.9999999 3e-7 1.5e-07", "7 5.1 5.5e-7 1e5"},
		{"between -1 and 1", numbers.Set{Min: rat("-1"), Max: rat("1"), MinExclusive: true, MaxExclusive: true}, "-0.5 0 0.9999", "1 -1 1e-5 2e-5 -7"},
		{"above zero", numbers.Set{Min: rat("0"), MinExclusive: true}, "1e-06 0.001 7.5", "0 0.00 -1"},
		{"from ten on", numbers.Set{Min: rat("10")}, "1e+20 10 12.5", "1.5e+20 9"},
		{"huge", numbers.Set{Min: rat("1e300"), Max: rat("2e300")}, "1e300 1.25e+300 2e300", "1e299 1 2.1e300 1" + strings.Repeat("0", 300)},
		{"beyond float64", numbers.Set{Min: rat("1e310"), Max: rat("1e311")}, "1" + strings.Repeat("0", 310), "1e310 1"},
		{"tiny", numbers.Set{Min: rat("1e-30"), Max: rat("2e-30")}, "1e-30 1.5e-30", "1 0 0.0000000000000000000000000000015"},
		{"a narrow gap", numbers.Set{Min: rat("0.1234567890123456789012"), Max: rat("0.1234567890123456789013"), MinExclusive: true, MaxExclusive: true}, "0.12345678901234567890125", "0.1234567890123456789012"},
		{"whole", whole, "0 -9007199254740991 9007199254740991", "9007199254740993 1.0 1e5 12345678901234567890"},
		{"whole, from a large one on", numbers.Set{Integer: true, Min: rat("1e18")}, "1000000000000000000 1999999999999999999", "1 5000000000000000000"},
		{"whole, up to a large one", numbers.Set{Integer: true, Max: rat("1e18")}, "1000000000000000000 -9007199254740991", "1000000000000000001 -9007199254740993"},
		{"prices", numbers.Set{Min: rat("0"), MultipleOf: rat("0.01")}, "0 1 12.5 12.50 999999.99", "0.001 1.000 -1 1e5"},
		{"large steps", numbers.Set{Min: rat("1"), MultipleOf: rat("2e9")}, "2000000000 4000000000.0", "1 2000000000.00"},
	} {
		r := regular.New()
		e, err := numbers.Written(r, c.set)
		if err != nil {
			t.Fatalf("%s: %v", c.describe, err)
		}
		matches(t, r, e, c.describe, c.yes, c.no)
		if n := longest(r, e, 20_000); n < 0 || r.Err() != nil || r.Len() > 30_000 {
			t.Errorf("%s: the longest text has %d characters, %d expressions, %v", c.describe, n, r.Len(), r.Err())
		}
	}
	// Every float64, as Go, JavaScript and Python write it.
	r := regular.New()
	e, rng := numbers.Any(r), rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		v := math.Float64frombits(rng.Uint64())
		if rng.IntN(2) == 0 {
			v = math.Exp(rng.Float64()*90-45) * rng.Float64()
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) < 1e-308 {
			continue
		}
		scientific, plain := strconv.FormatFloat(v, 'e', -1, 64), strconv.FormatFloat(v, 'f', -1, 64)
		a := math.Abs(v)
		if (a >= 1e16 || a < 1e-4) && !r.Matches(e, scientific) {
			t.Errorf("%s is refused", scientific)
		}
		if a < 1e21 && a >= 1e-6 && !r.Matches(e, plain) {
			t.Errorf("%s is refused", plain)
		}
	}
}

// Of languages, those texts that Written would have are taken.
func TestWrittenOf(t *testing.T) {
	r := regular.New()
	not := func(s numbers.Set, text string) regular.Expr {
		s.ZeroFraction = false
		e, err := numbers.Language(r, s)
		if err != nil {
			t.Fatal(err)
		}
		return r.Minus(e, numbers.Value(r, rat(text)))
	}
	matches(t, r, numbers.WrittenOf(r, not(numbers.Set{Integer: true}, "5")), "whole, not 5", "4 9007199254740991", "5 4.0 9007199254740993")
	matches(t, r, numbers.WrittenOf(r, not(numbers.Set{}, "5")), "not 5", "4 4.0 5.00000000000000001", "5 5.0 4.123456789012345678")
	matches(t, r, numbers.WrittenOf(r, not(numbers.Set{Min: rat("1e30")}, "1e30")), "large", "1000000000000000000000000000001", "1")
}
