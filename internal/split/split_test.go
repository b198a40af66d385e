package split

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/linear"
)

const (
	llama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	gpt4o  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|` +
		` ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

func pieces(r Rule, text string) (list []string) {
	r.Split(text, func(_ int, piece string) { list = append(list, piece) })
	return list
}

func TestExpressions(t *testing.T) {
	for _, c := range []struct {
		expression, text string
		want             []string
	}{
		{llama3, "I'LL go\n\n  12345", []string{"I", "'LL", " go", "\n\n", " ", " ", "123", "45"}},
		{`a|ab`, "ab", []string{"a", "b"}}, // the first alternative, not the longest
		{`ab|a`, "abaa", []string{"ab", "a", "a"}},
		{`a+?`, "aaa", []string{"a", "a", "a"}},
		{`a{2,3}?|b{2}|c{2,}`, "aaabbbcccc", []string{"aa", "a", "bb", "b", "cccc"}},
		{`\s+$`, "a  b  ", []string{"a  b", "  "}},
		{`\s+$`, "a \nb", []string{"a", " ", "\nb"}},
		{`[^\n]+|\n+`, "a b\n\nc", []string{"a b", "\n\n", "c"}},
		{`[a-z&&[^aeiou]]+`, "bcade-", []string{"bc", "a", "d", "e-"}},
		{`[\p{Han}\p{^L}]+`, "a漢字1b", []string{"a", "漢字1", "b"}},
		{`x?+x`, "xx", []string{"xx"}},
		{`[ab]++b|c`, "abbc", []string{"abb", "c"}}, // gives no b back
		{`(?i:straße)`, "STRAßE", []string{"STRAßE"}},
		{`a(?=[bc])`, "abaca", []string{"a", "b", "a", "ca"}},
		{`\x41\u0042\x{1F999}\-\]`, "AB🦙-]", []string{"AB🦙-]"}},
		{`.+`, "a\nb", []string{"a", "\n", "b"}},
		{`[]-a]`, "", nil},
		{`\w+`, "a_1 é", []string{"a_1", " ", "é"}},
		{`[.x-]`, "a-b", []string{"a", "-", "b"}},
		{`\p{L}+`, "a\xffb\xf0\x9f", []string{"a", "\xff", "b", "\xf0\x9f"}},
	} {
		r, err := NewRule(c.expression)
		if c.want == nil {
			if !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s: %v", c.expression, err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if got := pieces(r, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q is cut into %q, want %q", c.expression, c.text, got, c.want)
		}
	}
}

