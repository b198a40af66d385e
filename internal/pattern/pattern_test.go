package pattern_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/jsontext"
	"github.com/antigravity-go/antigravity/internal/pattern"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// matches tells whether text, as it is written, belongs to e.
func matches(r *regular.Arena, e regular.Expr, text string) bool {
	for i := range len(text) {
		e = r.Next(e, text[i])
	}
	return r.Nullable(e)
}

// All characters are jsontext's Canonical, in number: then states are shared.
func TestAllCharactersAreCanonical(t *testing.T) {
	l := jsontext.New()
	if pattern.JSON.Char(l.Arena) != l.Canonical || pattern.JSON.Chars(l.Arena) != l.Canonicals {
		t.Error("Char or Chars is another expression than jsontext's")
	}
	for _, any := range []string{"", ".*", "^", "a?", `[\s\S]*`, "^.*|x"} {
		if e, err := pattern.ECMA(l.Arena, pattern.JSON, any); e != l.Canonicals || err != nil {
			t.Errorf("%q: not Canonicals, %v", any, err)
		}
	}
	// What has matched is any string.
	e, err := pattern.ECMA(l.Arena, pattern.JSON, "^x-|[0-9]{3}")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"x-", "a 123", "012é"} {
		s := e
		for i := range len(text) {
			s = l.Arena.Next(s, text[i])
		}
		if s != l.Canonicals {
			t.Errorf("after %q: %d, not Canonicals", text, s)
		}
	}
}

// randomSet returns a random set and a function that tells what is in it.
func TestSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	edges := []rune{0, 0x1F, ' ', '"', '\\', 'a', 0x7E, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF}
	draw := func() rune {
		c := edges[rng.IntN(len(edges))] + rune(rng.IntN(5)) - 2
		if c < 0 || c > 0x10FFFF || 0xD800 <= c && c < 0xE000 {
			c = 'x'
		}
		return c
	}
	l := jsontext.New()
	for range 400 {
		var set pattern.Set
		var spans [][2]rune
		for range rng.IntN(5) {
			low, high := draw(), draw()
			if low > high {
				low, high = high, low
			}
			set = set.Or(pattern.Between(low, high))
			spans = append(spans, [2]rune{low, high})
		}
		has := func(c rune) bool {
			for _, s := range spans {
				if s[0] <= c && c <= s[1] {
					return true
				}
			}
			return false
		}
		other := pattern.Between(draw(), draw()).Or(pattern.Between('a', 'a'))
		not, and, minus := set.Not(), set.And(other), set.Minus(other)
		raw, json := pattern.Raw.Set(l.Arena, set), pattern.JSON.Set(l.Arena, set)
		for range 60 {
			c := draw()
			want := has(c)
			if set.Has(c) != want || not.Has(c) == want || and.Has(c) != (want && other.Has(c)) || minus.Has(c) != (want && !other.Has(c)) {
				t.Fatalf("%x in %x", c, spans)
			}
			if matches(l.Arena, raw, string(c)) != want || matches(l.Arena, json, jsontext.Body(string(c))) != want {
				t.Fatalf("%x in %x as bytes", c, spans)
			}
		}
		if pattern.JSON.Set(l.Arena, set.Or(not)) != l.Canonical {
			t.Fatalf("%x and what is not in it are not all characters", spans)
		}
	}
}

// randomPattern returns a pattern that Go and ECMA-262 understand in the same way.
func randomPattern(rng *rand.Rand, depth int) string {
	if depth == 0 {
		atoms := []string{"a", "b", "ab", ".", "[ab]", "[^a]", `\w`, `\W`, `\d`, `[^\d]`, "é", "[à-ü]", `\n`, `"`, `\\`, "^", "$", `\b`, `\B`, "", "[ -~]", `\x00`, "1"}
		return atoms[rng.IntN(len(atoms))]
	}
	sub := func() string { return randomPattern(rng, rng.IntN(depth)) }
	switch rng.IntN(6) {
	case 0, 1:
		return sub() + sub()
	case 2:
		return "(" + sub() + "|" + sub() + ")"
	case 3:
		return sub() + sub() + sub()
	}
	return "(?:" + sub() + ")" + []string{"*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?"}[rng.IntN(8)]
}

// randomText returns a text of characters that patterns tell apart.
func randomText(rng *rand.Rand) string {
	var b strings.Builder
	for range rng.IntN(7) {
		b.WriteRune([]rune("aab1 é\n\"\\😀\x00_")[rng.IntN(12)])
	}
	return b.String()
}

// Random patterns match what Go's regexp says that they match.
func TestRandomPatterns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	base := jsontext.New().Arena
	flags := []string{"", "", "(?i)", "(?s)", "(?m)"}
	for n := range 1500 {
		source := randomPattern(rng, rng.IntN(5))
		flag := flags[rng.IntN(len(flags))]
		somewhere, whole := regexp.MustCompile(flag+source), regexp.MustCompile(flag+`\A(?:`+source+`)\z`)
		r := base.Clone()
		a := pattern.Alphabet(n % 2)
		e, err := pattern.ECMA(r, a, flag+source)
		ecma := err == nil
		var wrong *pattern.Error
		if err != nil && !(errors.As(err, &wrong) && strings.Contains(wrong.Construct, "quantifier")) {
			t.Fatalf("%q: %v", flag+source, err)
		}
		g, err := pattern.RE2(r, a, flag+source)
		if err != nil {
			t.Fatalf("%q: %v", flag+source, err)
		}
		for range 30 {
			text := randomText(rng)
			if got, want := matches(r, g, a.Write(text)), whole.MatchString(text); got != want {
				t.Fatalf("RE2 %q on %q: %v, want %v", flag+source, text, got, want)
			}
			if ecma && !strings.ContainsAny(text, "\r\u2028") {
				if got, want := matches(r, e, a.Write(text)), somewhere.MatchString(text); got != want {
					t.Fatalf("ECMA %q on %q: %v, want %v", flag+source, text, got, want)
				}
			}
		}
		if r.Err() != nil {
			t.Fatalf("%q: %v", source, r.Err())
		}
	}
}
