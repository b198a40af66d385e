package numbers_test

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/numbers"
	"github.com/antigravity-go/antigravity/internal/regular"
)

func rat(text string) *big.Rat {
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return v
}

var (
	plainForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	wholeForm = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
)

// written is a text and the number that it writes.
type written struct {
	text  string
	value *big.Rat
	plain bool // not only JSON, but a plain decimal
}

// texts returns all JSON numbers of at most n letters of an alphabet.
func texts(alphabet string, n int) (all []written) {
	var grow func(prefix string)
	grow = func(prefix string) {
		if json.Valid([]byte(prefix)) {
			v := rat(prefix)
			all = append(all, written{prefix, v, plainForm.MatchString(prefix) && !(v.Sign() == 0 && prefix[0] == '-')})
		}
		if len(prefix) == n {
			return
		}
		for _, c := range alphabet {
			grow(prefix + string(c))
		}
	}
	grow("")
	return all
}

// randomSet returns a set that has some of the numbers, more often than not.
func randomSet(rng *rand.Rand, all []written) numbers.Set {
	bounds := func() *big.Rat {
		if rng.IntN(3) == 0 {
			return nil
		}
		if rng.IntN(3) == 0 {
			if v := all[rng.IntN(len(all))].value; v.Num().BitLen() < 1000 && v.Denom().BitLen() < 1000 {
				return v
			}
		}
		scale := []int64{1, 1, 10, 100, 1000, 8}[rng.IntN(6)]
		return big.NewRat(rng.Int64N(4001)-2000, scale*[]int64{1, 10}[rng.IntN(2)])
	}
	steps := []string{"0.01", "0.1", "0.5", "0.25", "1e-8", "1", "2", "3", "5", "7", "10", "1000", "86400", "64", "2.5", "6.75", "1.5", "0.003"}
	s := numbers.Set{Integer: rng.IntN(3) == 0, ZeroFraction: rng.IntN(2) == 0, Min: bounds(), Max: bounds(), MinExclusive: rng.IntN(2) == 0, MaxExclusive: rng.IntN(2) == 0}
	if rng.IntN(3) == 0 {
		s.MultipleOf = rat(steps[rng.IntN(len(steps))])
	}
	return s
}

// Languages have exactly the plain decimals of their numbers, and no other text.
func TestRandomSets(t *testing.T) {
	all := append(texts("-.0159", 6), texts("-.e+159", 5)...)
	all = append(all, texts("0123456789", 3)...)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s := randomSet(rng, all)
		r := regular.New()
		e, err := numbers.Language(r, s)
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		some := false
		for _, w := range all {
			if len(w.text) > 3 && rng.IntN(7) > 0 {
				continue
			}
			want := s.Has(w.value)
			some = some || want
			got := r.Matches(e, w.text)
			switch {
			case got && (!want || !w.plain):
				t.Fatalf("%+v: %s is accepted", s, w.text)
			case got || !want || !w.plain:
			case s.Integer && !s.ZeroFraction && !wholeForm.MatchString(w.text):
			default:
				t.Fatalf("%+v: %s is refused", s, w.text)
			}
		}
		if some && e == regular.None {
			t.Fatalf("%+v: no number", s)
		}
		if r.Err() != nil || r.Len() > 20_000 {
			t.Fatalf("%+v: %d expressions, %v", s, r.Len(), r.Err())
		}
	}
}

// The empty sets are None, and every expression that Next returns has strings, without a search.
func TestEmptySets(t *testing.T) {
	for _, s := range []numbers.Set{
		{Min: rat("1"), Max: rat("0")},
		{Min: rat("1"), Max: rat("1"), MinExclusive: true},
		{Min: rat("0"), Max: rat("0"), MaxExclusive: true},
		{Integer: true, Min: rat("0.1"), Max: rat("0.9")},
		{Integer: true, Min: rat("3"), Max: rat("4"), MinExclusive: true, MaxExclusive: true},
		{MultipleOf: rat("7"), Min: rat("701"), Max: rat("706")},
		{MultipleOf: rat("999999937"), Min: rat("1"), Max: rat("999999936")},
		{MultipleOf: rat("0.01"), Min: rat("0.001"), Max: rat("0.009")},
	} {
		r := regular.New()
		if e, err := numbers.Language(r, s); err != nil || e != regular.None {
			t.Errorf("%+v: %d, %v", s, e, err)
		}
	}
}

// And is the intersection.
func TestAnd(t *testing.T) {
	all := texts("-.0256", 5)
	rng := rand.New(rand.NewPCG(3, 4))
	random := func() (s numbers.Set) {
		s.Integer, s.MinExclusive, s.MaxExclusive = rng.IntN(3) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0
		if rng.IntN(2) == 0 {
			s.Min = all[rng.IntN(len(all))].value
		}
		if rng.IntN(2) == 0 {
			s.Max = all[rng.IntN(len(all))].value
		}
		if rng.IntN(2) == 0 {
			s.MultipleOf = rat([]string{"0.2", "2", "5", "2.5", "6", "0.04"}[rng.IntN(6)])
		}
		return s
	}
	for range effort.Of(400, 1000, 10000) {
		a, b := random(), random()
		if rng.IntN(3) == 0 {
			b.Min, b.Max = a.Min, a.Max
		}
		both := a.And(b)
		for _, w := range all {
			if got, want := both.Has(w.value), a.Has(w.value) && b.Has(w.value); got != want {
				t.Fatalf("%+v and %+v: %s: %v", a, b, w.text, got)
			}
		}
	}
}

