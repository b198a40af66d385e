package bpe

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// The split rules once more, as regular expressions with backtracking, transcribed operator by operator. An expression
// matches at rune i and calls next with the end of each of its matches, the preferred first, until next accepts one.
type regex func(s []rune, i int, next func(int) bool) bool

func one(class func(rune) bool) regex {
	return func(s []rune, i int, next func(int) bool) bool { return i < len(s) && class(s[i]) && next(i+1) }
}

func sequence(parts ...regex) regex {
	return func(s []rune, i int, next func(int) bool) bool {
		if len(parts) == 0 {
			return next(i)
		}
		return parts[0](s, i, func(j int) bool { return sequence(parts[1:]...)(s, j, next) })
	}
}

func anyOf(alternatives ...regex) regex {
	return func(s []rune, i int, next func(int) bool) bool {
		for _, a := range alternatives {
			if a(s, i, next) {
				return true
			}
		}
		return false
	}
}

// repeat is x{low,high}.
func repeat(x regex, low, high int) regex {
	return func(s []rune, i int, next func(int) bool) bool {
		if high > 0 && x(s, i, func(j int) bool { return repeat(x, low-1, high-1)(s, j, next) }) {
			return true
		}
		return low <= 0 && next(i)
	}
}

func notAhead(x regex) regex {
	return func(s []rune, i int, next func(int) bool) bool {
		return !x(s, i, func(int) bool { return true }) && next(i)
	}
}

// word is a word, case-insensitive or not.
func word(w string, fold bool) regex {
	var parts []regex
	for _, c := range w {
		parts = append(parts, one(func(r rune) bool { return r == c || fold && strings.EqualFold(string(r), string(c)) }))
	}
	return sequence(parts...)
}

const many = 1 << 30

var (
	isL       = func(r rune) bool { return unicode.Is(unicode.L, r) }
	isN       = func(r rune) bool { return unicode.Is(unicode.N, r) }
	isS       = func(r rune) bool { return unicode.Is(unicode.White_Space, r) }
	isNewline = func(r rune) bool { return r == '\r' || r == '\n' }
	isOther   = func(r rune) bool { return !isS(r) && !isL(r) && !isN(r) }
	spaceChar = word(" ", false)
)

func contractions(fold bool) regex {
	var words []regex
	for _, w := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		words = append(words, word(w, fold))
	}
	return anyOf(words...)
}

var llama3Regex = anyOf(
	contractions(true),
	sequence(repeat(one(func(r rune) bool { return !isNewline(r) && !isL(r) && !isN(r) }), 0, 1), repeat(one(isL), 1, many)),
	repeat(one(isN), 1, 3),
	sequence(repeat(spaceChar, 0, 1), repeat(one(isOther), 1, many), repeat(one(isNewline), 0, many)),
	sequence(repeat(one(isS), 0, many), repeat(one(isNewline), 1, many)),
	sequence(repeat(one(isS), 1, many), notAhead(one(func(r rune) bool { return !isS(r) }))),
	repeat(one(isS), 1, many),
)

var gpt2Regex = anyOf(
	contractions(false),
	sequence(repeat(spaceChar, 0, 1), repeat(one(isL), 1, many)),
	sequence(repeat(spaceChar, 0, 1), repeat(one(isN), 1, many)),
	sequence(repeat(spaceChar, 0, 1), repeat(one(isOther), 1, many)),
	sequence(repeat(one(isS), 1, many), notAhead(one(func(r rune) bool { return !isS(r) }))),
	repeat(one(isS), 1, many),
)

// matches returns the matches of x in s, one after the other.
func matches(t testing.TB, x regex, s string) []string {
	var pieces []string
	runes := []rune(s)
	width := func(r []rune) int { // in s, with each byte that is not UTF-8 as one rune
		n := 0
		for range r {
			_, size := utf8.DecodeRuneInString(s[n:])
			n += size
		}
		return n
	}
	for len(runes) > 0 {
		end := 0
		if !x(runes, 0, func(j int) bool { end = j; return true }) || end == 0 {
			t.Fatalf("the reference does not match %q", s)
		}
		n := width(runes[:end])
		pieces = append(pieces, s[:n])
		s, runes = s[n:], runes[end:]
	}
	return pieces
}

func piecesOf(split splitter, s string) []string {
	var pieces []string
	split(s, func(_ int, piece string) { pieces = append(pieces, piece) })
	return pieces
}

