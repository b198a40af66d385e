package sampling

import (
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/bpe"
)

// TextFilter turns the bytes of generated tokens into text that may be shown: whole characters only, and nothing that is, or may
// yet become, a stop string. Stop strings are looked for in the text as it would be shown, in time linear in its length however
// long they are, and the result does not depend on how the bytes are cut into tokens.
//
// Invariants between calls: raw is the beginning of one character, at most three bytes; held is text that is not shown yet, as
// long as the longest beginning of a stop string that the text ends with.
type TextFilter struct {
	stops     []stopString
	raw       []byte
	held      []byte
	dropSpace bool   // a space that comes first is the vocabulary's, not the text's
	Stopped   string // the stop string that has been completed; "" if no stop string has
}

// stopString finds one stop string in a text that comes byte by byte, by Knuth, Morris and Pratt's algorithm.
//
// Invariant between bytes: matched is the length of the longest beginning of the stop string that the text so far ends with,
// and below len(text).
type stopString struct {
	text    string // the stop string, not empty
	shorter []int  // shorter[n] is the length of the longest beginning of text, other than text[:n+1], that text[:n+1] ends with
	matched int
}

func newStopString(text string) stopString {
	s := stopString{text: text, shorter: make([]int, len(text))}
	for i := 1; i < len(text); i++ {
		s.shorter[i] = s.extend(s.shorter[i-1], text[i])
	}
	return s
}

// extend returns how many bytes of the stop string's beginning are matched after c, when n bytes were matched before it.
func (s *stopString) extend(n int, c byte) int {
	for n > 0 && s.text[n] != c {
		n = s.shorter[n-1]
	}
	if s.text[n] == c {
		n++
	}
	return n
}

// Start prepares for a call.
func (f *TextFilter) Start(stop []string, dropSpace bool) {
	f.stops = f.stops[:0]
	for _, text := range stop {
		f.stops = append(f.stops, newStopString(text))
	}
	f.raw, f.held, f.dropSpace, f.Stopped = f.raw[:0], f.held[:0], dropSpace, ""
}

// Push adds the bytes of a token and returns the text that can be shown now, and whether a stop string has been completed. The text then
// ends before that stop string, the longest if several are completed at once, and nothing more may be pushed.
func (f *TextFilter) Push(b []byte) (text string, stopped bool) {
	if f.dropSpace && len(b) > 0 {
		if b[0] == ' ' {
			b = b[1:]
		}
		f.dropSpace = false
	}
	f.raw = append(f.raw, b...)
	raw := f.raw
	for utf8.FullRune(raw) {
		r, n := utf8.DecodeRune(raw)
		if r == utf8.RuneError && n == 1 {
			n = bpe.MaximalSubpart(raw)
		}
		raw = raw[n:]
		if f.add(r) {
			text = string(f.held)
			f.raw, f.held = f.raw[:0], f.held[:0]
			return text, true
		}
	}
	f.raw = append(f.raw[:0], raw...)
	wait := 0
	for i := range f.stops {
		wait = max(wait, f.stops[i].matched)
	}
	show := len(f.held) - wait
	text = string(f.held[:show])
	f.held = append(f.held[:0], f.held[show:]...)
	return text, false
}

// add adds a character to held. When the character completes a stop string, add takes the stop string off held, notes which one it is,
// and returns true.
func (f *TextFilter) add(r rune) bool {
	from := len(f.held)
	f.held = utf8.AppendRune(f.held, r)
	longest := ""
	for i := range f.stops {
		s := &f.stops[i]
		for _, c := range f.held[from:] {
			s.matched = s.extend(s.matched, c)
		}
		if s.matched == len(s.text) {
			if len(s.text) > len(longest) {
				longest = s.text
			}
			s.matched = s.shorter[s.matched-1]
		}
	}
	f.held, f.Stopped = f.held[:len(f.held)-len(longest)], longest
	return longest != ""
}

// Flush returns the text that was held back. It is for the end of an answer, or for an interruption of its text. An incomplete character
// becomes U+FFFD.
func (f *TextFilter) Flush() string {
	text := string(f.held)
	if len(f.raw) > 0 {
		text += string(utf8.RuneError)
	}
	f.raw, f.held = f.raw[:0], f.held[:0]
	for i := range f.stops {
		f.stops[i].matched = 0
	}
	return text
}
