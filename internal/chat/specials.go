package chat

import (
	"slices"
	"strings"
)

// specials finds special tokens: the texts by their first byte, longest first.
type specials map[byte][]string

func newSpecials(texts ...string) specials {
	s := specials{}
	for _, t := range texts {
		if t != "" && !slices.Contains(s[t[0]], t) {
			s[t[0]] = append(s[t[0]], t)
		}
	}
	for _, same := range s {
		slices.SortStableFunc(same, func(a, b string) int { return len(b) - len(a) })
	}
	return s
}

// at returns the longest special token that text begins with, or "".
func (s specials) at(text string) string {
	for _, t := range s[text[0]] {
		if strings.HasPrefix(text, t) {
			return t
		}
	}
	return ""
}

// in reports whether text contains a special token.
func (s specials) in(text string) bool {
	for i := range len(text) {
		if s.at(text[i:]) != "" {
			return true
		}
	}
	return false
}

// segments collects a rendering.
type segments struct {
	list  []Segment
	plain strings.Builder
}

func (s *segments) special(token string) {
	s.flush()
	s.list = append(s.list, Segment{Text: token, Special: true})
}

func (s *segments) flush() {
	if s.plain.Len() > 0 {
		s.list = append(s.list, Segment{Text: s.plain.String()})
		s.plain.Reset()
	}
}

// trusted appends text that the template wrote, cut at its special tokens.
func (s *segments) trusted(text string, known specials) {
	start := 0
	for i := 0; i < len(text); {
		token := known.at(text[i:])
		if token == "" {
			i++
			continue
		}
		s.plain.WriteString(text[start:i])
		s.special(token)
		i += len(token)
		start = i
	}
	s.plain.WriteString(text[start:])
}
