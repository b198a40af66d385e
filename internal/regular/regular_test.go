package regular_test

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// pair is an expression and the same in Go's syntax or, if Go cannot write it, a function that decides.
type pair struct {
	expr regular.Expr
	has  func(text string) bool
}

// random returns a random expression over a, b and c, and what reports whether a text belongs to it.
func random(r *regular.Arena, rng *rand.Rand, depth int) pair {
	if depth == 0 {
		switch rng.IntN(3) {
		case 0:
			s := []string{"a", "b", "ab", "cba", "aa"}[rng.IntN(5)]
			return pair{r.Literal(s), func(t string) bool { return t == s }}
		case 1:
			return pair{r.Class(regular.ClassOf('a', 'c')), func(t string) bool { return t == "a" || t == "c" }}
		}
		return pair{regular.Empty, func(t string) bool { return t == "" }}
	}
	x, y := random(r, rng, depth-1), random(r, rng, depth-1)
	switch rng.IntN(5) {
	case 0:
		return pair{r.Concat(x.expr, y.expr), func(t string) bool {
			for i := range len(t) + 1 {
				if x.has(t[:i]) && y.has(t[i:]) {
					return true
				}
			}
			return false
		}}
	case 1:
		return pair{r.Or(x.expr, y.expr), func(t string) bool { return x.has(t) || y.has(t) }}
	case 2:
		return pair{r.And(x.expr, y.expr), func(t string) bool { return x.has(t) && y.has(t) }}
	case 3:
		return pair{r.Not(x.expr), func(t string) bool { return !x.has(t) }}
	}
	least, most := rng.IntN(3), rng.IntN(4)-1
	var times func(t string, least, most int) bool
	times = func(t string, least, most int) bool {
		if t == "" && (least <= 0 || x.has("")) {
			return most == regular.Unbounded || least <= most
		}
		if most == 0 {
			return false
		}
		for i := 1; i <= len(t); i++ {
			if x.has(t[:i]) && times(t[i:], least-1, max(most-1, min(most, -1))) {
				return true
			}
		}
		return x.has("") && least > 0 && (most == regular.Unbounded || least <= most) && times(t, 0, most)
	}
	return pair{r.Repeat(x.expr, least, most), func(t string) bool { return times(t, least, most) }}
}

// Expressions accept the strings that their definitions say, and Next returns None exactly if no string goes on.
func TestRandomExpressions(t *testing.T) {
	var texts []string
	for n, last := 0, []string{""}; n <= 5; n++ {
		texts = append(texts, last...)
		var longer []string
		for _, s := range last {
			longer = append(longer, s+"a", s+"b", s+"c")
		}
		last = longer
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 600 {
		r := regular.New()
		p := random(r, rng, rng.IntN(4))
		some := false
		for _, text := range texts {
			want := p.has(text)
			some = some || want
			if got := r.Matches(p.expr, text); got != want {
				t.Fatalf("%q: %v, want %v", text, got, want)
			}
		}
		if some && !r.Alive(p.expr) {
			t.Fatal("not alive, but it has strings")
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
}

// A language that cannot be completed is None as soon as that is so.
func TestDeadIsNone(t *testing.T) {
	r := regular.New()
	letters := r.Star(r.Class(regular.Range('a', 'z')))
	e := r.And(r.Concat(r.Literal("ab"), letters), r.Not(r.Concat(r.Literal("abc"), letters)), r.Repeat(r.Class(regular.Range('a', 'z')), 3, 3))
	if e = r.Next(e, 'a'); e == regular.None {
		t.Fatal("a")
	}
	if e = r.Next(e, 'b'); e == regular.None {
		t.Fatal("ab")
	}
	if r.Next(e, 'c') != regular.None || r.Next(e, 'd') == regular.None {
		t.Error("abc is not possible, abd is")
	}
	if f := r.And(letters, r.Not(letters)); r.Alive(f) {
		t.Error("nothing is a letter and not a letter")
	}
	if f := r.And(r.Concat(letters, r.Literal("!")), r.Concat(letters, r.Literal("?"))); r.Alive(f) {
		t.Error("nothing ends in two ways")
	}
}

// Patterns that take other engines exponential time or memory.
func TestHostile(t *testing.T) {
	r := regular.New()
	ab := r.Class(regular.ClassOf('a', 'b'))
	e := r.Concat(r.Star(ab), r.Literal("a"), r.Repeat(ab, 30, 30))
	text := ""
	for i := range 1000 {
		text += string("ab"[i%7%2])
	}
	want := regexp.MustCompile(`^[ab]*a[ab]{30}$`).MatchString(text)
	if got := r.Matches(e, text); got != want || r.Err() != nil {
		t.Errorf("%v, want %v; %v", got, want, r.Err())
	}
	deep := r.Repeat(r.Repeat(r.Repeat(ab, 1000, 1000), 1000, 1000), 1000, 1000)
	if r.Matches(deep, text) || r.Len() > 100_000 {
		t.Error(r.Len())
	}
}

// A union leaves out what others of its operands contain, so that a search for many of something has a small state.
func TestUnionsAbsorbRepetitions(t *testing.T) {
	r := regular.New()
	a, b := r.Class(regular.ClassOf('a')), r.Literal("b")
	times := func(least, most int, then regular.Expr) regular.Expr { return r.Concat(r.Repeat(a, least, most), then) }
	for name, c := range map[string][2]regular.Expr{
		"inside":            {r.Or(times(3, 7, b), times(2, 9, b)), times(2, 9, b)},
		"inside, late":      {r.Or(times(2, 9, b), times(3, 7, b)), times(2, 9, b)},
		"unbounded":         {r.Or(times(3, 7, b), times(2, regular.Unbounded, b), times(5, regular.Unbounded, b)), times(2, regular.Unbounded, b)},
		"anything then":     {r.Or(times(5, 5, regular.All), times(3, 3, regular.All), times(9, 9, regular.All)), times(3, 3, regular.All)},
		"nothing then":      {r.Or(r.Repeat(a, 3, 3), r.Repeat(a, 2, 4)), r.Repeat(a, 2, 4)},
		"the same to begin": {r.Or(times(2, 4, b), times(2, 9, b), b), r.Or(times(2, 9, b), b)},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: not left out", name)
		}
	}
	if r.Or(times(2, 4, b), times(3, 5, b)) == times(2, 4, b) || r.Or(times(2, 4, b), times(3, 3, a)) == times(2, 4, b) {
		t.Error("left out what is not contained")
	}
	e := r.Concat(r.Star(r.Class(regular.Range('a', 'z'))), times(500, 500, regular.All))
	for range 400 {
		e = r.Next(e, 'a')
	}
	if r.Len() > 3000 || r.Err() != nil {
		t.Errorf("%d expressions, %v", r.Len(), r.Err())
	}
}

// What takes too long to find out ends in an error, and at once from then on.
func TestEffortIsBounded(t *testing.T) {
	r := regular.New()
	ab := r.Optional(r.Class(regular.ClassOf('a', 'b')))
	parts := make([]regular.Expr, 10_000)
	for i := range parts {
		parts[i] = ab
	}
	e := r.Star(r.Concat(parts...))
	for range 100_000 {
		e = r.Next(e, 'a')
	}
	if r.Err() == nil || r.Bytes() > 100<<20 {
		t.Errorf("%d bytes, %v", r.Bytes(), r.Err())
	}
}