func TestUnsupported(t *testing.T) {
	for _, text := range []string{
		``, `a*`, `a?|b`, `(?!a)`, `$`, `^a`, `\bword`, `(?<=a)b`, `(?<name>a)`, `(?>a)`, `(a)\1`, `(?=ab)c`, `(?!a|b)c`, `(ab)++`, `a{`, `a{3,2}`,
		`a{9999}`, `(a{1000}){1000}`, `[`, `[]`, `[z-a]`, `[[:alpha:]]`, `\p{Klingon}`, `\pL`, `\q`, `\x{110000}`, `\x{`, `(`, `)`, `*`, `\`, "\xff",
		`(?i:\p{L})`, `a(?!b)*`, `(a*)+b`, strings.Repeat("(", 100) + "a" + strings.Repeat(")", 100), strings.Repeat("a", 1<<14),
		`(a|b)*a` + strings.Repeat("(a|b)", 20),
	} {
		if _, err := Compile(text); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

// random returns an expression that Go's package regexp reads the same way.
func random(rng *rand.Rand, depth int) string {
	one := func(list ...string) string { return list[rng.IntN(len(list))] }
	if depth == 0 {
		return one("a", "b", "c", "é", ".", "[ab]", "[^a]", "[b-cé]", `\p{L}`, `[^\p{L}\n]`, `\n`, "(?i:ab)", "(?i:S)")
	}
	switch rng.IntN(5) {
	case 0:
		return random(rng, depth-1) + random(rng, depth-1)
	case 1:
		return "(?:" + random(rng, depth-1) + "|" + random(rng, depth-1) + ")"
	case 2:
		return "(" + random(rng, depth-1) + ")" + one("*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?", "??", "{0,2}?")
	case 3:
		return random(rng, depth-1) + "|" + random(rng, depth-1)
	}
	return random(rng, depth-1)
}

// Matches are those of Go's package regexp, which also prefers what backtracking would find first.
func TestAgainstRegexp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	checked := 0
	for range effort.Of(300, 3000, 100000) {
		text := random(rng, 1+rng.IntN(4))
		want, err := regexp.Compile(`\A(?:` + text + `)`)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Compile(text)
		if want.MatchString("") {
			if err == nil {
				t.Errorf("%s matches an empty text", text)
			}
			continue
		}
		if err != nil {
			if !strings.Contains(err.Error(), "empty text") { // there are many of them here
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		for range 20 {
			s := ""
			for range rng.IntN(10) {
				s += []string{"a", "b", "c", "é", "\n", "1", "A", "ſ", "S"}[rng.IntN(9)]
			}
			checked++
			end, _ := e.match(s, 0)
			to := -1
			if m := want.FindStringIndex(s); m != nil {
				to = m[1]
			}
			if end != to {
				t.Fatalf("%s in %q: a match ends at %d, want %d", text, s, end, to)
			}
			if end := (fruitless{}).match(e, s, 0); end != to {
				t.Fatalf("%s in %q: with a memory, a match ends at %d, want %d", text, s, end, to)
			}
		}
	}
	if checked < effort.Of(900, 10000, 300000) {
		t.Errorf("only %d matches were compared", checked)
	}
}

// Expressions that read far beyond their matches take linear time, too.
func TestLinear(t *testing.T) {
	for _, expression := range []string{llama3, gpt4o, `a*b|a`, `(?:[^x]*x)|[^x]`, `\s*[\r\n]+|\S`, `(?:a|aa|aaa)+b|a`, `.{40}q|.`} {
		r, err := NewRule(expression)
		if err != nil {
			t.Fatal(err)
		}
		const n = 1 << 14
		texts := linear.Texts(n)
		for _, name := range []string{"words", "spaces", "letters", "emoji", "combining marks", "no UTF-8", "tabs and line ends", "tags"} {
			text := texts[name]
			t.Run(fmt.Sprintf("%.20s/%s", expression, name), func(t *testing.T) {
				linear.Check(t, n, func(n int) { r.Split(text[:n], func(int, string) {}) })
			})
		}
	}
}

// With a memory of the places at which no match ends, the pieces are the same.
func TestMemory(t *testing.T) {
	text := strings.Repeat(strings.Repeat("a", 3000)+"c", 4)
	r, err := NewRule(`a*b|aa`)
	if err != nil {
		t.Fatal(err)
	}
	got := pieces(r, text)
	if len(got) != 4*1501 || got[0] != "aa" || strings.Join(got, "") != text {
		t.Errorf("%d pieces, the first is %q", len(got), got[0])
	}
}

// FuzzCompile looks for expressions that make Compile panic or take long, and for pieces that are not the text.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{llama3, gpt4o, `[^a-z&&[\p{L}]]{2,}?`, `(?i:a(?!\S)|\x{41})++`, `a{,3}b`} {
		f.Add(s, "Hello it's 1234 \n")
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		r, err := NewRule(expression)
		if err != nil {
			if !errors.Is(err, ErrUnsupported) {
				t.Error(err)
			}
			return
		}
		if got := strings.Join(pieces(r, text), ""); got != text {
			t.Errorf("%q: the pieces of %q are %q", expression, text, got)
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	for name, text := range map[string]string{
		"English": strings.Repeat("What is the capital of France? It's Paris, founded in 250 BC.\n", 1<<12),
		"Korean":  strings.Repeat("안드로이드 휴대폰에서 언어 모델을 실행하는 방법을 설명해 주세요. ", 1<<12),
	} {
		for _, e := range []struct{ name, text string }{{"Llama3", llama3}, {"GPT4o", gpt4o}} {
			r, err := NewRule(e.text)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(e.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					r.Split(text, func(int, string) {})
				}
			})
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(gpt4o); err != nil {
			b.Fatal(err)
		}
	}
}
