package regular_test

import (
	"math/big"
	"regexp"
	"testing"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// Multiples has the texts that arithmetic says, and Next is None exactly if no multiple goes on.
func TestMultiples(t *testing.T) {
	form := regexp.MustCompile(`^[0-9]*(\.[0-9]+)?$`)
	var texts []string
	var grow func(prefix string)
	grow = func(prefix string) {
		texts = append(texts, prefix)
		if len(prefix) < 5 {
			for _, c := range ".0125" {
				grow(prefix + string(c))
			}
		}
	}
	grow("")
	for _, m := range []regular.Multiples{
		{Of: 7, Scale: regular.NoFraction, More: true}, {Of: 7, Remainder: 3, Digits: 2}, {Of: 25, Scale: 2, More: true, Digits: 1},
		{Of: 1, Scale: 1, Digits: 2}, {Of: 64, Scale: 3, More: true}, {Of: 2147483647, Remainder: 214748364, Digits: 1, Scale: 0}, {Of: 15, Remainder: 14, Digits: 2, Scale: 1},
	} {
		r := regular.New()
		e := r.Multiples(m)
		for _, text := range texts {
			got, want := r.Matches(e, text), false
			if form.MatchString(text) {
				whole := len(regexp.MustCompile(`^[0-9]*`).FindString(text))
				v, _ := new(big.Rat).SetString("0" + text)
				before := new(big.Rat).SetInt64(int64(m.Remainder))
				for range whole {
					before.Mul(before, big.NewRat(10, 1))
				}
				scale := int64(1)
				for range max(m.Scale, 0) {
					scale *= 10
				}
				v.Mul(v.Add(v, before), big.NewRat(scale, 1)).Quo(v, big.NewRat(int64(m.Of), 1))
				want = v.IsInt() && (whole == m.Digits || whole > m.Digits && m.More) && (m.Scale != regular.NoFraction || whole == len(text))
			}
			if got != want {
				t.Errorf("%+v: %q: %v, want %v", m, text, got, want)
			}
		}
		if r.Err() != nil {
			t.Error(r.Err())
		}
	}
	r := regular.New()
	if e := r.Multiples(regular.Multiples{Of: 1000, Remainder: 1, Digits: 2}); e != regular.None {
		t.Error("1?? is never divided by 1000")
	}
}
