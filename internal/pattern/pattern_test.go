package pattern_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/charset"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/pattern"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// All characters are jsonexpr's Canonical, in number: then states are shared.
func TestAllCharactersAreCanonical(t *testing.T) {
	l := jsonexpr.New()
	if pattern.JSON.Char(l.Arena) != l.Canonical || pattern.JSON.Chars(l.Arena) != l.Canonicals {
		t.Error("Char or Chars is another expression than jsonexpr's")
	}
	for _, any := range []string{"", ".*", "^", "a?", `[\s\S]*`, "^.*|x"} {
		if e, err := pattern.ECMA(l.Arena, pattern.JSON, any); e != l.Canonicals || err != nil {
			t.Errorf("%q: not Canonicals, %v", any, err)
		}
	}
	// Once the pattern has matched, any string may follow.
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

// Sets are what their spans say, and so are the bytes that they are written in.
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
	l := jsonexpr.New()
	for range 400 {
		var set charset.Set
		var spans [][2]rune
		for range rng.IntN(5) {
			low, high := draw(), draw()
			if low > high {
				low, high = high, low
			}
			set = set.Or(charset.Between(low, high))
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
		other := charset.Between(draw(), draw()).Or(charset.Between('a', 'a'))
		not, and, minus := set.Not(), set.And(other), set.Minus(other)
		raw, json := pattern.Raw.Set(l.Arena, set), pattern.JSON.Set(l.Arena, set)
		for range 60 {
			c := draw()
			want := has(c)
			if set.Has(c) != want || not.Has(c) == want || and.Has(c) != (want && other.Has(c)) || minus.Has(c) != (want && !other.Has(c)) {
				t.Fatalf("%x in %x", c, spans)
			}
			if l.Arena.Matches(raw, string(c)) != want || l.Arena.Matches(json, jsonexpr.Body(string(c))) != want {
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

// randomText returns a text of characters that patterns distinguish.
func randomText(rng *rand.Rand) string {
	var b strings.Builder
	for range rng.IntN(7) {
		b.WriteRune([]rune("aab1 é\n\"\\😀\x00_")[rng.IntN(12)])
	}
	return b.String()
}

// Random patterns match what Go's regexp says that they match.
func TestRandomPatterns(t *testing.T) {
	effort.Turn(t, 8)
	rng := rand.New(rand.NewPCG(1, 2))
	base := jsonexpr.New().Arena
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
			if got, want := r.Matches(g, a.Write(text)), whole.MatchString(text); got != want {
				t.Fatalf("RE2 %q on %q: %v, want %v", flag+source, text, got, want)
			}
			if ecma && !strings.ContainsAny(text, "\r\u2028") {
				if got, want := r.Matches(e, a.Write(text)), somewhere.MatchString(text); got != want {
					t.Fatalf("ECMA %q on %q: %v, want %v", flag+source, text, got, want)
				}
			}
		}
		if r.Err() != nil {
			t.Fatalf("%q: %v", source, r.Err())
		}
	}
}

// ECMA-262's own meaning of what other languages, or careless readers, take otherwise.
func TestECMA(t *testing.T) {
	for _, c := range []struct {
		source   string
		yes, not []string
	}{
		{"^abc$", []string{"abc"}, []string{"abc\n", "xabc", "abcd"}},
		{"b", []string{"abc", "b"}, []string{"", "ac"}},
		{"^a|b$", []string{"ax", "xb"}, []string{"xa", "bx"}},
		{`^\d\w\s$`, []string{"1a ", "1_\u2003", "1a\ufeff"}, []string{"٣a ", "1é ", "1a\x1c", "1a\x85"}},
		{`^\D\W\S$`, []string{"٣éx", "aéé"}, []string{"1éx", "aax", "aé\u00a0"}},
		{"^.$", []string{"é", "😀", "\x00", "\x85"}, []string{"\n", "\r", "\u2028", "ab", ""}},
		{`^\cJ\x41\u00e9\u{1F600}\ud83d\ude00\0$`, []string{"\nAé😀😀\x00"}, []string{"\nAé😀😀"}},
		{`\p{Letter}cole`, []string{"l'école", "ecole"}, []string{"L'ÉCOLE", " cole"}},
		{`^\p{digit}\P{Lu}\p{Script=Greek}\p{sc=Cyrl}\p{General_Category=Lowercase_Letter}$`, []string{"٣aαжz"}, []string{"xaαжz", "1Aαжz", "1aaжz"}},
		{`^[\w-.]+[\b]$`, []string{"a-.\b"}, []string{"a-.b"}},
		{`^[[a-z]*]$`, []string{"[a]", "]"}, []string{"a"}},
		{`^[^]$`, []string{"\n"}, []string{""}},
		{`[]`, nil, []string{"", "a"}},
		{`^a{,$`, []string{"a{,"}, []string{"a"}},
		{`^}]{$`, []string{"}]{"}, []string{""}},
		{`^\-\_\/\"\101$`, []string{`-_/"A`}, nil},
		{`^(?:a{2,3}?){2}$`, []string{"aaaa", "aaaaaa"}, []string{"aaa", "aaaaaaa"}},
		{`\bfoo\b`, []string{"foo", "a foo.", "éfoo"}, []string{"afoo", "foo_"}},
		{`^(\b\w+\b\s?)+$`, []string{"ab cd", "a"}, []string{"a  b", " a"}},
		{`^(\w+(^|\b) ?)*$`, []string{"ab cd", ""}, []string{"ab  cd"}},
		{`(^|,)x(,|$)`, []string{"x", "a,x", "a,x,b"}, []string{"ax", "a,xb"}},
		{`^(?=.*\d)(?=.*[a-z]).{3,}$`, []string{"a1x", "1aa"}, []string{"a1", "abc", "123"}},
		{`^(?!org\.)[a-z.]+$`, []string{"com.x", "orgx"}, []string{"org.x"}},
		{`^(?!.*--)[a-z-]+(?<!-)$`, []string{"a-b"}, []string{"a--b", "a-"}},
		{`^((?!word).)*$`, []string{"a wor d", ""}, []string{"a word b", "word"}},
		{`^(?:.(?!b)){2,}$`, []string{"bac"}, []string{"abc", "a"}},
		{`^(?:[a-z]+(?!x)-?)+1$`, []string{"ab-cd1", "ab1"}, []string{"ab--c1", "-1"}},
		{`^(?:[^"]|"(?!,))*end`, []string{`a"b end`, "end"}, []string{`",end`}},
		{`^(?:a(?=b|$)|b(?=a))*c?$`, []string{"aba", "", "c"}, []string{"ab", "aa", "abac", "ac"}},
		{`(?<=^|\s)#\d`, []string{"#1", "a #1"}, []string{"a#1"}},
		{`(?<!\\)"`, []string{`"`, `a"`}, []string{`\"`}},
		{`(?=a)b`, nil, []string{"a", "b", "ab"}},
		{`(?:$a|^)b`, []string{"b"}, []string{"ab", ""}},
		{`(?i)^straße k$`, []string{"STRAẞE K", "straße \u212a"}, []string{"strasse k"}},
		{`^(?i:a)b$`, []string{"Ab", "ab"}, []string{"aB"}},
		{`(?m)^b$`, []string{"a\nb\nc"}, []string{"ab\nc"}},
		{`(?s)^.$`, []string{"\n"}, []string{"\n\n"}},
		{`^(?P<x>a)(?<y>b)$`, []string{"ab"}, nil},
		{`\Aa\z|^b\Z`, []string{"a", "b"}, []string{"xa", "bx", "b\n"}},
		{`^\uD83D$`, nil, []string{"\uFFFD", ""}},
	} {
		for _, a := range []pattern.Alphabet{pattern.Raw, pattern.JSON} {
			r := jsonexpr.New().Arena
			e, err := pattern.ECMA(r, a, c.source)
			if err != nil {
				t.Errorf("%s: %v", c.source, err)
				continue
			}
			for _, text := range c.yes {
				if !r.Matches(e, a.Write(text)) {
					t.Errorf("%s on %q: false, want true", c.source, text)
				}
			}
			for _, text := range c.not {
				if r.Matches(e, a.Write(text)) {
					t.Errorf("%s on %q: true, want false", c.source, text)
				}
			}
			if r.Err() != nil {
				t.Errorf("%s: %v", c.source, r.Err())
			}
		}
	}
}

// Errors name the construct and its place.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		source, construct string
		offset            int
		unsupported       bool
	}{
		{`(a)\1`, `\1`, 3, true},
		{`(?<n>a)\k<n>`, `\k`, 7, true},
		{`a(?<=bc)`, "look-behind", 1, true},
		{`^((?!ab)b)*c`, "look-ahead", 2, true},
		{`^((?!^a)b)*$`, "look-ahead", 2, true},
		{`\p{Emotion}`, "{Emotion}", 0, true},
		{`a(b`, "( without", 1, false},
		{`a)b`, ") without", 1, false},
		{`a[b`, "[ without", 1, false},
		{`a**`, "quantifier", 2, false},
		{`a*+`, "possessive", 2, false},
		{`+a`, "quantifier", 0, false},
		{`{2}`, "quantifier", 0, false},
		{`a{2,1}`, "from 2 to 1", 1, false},
		{`a{,3}`, "lower bound", 1, false},
		{`^*`, "assertion", 1, false},
		{`[b-a]`, "b-a", 1, false},
		{`[[:alpha:]]`, "[:alpha:]", 1, false},
		{`(?>a)`, "(?>", 0, false},
		{`a(?#b)`, "(?#", 1, false},
		{`a(?i)b`, "(?i", 1, false},
		{`é\h`, `\h`, 2, false},
		{`\`, `\`, 0, false},
		{`\u12`, `\u`, 0, false},
		{`\u{110000}`, `\u`, 0, false},
		{"a\xff", "UTF-8", 1, false},
	} {
		_, err := pattern.ECMA(regular.New(), pattern.JSON, c.source)
		var e *pattern.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", c.source, err)
			continue
		}
		if !strings.Contains(e.Construct, c.construct) || e.Offset != c.offset || e.Unsupported != c.unsupported || e.Pattern != c.source {
			t.Errorf("%q: %+v", c.source, e)
		}
	}
	_, err := pattern.RE2(regular.New(), pattern.Raw, "ab(")
	var e *pattern.Error
	if !errors.As(err, &e) || e.Error() != `pattern "ab(": at byte 0: missing closing ): "ab("` {
		t.Errorf("%v", err)
	}
	if _, err = pattern.RE2(regular.New(), pattern.Raw, "ab[z-a]"); !errors.As(err, &e) || e.Error() != `pattern "ab[z-a]": at byte 3: invalid character class range: "z-a"` {
		t.Errorf("%v", err)
	}
}

// Whatever a pattern is, there is an expression or an error, and if Go understands it in the same way, it matches the same.
func FuzzPatterns(f *testing.F) {
	for _, s := range []string{`^(\w+\b\s?)*$`, `(?i)[^a-z]{2,5}|\p{L}`, `^(?!.*--)((?!x).)*$`, `\u{61}\cA[\d-x]`, `(?<=a)b(?=$)`, `(a|b){3,}?`} {
		f.Add(s, "aB 1")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		if len(source) > 1000 || len(text) > 100 {
			return
		}
		r := jsonexpr.New().Arena
		text = strings.ToValidUTF8(text, "")
		if e, err := pattern.ECMA(r, pattern.JSON, source); err == nil {
			r.Matches(e, jsonexpr.Body(text))
		}
		r = jsonexpr.New().Arena
		e, err := pattern.RE2(r, pattern.JSON, source)
		goes, goErr := regexp.Compile(`\A(?:` + source + `)\z`)
		if err != nil || goErr != nil {
			return
		}
		if got, want := r.Matches(e, jsonexpr.Body(text)), goes.MatchString(text); got != want && r.Err() == nil {
			t.Errorf("%q on %q: %v, want %v", source, text, got, want)
		}
	})
}

func BenchmarkECMA(b *testing.B) {
	for _, source := range []string{`^[A-Fa-f\d]{24}$`, `^(\d\.)(\d)$|^(\d)$`, `(\+)\w+`, `^\S+@\S+\.\S+$`, `^(?!.*--)[a-z0-9-]{1,63}$`} {
		b.Run(source, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				r := jsonexpr.New().Arena
				b.StartTimer()
				if _, err := pattern.ECMA(r, pattern.JSON, source); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
