package llama

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// feed pushes text in pieces of n bytes and returns what was shown.
func feed(f *textFilter, text string, n int) (shown string, stopped bool, pieces []string) {
	var b strings.Builder
	for len(text) > 0 && !stopped {
		cut := min(n, len(text))
		var piece string
		piece, stopped = f.push([]byte(text[:cut]))
		pieces = append(pieces, piece)
		b.WriteString(piece)
		text = text[cut:]
	}
	if !stopped {
		b.WriteString(f.flush())
	}
	return b.String(), stopped, pieces
}

func TestTextFilter(t *testing.T) {
	for _, c := range []struct {
		name, text string
		stop       []string
		want       string
		stopped    bool
	}{
		{"plain", "hello world", nil, "hello world", false},
		{"multibyte", "한국어 ¡Hola! 🦙", nil, "한국어 ¡Hola! 🦙", false},
		{"stop", "one STOP two", []string{"STOP"}, "one ", true},
		{"stop at once", "STOP", []string{"STOP"}, "", true},
		{"stop begun and not finished", "one STO two", []string{"STOP"}, "one STO two", false},
		{"stop begun at the end", "one STO", []string{"STOP"}, "one STO", false},
		{"stop after a false start", "SSTOP", []string{"STOP"}, "S", true},
		{"earliest of several", "abcdef", []string{"ef", "cd"}, "ab", true},
		{"overlapping", "aab", []string{"ab"}, "a", true},
		{"multibyte stop", "그만하자, 끝!", []string{"끝"}, "그만하자, ", true},
		{"invalid UTF-8", "a\xffb", nil, "a\uFFFDb", false},
		{"unfinished character", "a\xf0\x9f", nil, "a\uFFFD", false},
	} {
		for n := 1; n <= 8; n++ {
			f := new(textFilter)
			f.start(c.stop, false)
			got, stopped, pieces := feed(f, c.text, n)
			if got != c.want || stopped != c.stopped {
				t.Errorf("%s in pieces of %d: %q, stopped %v; want %q, %v", c.name, n, got, stopped, c.want, c.stopped)
			}
			for _, p := range pieces {
				if !utf8.ValidString(p) {
					t.Errorf("%s in pieces of %d: the piece %q is not UTF-8", c.name, n, p)
				}
			}
		}
	}
}

func FuzzTextFilter(f *testing.F) {
	f.Add("one STOP two", "STOP", "wo", 3)
	f.Add("끝까지", "까", "\xea", 1)
	f.Fuzz(func(t *testing.T, text, stop1, stop2 string, n int) {
		if stop1 == "" || stop2 == "" || n < 1 || !utf8.ValidString(text) {
			t.Skip()
		}
		want := text
		for _, stop := range []string{stop1, stop2} {
			if before, _, found := strings.Cut(text, stop); found && len(before) < len(want) {
				want = before
			}
		}
		filter := new(textFilter)
		filter.start([]string{stop1, stop2}, false)
		got, _, _ := feed(filter, text, n)
		if utf8.ValidString(want) && got != want {
			t.Fatalf("%q without %q and %q in pieces of %d: %q, want %q", text, stop1, stop2, n, got, want)
		}
	})
}

func TestTextFilterDropsTheVocabularysSpace(t *testing.T) {
	for _, c := range []struct{ text, want string }{{" Hello world", "Hello world"}, {"Hello", "Hello"}, {"  two", " two"}, {"", ""}} {
		f := new(textFilter)
		f.start(nil, true)
		if got, _, _ := feed(f, c.text, 1); got != c.want {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
	}
}
