package sampling

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// feed pushes text in pieces of n bytes and returns the text that was shown.
func feed(f *TextFilter, text string, n int) (shown string, stopped bool, pieces []string) {
	var b strings.Builder
	for len(text) > 0 && !stopped {
		cut := min(n, len(text))
		var piece string
		piece, stopped = f.Push([]byte(text[:cut]))
		pieces = append(pieces, piece)
		b.WriteString(piece)
		text = text[cut:]
	}
	if !stopped {
		b.WriteString(f.Flush())
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
		{"two invalid bytes", "a\xff\xfeb", nil, "a\uFFFD\uFFFDb", false},
		{"a character broken off", "\xf0\x9fb\xe2\x82", nil, "\uFFFDb\uFFFD", false},
		{"what is shown for invalid bytes", "a\xffb", []string{"\uFFFD"}, "a", true},
		{"within what is held for another", "xabcdy", []string{"abcde", "bcd"}, "xa", true},
		{"several that end together", "xabcd", []string{"cd", "abcd", "d"}, "x", true},
		{"begun again within itself", "aabaabaaab", []string{"aabaaab"}, "aab", true},
	} {
		for n := 1; n <= 8; n++ {
			f := new(TextFilter)
			f.Start(c.stop, false)
			got, stopped, pieces := feed(f, c.text, n)
			if got != c.want || stopped != c.stopped {
				t.Errorf("%s in pieces of %d: %q, stopped %v; want %q, %v", c.name, n, got, stopped, c.want, c.stopped)
			}
			if want := c.text[min(len(c.text), len(got)):]; stopped && (!slices.Contains(c.stop, f.Stopped) || utf8.ValidString(c.text) && !strings.HasPrefix(want, f.Stopped)) {
				t.Errorf("%s in pieces of %d: stopped by %q", c.name, n, f.Stopped)
			} else if !stopped && f.Stopped != "" {
				t.Errorf("%s in pieces of %d: not stopped, but by %q", c.name, n, f.Stopped)
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
	f.Add("끝까지", "까", "\uFFFD", 1)
	f.Add("xabcdy", "abcde", "bcd", 2)
	f.Fuzz(func(t *testing.T, text, stop1, stop2 string, n int) {
		if stop1 == "" || stop2 == "" || n < 1 || !utf8.ValidString(text) || !utf8.ValidString(stop1) || !utf8.ValidString(stop2) {
			t.Skip()
		}
		want, stop := text, false
		for end := range len(text) + 1 { // the first place at which a stop string is complete, and there the longest
			for _, stop12 := range []string{stop1, stop2} {
				if before, found := strings.CutSuffix(text[:end], stop12); found && len(before) < len(want) {
					want, stop = before, true
				}
			}
			if stop {
				break
			}
		}
		filter := new(TextFilter)
		filter.Start([]string{stop1, stop2}, false)
		if got, stopped, _ := feed(filter, text, n); got != want || stopped != stop {
			t.Fatalf("%q without %q and %q in pieces of %d: %q, %v; want %q, %v", text, stop1, stop2, n, got, stopped, want, stop)
		}
	})
}

// TestLongStopStringIsLinear counts allocated bytes and steps instead of seconds: every byte of the text moves the match on by one or back
// along links, and moves forward bound the number of links.
func TestLongStopStringIsLinear(t *testing.T) {
	const n = 1 << 18
	f := new(TextFilter)
	f.Start([]string{strings.Repeat("a", n) + "b"}, false)
	before := f.stops[0].matched
	for range n / 16 {
		if text, stopped := f.Push([]byte(strings.Repeat("a", 16))); text != "" || stopped {
			t.Fatalf("%q, %v", text, stopped)
		}
	}
	if grown := f.stops[0].matched - before; grown != n {
		t.Fatalf("%d bytes are matched, want %d", grown, n)
	}
	if text, stopped := f.Push([]byte("b")); text != "" || !stopped {
		t.Errorf("%d bytes, stopped %v", len(text), stopped)
	}
}

func TestTextFilterDropsTheVocabularysSpace(t *testing.T) {
	for _, c := range []struct{ text, want string }{{" Hello world", "Hello world"}, {"Hello", "Hello"}, {"  two", " two"}, {"", ""}} {
		f := new(TextFilter)
		f.Start(nil, true)
		if got, _, _ := feed(f, c.text, 1); got != c.want {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
	}
}