// known returns the splitter of expressions that are implemented.
func known(t testing.TB, steps ...string) splitter {
	t.Helper()
	split, err := splitterOf(steps...)
	if err != nil {
		t.Fatal(err)
	}
	return split
}

func TestSplitLlama3(t *testing.T) {
	splitLlama3 := known(t, Llama3Pattern)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"words", "Hello, world!", []string{"Hello", ",", " world", "!"}},
		{"contractions in any case", "I'm HE'LL we'Re 'S", []string{"I", "'m", " HE", "'LL", " we", "'Re", " '", "S"}},
		{"long s", "it'ſ", []string{"it", "'ſ"}},
		{"no contraction", "o'clock 'n", []string{"o", "'clock", " '", "n"}},
		{"apostrophe at the end", "boys'", []string{"boys", "'"}},
		{"numbers by three", "12345678 ½²", []string{"123", "456", "78", " ", "½²"}},
		{"any character before letters", "(a\tb\u00a0c", []string{"(a", "\tb", "\u00a0c"}},
		{"line ends after punctuation", "end.\r\n\nNext", []string{"end", ".\r\n\n", "Next"}},
		{"line ends in white space", "a \n \n  b", []string{"a", " \n \n", " ", " b"}},
		{"white space before a number", "a  1", []string{"a", " ", " ", "1"}},
		{"white space at the end", "a   ", []string{"a", "   "}},
		{"not UTF-8", "a\xff\xfeb", []string{"a", "\xff\xfe", "b"}},
		{"marks are not letters", "e\u0301a", []string{"e", "\u0301a"}},
		{"ideographic space", "一\u3000二", []string{"一", "\u3000二"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := piecesOf(splitLlama3, c.text); !slices.Equal(got, c.want) {
				t.Errorf("%q\n got %q\nwant %q", c.text, got, c.want)
			}
			if got := matches(t, llama3Regex, c.text); !slices.Equal(got, c.want) {
				t.Errorf("reference: %q\n got %q\nwant %q", c.text, got, c.want)
			}
		})
	}
}

func TestSplitSpaces(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		words, parts []string
	}{
		{"words", " a b", []string{" a", " b"}, []string{" a", " b"}},
		{"runs", "a  b ", []string{"a", "  b", " "}, []string{"a", " ", " b", " "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := piecesOf(splitWords, c.text); !slices.Equal(got, c.words) {
				t.Errorf("splitWords: got %q, want %q", got, c.words)
			}
			if got := piecesOf(splitSpaces, c.text); !slices.Equal(got, c.parts) {
				t.Errorf("splitSpaces: got %q, want %q", got, c.parts)
			}
		})
	}
}

// FuzzSplit holds compiled expressions against the same with backtracking.
func FuzzSplit(f *testing.F) {
	splitLlama3, splitGPT2 := known(f, Llama3Pattern), known(f, gpt2Pattern)
	for _, s := range []string{"", "I'LL go, 'ſ'", " \r\n \n\t x", "1234½ 五", "''s' 'T", "\xff \xf0\x9f", "a\u0085\u2028b  "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = s[:min(len(s), 100)] // the reference tries all ways, in a time that grows with the square of runs and more
		if got, want := piecesOf(splitLlama3, s), matches(t, llama3Regex, s); !slices.Equal(got, want) {
			t.Errorf("Llama 3: %q\n got %q\nwant %q", s, got, want)
		}
		if got, want := piecesOf(splitGPT2, s), matches(t, gpt2Regex, s); !slices.Equal(got, want) {
			t.Errorf("GPT-2: %q\n got %q\nwant %q", s, got, want)
		}
	})
}

func TestByteAlphabet(t *testing.T) {
	seen := map[rune]bool{}
	for b := range 256 {
		r := runeOf(byte(b))
		if seen[r] || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			t.Errorf("byte %#x is %U, which is taken or does not print", b, r)
		}
		seen[r] = true
		if back, ok := byteOf(r); !ok || back != byte(b) {
			t.Errorf("byteOf(runeOf(%#x)) = %#x, %v", b, back, ok)
		}
	}
	for r := rune(-1); r < 0x400; r++ {
		if _, ok := byteOf(r); ok != seen[r] {
			t.Errorf("byteOf(%U) is %v", r, ok)
		}
	}
}