// Large numbers are followed with few expressions, even if hardly any number is a multiple.
func TestLarge(t *testing.T) {
	for _, c := range []struct {
		set      numbers.Set
		yes, no  string
		atMost   int
		describe string
	}{
		{numbers.Set{Integer: true, Min: rat("-9223372036854775808"), Max: rat("9223372036854775807")}, "-9223372036854775808 9223372036854775807 0", "9223372036854775808 -9223372036854775809 1.0", 700, "int64"},
		{numbers.Set{Min: rat("-1.7976931348623157e308"), Max: rat("1.7976931348623157e308")}, "0 1" + strings.Repeat("0", 308), "2" + strings.Repeat("0", 308), 20_000, "float64"},
		{numbers.Set{Integer: true, MultipleOf: rat("2147483647"), Min: rat("1e30")}, "2147483647000000000000000000000000000", "2147483647000000000000000000000000001 2147483647", 20_000, "large multiples"},
		{numbers.Set{MultipleOf: rat("999999937"), Max: rat("1e12")}, "-999999937 998999937063 999999937.00", "1000998936937 1", 20_000, "few multiples"},
		{numbers.Set{MultipleOf: rat("0.2147483629"), Min: rat("-1e-99"), Max: rat("1e99")}, "0.2147483629 0.42949672580 2147483629", "0.21474836290001 1 -0.2147483629", 60_000, "many digits"},
		{numbers.Set{MultipleOf: rat("0.1")}, "0.3 0.30 -17", "0.31 0.301", 200, "exact"},
	} {
		r := regular.New()
		e, err := numbers.Language(r, c.set)
		if err != nil {
			t.Fatalf("%s: %v", c.describe, err)
		}
		matches(t, r, e, c.describe, c.yes, c.no)
		walked := reach(r, e, 500)
		if r.Err() != nil || r.Len() > c.atMost {
			t.Errorf("%s: %d expressions after %d states, %v", c.describe, r.Len(), walked, r.Err())
		}
	}
}

// matches checks which texts a language has.
func matches(t *testing.T, r *regular.Arena, e regular.Expr, describe, yes, no string) {
	t.Helper()
	for i, list := range []string{yes, no} {
		for _, text := range strings.Fields(list) {
			if got := r.Matches(e, text); got != (i == 0) {
				t.Errorf("%s: %s: %v", describe, text, got)
			}
		}
	}
}

// reach walks through at most n states.
func reach(r *regular.Arena, e regular.Expr, n int) int {
	seen, todo := map[regular.Expr]bool{e: true}, []regular.Expr{e}
	for len(todo) > 0 && len(seen) < n {
		s := todo[0]
		todo = todo[1:]
		for _, b := range r.First(s).Bytes(nil) {
			if d := r.Next(s, b); !seen[d] {
				seen[d] = true
				todo = append(todo, d)
			}
		}
	}
	return len(seen)
}

// Complements are taken among the plain decimals.
func TestComplement(t *testing.T) {
	r := regular.New()
	whole, err := numbers.Language(r, numbers.Set{Integer: true, ZeroFraction: true})
	if err != nil {
		t.Fatal(err)
	}
	plain := numbers.Plain(r)
	broken, notFive := r.Minus(plain, whole), r.Minus(plain, numbers.Value(r, rat("5")))
	for _, w := range texts("-.059", 6) {
		if got, want := r.Matches(plain, w.text), w.plain; got != want {
			t.Fatalf("plain %s: %v", w.text, got)
		}
		if got, want := r.Matches(broken, w.text), w.plain && !w.value.IsInt(); got != want {
			t.Fatalf("broken %s: %v", w.text, got)
		}
		if got, want := r.Matches(notFive, w.text), w.plain && w.value.Cmp(rat("5")) != 0; got != want {
			t.Fatalf("not 5: %s: %v", w.text, got)
		}
	}
	for _, value := range []string{"0", "-5", "0.05", "-950"} {
		e := numbers.Value(r, rat(value))
		for _, w := range texts("-.059", 6) {
			if got, want := r.Matches(e, w.text), w.plain && w.value.Cmp(rat(value)) == 0; got != want {
				t.Fatalf("%s: %s: %v", value, w.text, got)
			}
		}
	}
}

// What nothing is asked of is the one expression of all JSON numbers.
func TestAnyIsShared(t *testing.T) {
	l := jsonexpr.New()
	if e, err := numbers.Written(l.Arena, numbers.Set{}); err != nil || e != l.Number {
		t.Errorf("%d, %v, want %d", e, err, l.Number)
	}
}

func TestErrors(t *testing.T) {
	r := regular.New()
	for _, s := range []numbers.Set{
		{MultipleOf: rat("0")}, {MultipleOf: rat("-1")}, {MultipleOf: big.NewRat(1, 3)}, {MultipleOf: rat("3000000000")},
		{Min: big.NewRat(1, 3)}, {Max: rat("1e500")}, {Min: rat("1e-500")},
	} {
		if _, err := numbers.Language(r, s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
	if numbers.Value(r, big.NewRat(1, 3)) != regular.None {
		t.Error("1/3 is written")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"0", "-0", "1.50", "1e5", "-1.2E-07", "01", ".5", "1.", "+1", "1e", "--1", "1e999999999", "0x1", "1_0", "1/2", "Inf", " 1", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := numbers.Parse(text)
		valid := json.Valid([]byte(text)) && text != "" && strings.ContainsAny(text[:1], "-0123456789") && text == strings.TrimSpace(text)
		if err == nil && (!valid || v.Cmp(rat(text)) != 0) {
			t.Errorf("%q → %v", text, v)
		}
		if err != nil && valid && len(text) < 100 && !strings.ContainsAny(text, "eE") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
