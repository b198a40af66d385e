package chat

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// A fence encloses text that did not come from the template between two noncharacters. Fenced stretches never nest, and
// none is empty, so that an empty string stays false.
type fence struct{ open, end string }

// newFence picks two noncharacters of U+FDD0 … U+FDEF that taken does not contain.
func newFence(taken func(string) bool) (fence, error) {
	var free []string
	for r := rune(0xFDD0); r <= 0xFDEF && len(free) < 2; r++ {
		if c := string(r); !taken(c) {
			free = append(free, c)
		}
	}
	if len(free) < 2 {
		return fence{}, errors.New("the conversation contains nearly all of the noncharacters U+FDD0 to U+FDEF, which leaves none to mark its text with")
	}
	return fence{free[0], free[1]}, nil
}

func (f fence) enclose(s string) string {
	if s == "" {
		return ""
	}
	return f.open + s + f.end
}

// strip returns s without its fences.
func (f fence) strip(s string) string {
	if f.open == "" || !strings.Contains(s, f.open) {
		return s
	}
	var b strings.Builder
	f.spans(s, func(text string, _ bool) { b.WriteString(text) })
	return b.String()
}

// spans calls yield for each stretch of s, in order.
func (f fence) spans(s string, yield func(text string, fenced bool)) {
	for s != "" {
		before, rest, found := strings.Cut(s, f.open)
		if before != "" {
			yield(before, false)
		}
		if !found {
			return
		}
		var inside string
		inside, s, _ = strings.Cut(rest, f.end)
		if inside != "" {
			yield(inside, true)
		}
	}
}

// mapSpans applies change to each stretch, which stays inside or outside.
func (f fence) mapSpans(s string, change func(string) string) string {
	if f.open == "" || !strings.Contains(s, f.open) {
		return change(s)
	}
	var b strings.Builder
	f.spans(s, func(text string, fenced bool) {
		text = change(text)
		if fenced {
			text = f.enclose(text)
		}
		b.WriteString(text)
	})
	return b.String()
}

// slice is strip(s)[from:to] with the fences that belong to it; from and to count bytes of strip(s).
func (f fence) slice(s string, from, to int) string {
	if f.open == "" || !strings.Contains(s, f.open) {
		return s[from:to]
	}
	var b strings.Builder
	at := 0
	f.spans(s, func(text string, fenced bool) {
		lo, hi := max(from-at, 0), min(to-at, len(text))
		at += len(text)
		if lo >= hi {
			return
		}
		if text = text[lo:hi]; fenced {
			text = f.enclose(text)
		}
		b.WriteString(text)
	})
	return b.String()
}

// segments cuts a rendering: special tokens are recognised outside of the fences only.
func (f fence) segments(rendered string, known specials) []Segment {
	var s segments
	f.spans(rendered, func(text string, fenced bool) {
		if fenced {
			s.plain.WriteString(text)
		} else {
			s.trusted(text, known)
		}
	})
	s.flush()
	return s.list
}

// isWord reports whether s is letters, digits, '_' and '-' only: a role that a template may build a special token from.
func isWord(s string) bool {
	for _, r := range s {
		if r >= utf8.RuneSelf || r != '_' && r != '-' && !('0' <= r && r <= '9') && !('a' <= r|0x20 && r|0x20 <= 'z') {
			return false
		}
	}
	return s != ""
}
