package texts

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsSpace is Python's str.isspace for a character.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// TrimSpace is Python's str.strip.
func TrimSpace(s string) string { return strings.TrimFunc(s, IsSpace) }

// At is s[i], or 0 beyond its end.
func At(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// Digits counts the digits at the start of s, with single underscores between them.
func Digits(s, set string) int {
	n := 0
	for n < len(s) && (strings.IndexByte(set, s[n]) >= 0 || s[n] == '_' && n > 0 && n+1 < len(s) && s[n-1] != '_' && strings.IndexByte(set, s[n+1]) >= 0) {
		n++
	}
	return n
}

// Count is the number of characters of a text.
func (m *Meter) Count(t Text) (int, error) {
	return utf8.RuneCountInString(t.s), m.Spend(len(t.s))
}

// Window returns the bytes that count characters from a character on take, in a string of n.
func (m *Meter) Window(s string, n, from, count int) (start, end int, err error) {
	if n == len(s) {
		return from, from + count, nil
	}
	start = Offset(s, from)
	end = start + Offset(s[start:], count)
	return start, end, m.Spend(4 * end)
}

// Offset returns the byte at which character i begins.
func Offset(s string, i int) int {
	at := 0
	for ; i > 0 && at < len(s); i-- {
		_, n := utf8.DecodeRuneInString(s[at:])
		at += n
	}
	return at
}
