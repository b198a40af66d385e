package gbnf

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// span is the characters from low to high, both included.
type span struct{ low, high rune }

// utf16Half tells whether c is not a character but half of one in UTF-16.
func utf16Half(c rune) bool { return 0xD800 <= c && c <= 0xDFFF }

// merged returns the same characters in ascending spans that neither touch nor overlap.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return int(a.low - b.low) })
	var all []span
	for _, s := range spans {
		if n := len(all); n > 0 && s.low <= all[n-1].high+1 {
			all[n-1].high = max(all[n-1].high, s.high)
			continue
		}
		all = append(all, s)
	}
	return all
}

// complement returns the characters that are not in merged spans.
func complement(spans []span) []span {
	var all []span
	next := rune(0)
	for _, s := range append(slices.Clone(spans), span{unicode.MaxRune + 1, 0}) {
		if next < s.low {
			all = append(all, span{next, s.low - 1})
		}
		next = s.high + 1
	}
	return all
}

// oneOf returns the expression of one character of merged spans, in UTF-8.
func oneOf(r *regular.Arena, spans []span) regular.Expr {
	var ascii regular.Class
	ways := []regular.Expr{}
	for _, s := range spans {
		if s.low < utf8.RuneSelf {
			ascii = ascii.Or(regular.Range(byte(s.low), byte(min(s.high, utf8.RuneSelf-1))))
		}
		for _, part := range []span{{0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, unicode.MaxRune}} {
			if low, high := max(s.low, part.low), min(s.high, part.high); low <= high {
				ways = encoded(r, ways, []byte(string(low)), []byte(string(high)))
			}
		}
	}
	return r.Or(append(ways, r.Class(ascii))...)
}

// encoded appends to ways the texts of continuation bytes behind a first byte from low to high, which have equal lengths.
func encoded(r *regular.Arena, ways []regular.Expr, low, high []byte) []regular.Expr {
	if len(low) == 1 {
		return append(ways, r.Class(regular.Range(low[0], high[0])))
	}
	least, most := make([]byte, len(low)-1), make([]byte, len(low)-1)
	for i := range least {
		least[i], most[i] = 0x80, 0xBF
	}
	put := func(a, b byte, low, high []byte) {
		if a <= b {
			ways = append(ways, r.Concat(r.Class(regular.Range(a, b)), r.Or(encoded(r, nil, low, high)...)))
		}
	}
	first, last := low[0], high[0]
	if first == last {
		put(first, last, low[1:], high[1:])
		return ways
	}
	if !slices.Equal(low[1:], least) {
		put(first, first, low[1:], most)
		first++
	}
	open := last
	if !slices.Equal(high[1:], most) {
		open--
	}
	put(first, open, least, most)
	if open != last {
		put(last, last, least, high[1:])
	}
	return ways
}
