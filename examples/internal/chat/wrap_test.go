package chat

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

// screen is a terminal that knows all that a wrapper writes: text, line feeds, and erasing the end of the last line.
type screen struct {
	columns int
	lines   []string
	t       *testing.T
}

func (s *screen) Write(p []byte) (int, error) {
	for text := string(p); text != ""; {
		last := len(s.lines) - 1
		before, after, found := strings.Cut(text, "\x1b[")
		text = ""
		for i, line := range strings.Split(before, "\n") {
			if i > 0 {
				s.lines = append(s.lines, "")
				last++
			}
			s.lines[last] += line
			if width := uniseg.StringWidth(s.lines[last]); width >= s.columns {
				s.t.Errorf("%q takes %d columns of %d", s.lines[last], width, s.columns)
			}
		}
		if found {
			var back int
			if _, err := fmt.Sscanf(after, "%dD", &back); err != nil {
				s.t.Fatalf("escape sequence %q: %v", after, err)
			}
			_, text, _ = strings.Cut(after, "\x1b[K")
			for left := uniseg.StringWidth(s.lines[last]) - back; uniseg.StringWidth(s.lines[last]) > left; {
				runes := []rune(s.lines[last])
				s.lines[last] = string(runes[:len(runes)-1])
			}
		}
	}
	return len(p), nil
}

// shown returns what a terminal shows of pieces.
func shown(t *testing.T, columns int, pieces ...string) string {
	t.Helper()
	s := &screen{columns, []string{""}, t}
	w := &wrapper{w: s, columns: func() int { return columns }}
	for _, piece := range pieces {
		if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	for i, line := range s.lines {
		s.lines[i] = strings.TrimRight(line, " ") // nobody sees these
	}
	return strings.Join(s.lines, "\n")
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		name, text string
		columns    int
		want       string
	}{
		{"fits", "The capital.", 13, "The capital."},
		{"the last column stays free", "The capital.", 12, "The\ncapital."},
		{"several lines", "a brave otter named Nina", 12, "a brave\notter named\nNina"},
		{"line feeds stay", "one\n\n two\n", 20, "one\n\n two\n"},
		{"spaces within a line stay", "a   b", 20, "a   b"},
		{"spaces at a line's end do not wrap", "abcd      efgh", 8, "abcd\nefgh"},
		{"a word longer than a line", "an abcdefghijklm o", 6, "an\nabcde\nfghij\nklm o"},
		{"wide characters", "日本の首都は東京です。", 10, "日本の首\n都は東京\nです。"},
		{"a full stop begins no line", "日本の首都。", 11, "日本の首\n都。"},
		{"Korean breaks at spaces", "대한민국의 수도는 서울", 12, "대한민국의\n수도는 서울"},
		{"a family is one character", "👩‍👩‍👧‍👦 👩‍👩‍👧‍👦 👩‍👩‍👧‍👦", 6, "👩‍👩‍👧‍👦 👩‍👩‍👧‍👦\n👩‍👩‍👧‍👦"},
		{"tabulators", "if x {\n\treturn\n}", 20, "if x {\n    return\n}"},
		{"control characters are left out", "a\x1b[2Jb\r\x07\u0085c", 20, "a[2Jbc"},
		{"unknown width", strings.Repeat("word ", 40) + "end", 0, strings.Repeat("word ", 40) + "end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			columns := c.columns
			if columns == 0 {
				var b strings.Builder
				w := &wrapper{w: &b, columns: func() int { return 0 }}
				w.Write([]byte(c.text))
				if b.String() != c.want {
					t.Errorf("%q, want %q", b.String(), c.want)
				}
				return
			}
			if got := shown(t, columns, c.text); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestPiecesDoNotMatter cuts texts anywhere between runes. Ordinary text looks the same however it was cut. Any text is shown completely,
// once and in order, though rare characters may be broken elsewhere.
func TestPiecesDoNotMatter(t *testing.T) {
	ordinary := []string{"a ", "word ", "unbelievable ", "  ", "\n", "well-known ", "100 ", "5, ", "end. ", "日", "東京", "。", "서울 ", "e\u0301 "}
	rare := append(ordinary, "(", "$ ", "%", "「", "-", "—", "👩\u200d👧", "🇯🇵🇫🇷", "\t", "https://example.org/a/b?c=d", "\"", "!", "\u00a0")
	letters := func(s string) string { return strings.Join(strings.Fields(s), "") }
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 1000 {
		parts, columns := ordinary, 14+random.IntN(30) // no word is longer than a line
		if round%2 == 1 {
			parts, columns = rare, 5+random.IntN(30)
		}
		var b strings.Builder
		for range 1 + random.IntN(30) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		text, begin, pieces := b.String(), 0, []string(nil)
		for at := range text {
			if at > begin && random.IntN(3) == 0 {
				pieces = append(pieces, text[begin:at])
				begin = at
			}
		}
		got, whole := shown(t, columns, append(pieces, text[begin:])...), shown(t, columns, text)
		if round%2 == 0 && got != whole || letters(got) != letters(text) {
			t.Fatalf("%d columns: pieces of %q show\n%q, all at once\n%q", columns, text, got, whole)
		}
	}
}
