package added

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// part is what Split yields.
type part struct {
	start int
	text  string
	id    int32 // -1 for other text
}

func partsOf(m *Matcher, text Text) []part {
	var parts []part
	m.Split(text, func(start int, p Text, token *Token) {
		id := int32(-1)
		if token != nil {
			id = token.ID
		}
		parts = append(parts, part{start, p.String(), id})
	})
	return parts
}

// slowly is Split as its definition has it: at each byte, every token is tried.
func slowly(tokens []Token, s string, trusted []bool) []part {
	var parts []part
	done := 0
	for i := 0; i < len(s); {
		var longest *Token
		for k, t := range tokens {
			if strings.HasPrefix(s[i:], t.Content) && !slices.Contains(trusted[i:i+len(t.Content)], false) &&
				(longest == nil || len(t.Content) > len(longest.Content)) {
				longest = &tokens[k]
			}
		}
		if longest == nil {
			i++
			continue
		}
		start, end := i, i+len(longest.Content)
		i = end
		if longest.SingleWord && (endsWithWord(s[:start]) || startsWithWord(s[end:])) {
			continue
		}
		if longest.LStrip {
			start = max(done, len(strings.TrimRightFunc(s[:start], unicode.IsSpace)))
		}
		if longest.RStrip {
			end = len(s) - len(strings.TrimLeftFunc(s[end:], unicode.IsSpace))
			i = end
		}
		if done < start {
			parts = append(parts, part{done, s[done:start], -1})
		}
		parts = append(parts, part{start, s[start:end], longest.ID})
		done = end
	}
	if done < len(s) {
		parts = append(parts, part{done, s[done:], -1})
	}
	return parts
}

// randomText returns n characters, few enough kinds of them for tokens to overlap.
func randomText(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteRune([]rune("aab<>  \n\u3000é▁")[rng.IntN(11)])
	}
	return b.String()
}

func TestSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 5000 {
		var tokens []Token
		contents := map[string]bool{}
		for id := range int32(rng.IntN(8)) {
			content := randomText(rng, 1+rng.IntN(5))
			if !contents[content] {
				contents[content] = true
				tokens = append(tokens, Token{ID: id, Content: content, SingleWord: rng.IntN(4) == 0, LStrip: rng.IntN(4) == 0, RStrip: rng.IntN(4) == 0})
			}
		}
		m, err := NewMatcher(tokens)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		var trusted []bool
		joined := Join(func(yield func(string, bool) bool) {
			for range rng.IntN(8) {
				s, trust := randomText(rng, rng.IntN(12)), rng.IntN(3) > 0
				text += s
				trusted = append(trusted, slices.Repeat([]bool{trust}, len(s))...)
				if !yield(s, trust) {
					return
				}
			}
		})
		if got, want := partsOf(m, joined), slowly(tokens, text, trusted); !slices.Equal(got, want) {
			t.Fatalf("%+v\n%q trusted %v\n got %v\nwant %v", tokens, text, joined.spans, got, want)
		}
		all := slices.Repeat([]bool{true}, len(text))
		if got, want := partsOf(m, Trusted(text)), slowly(tokens, text, all); !slices.Equal(got, want) {
			t.Fatalf("%+v\n%q\n got %v\nwant %v", tokens, text, got, want)
		}
		checkReplace(t, joined, trusted)
	}
}

// trustOf returns for each byte of a text whether it is trusted.
func trustOf(text Text) []bool {
	trusted := make([]bool, len(text.s))
	text.trustedSpans(func(start, end int) {
		for i := start; i < end; i++ {
			trusted[i] = true
		}
	})
	return trusted
}

// checkReplace replaces in slices of a text, and holds the result against what replacing byte by byte makes.
func checkReplace(t *testing.T, text Text, trusted []bool) {
	t.Helper()
	for start := 0; start < len(text.s); start += 3 {
		cut := text.slice(start, len(text.s))
		got := cut.Replace("▁", " ").Prefix("--")
		want, wantTrust := "--", []bool{true, true}
		for i := 0; i < len(cut.s); {
			if strings.HasPrefix(cut.s[i:], "▁") {
				want += " "
				wantTrust = append(wantTrust, !slices.Contains(trusted[start+i:start+i+3], false))
				i += 3
				continue
			}
			want += cut.s[i : i+1]
			wantTrust = append(wantTrust, trusted[start+i])
			i++
		}
		if got.s != want || !slices.Equal(trustOf(got), wantTrust) {
			t.Fatalf("Replace of %q, trusted %v: got %q, %v; want %q, %v", cut.s, trustOf(cut), got.s, trustOf(got), want, wantTrust)
		}
	}
}

func TestNewMatcher(t *testing.T) {
	m, err := NewMatcher([]Token{{ID: 3, Content: "a"}, {ID: 1, Content: "a"}, {ID: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := partsOf(m, Trusted("ba")), []part{{0, "b", -1}, {1, "a", 1}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var many []Token
	for id := range int32(3000) {
		many = append(many, Token{ID: id, Content: fmt.Sprintf("%0900d", id)})
	}
	for _, tokens := range [][]Token{{{Content: strings.Repeat("x", maxLen+1)}}, many} {
		if _, err := NewMatcher(tokens); err == nil {
			t.Errorf("%d tokens, the first of %d bytes, are not refused", len(tokens), len(tokens[0].Content))
		}
	}
}
