package llama

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// textFilter turns the bytes of generated tokens into text that may be shown: whole UTF-8 characters only, and nothing that
// is, or may yet become, a stop string.
type textFilter struct {
	stop      []string
	pending   []byte // decoded, not yet shown
	dropSpace bool   // a space that comes first is the vocabulary's, not the text's
}

// start prepares for a call.
func (f *textFilter) start(stop []string, dropSpace bool) {
	f.stop, f.dropSpace = stop, dropSpace
	f.pending = f.pending[:0]
}

// push adds the bytes of a token and returns the text that can be shown now, and whether a stop string has been reached;
// after that nothing more is shown.
func (f *textFilter) push(b []byte) (text string, stopped bool) {
	if f.dropSpace && len(b) > 0 {
		b, f.dropSpace = bytes.TrimPrefix(b, []byte(" ")), false
	}
	f.pending = append(f.pending, b...)
	if at := f.firstStop(); at >= 0 {
		text = validText(f.pending[:at])
		f.pending = f.pending[:0]
		return text, true
	}
	n := len(f.pending) - f.held()
	text = validText(f.pending[:n])
	f.pending = append(f.pending[:0], f.pending[n:]...)
	return text, false
}

// flush returns what was held back, when no more will come.
func (f *textFilter) flush() string {
	text := validText(f.pending)
	f.pending = f.pending[:0]
	return text
}

// firstStop returns where the earliest stop string begins, or -1.
func (f *textFilter) firstStop() int {
	first := -1
	for _, stop := range f.stop {
		if at := strings.Index(string(f.pending), stop); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// held returns how many bytes at the end must wait: the beginning of a character, or of a stop string.
func (f *textFilter) held() int {
	held := incompleteRune(f.pending)
	for _, stop := range f.stop {
		for n := min(len(stop)-1, len(f.pending)); n > held; n-- {
			if strings.HasPrefix(stop, string(f.pending[len(f.pending)-n:])) {
				held = n
				break
			}
		}
	}
	// Text that waits for a stop string must not cut a character in two either.
	return held + incompleteRune(f.pending[:len(f.pending)-held])
}

// incompleteRune returns the length of the unfinished character at the end of b, 0 to 3.
func incompleteRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// validText returns b as text, each invalid byte replaced by U+FFFD.
func validText(b []byte) string {
	return strings.ToValidUTF8(string(b), string(utf8.RuneError))
}
