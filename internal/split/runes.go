package split

import (
	"slices"
	"unicode"
)

// runes is a set of characters: spans in ascending order that neither overlap nor touch.
type runes []runeSpan

// runeSpan is the characters from low to high, both included.
type runeSpan struct{ low, high rune }

// everything is the set of all characters.
var everything = runes{{0, unicode.MaxRune}}

// union returns the characters of all sets.
func union(sets ...runes) runes {
	all := slices.Concat(sets...)
	slices.SortFunc(all, func(a, b runeSpan) int { return int(a.low - b.low) })
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && s.low <= out[n-1].high+1 {
			out[n-1].high = max(out[n-1].high, s.high)
			continue
		}
		out = append(out, s)
	}
	return out
}

// not returns the characters that are not in the set.
func (r runes) not() runes {
	var out runes
	next := rune(0)
	for _, s := range r {
		if next < s.low {
			out = append(out, runeSpan{next, s.low - 1})
		}
		next = s.high + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, runeSpan{next, unicode.MaxRune})
	}
	return out
}

// and returns the characters that are in both sets.
func (r runes) and(other runes) runes { return union(r.not(), other.not()).not() }

// has tells whether a character is in the set.
func (r runes) has(c rune) bool {
	i, found := slices.BinarySearchFunc(r, c, func(s runeSpan, c rune) int {
		switch {
		case s.high < c:
			return -1
		case s.low > c:
			return 1
		}
		return 0
	})
	return found && i < len(r)
}

// tableRunes returns the characters of Unicode's tables.
func tableRunes(tables ...*unicode.RangeTable) runes {
	var out runes
	add := func(low, high, stride rune) {
		if stride == 1 {
			out = append(out, runeSpan{low, high})
			return
		}
		for c := low; c <= high; c += stride {
			out = append(out, runeSpan{c, c})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return union(out)
}

// maxFolded bounds the sets whose characters are looked for in either case.
const maxFolded = 1 << 10

// fold returns the set with the other cases of its characters, and false for a large one.
func (r runes) fold() (runes, bool) {
	out := slices.Clone(r)
	n := 0
	for _, s := range r {
		if n += int(s.high-s.low) + 1; n > maxFolded {
			return nil, false
		}
		for c := s.low; c <= s.high; c++ {
			for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
				out = append(out, runeSpan{other, other})
			}
		}
	}
	return union(out), true
}

// properties are those that expressions may name, as \p{L}.
var properties = map[string][]*unicode.RangeTable{
	"L": {unicode.L}, "Lu": {unicode.Lu}, "Ll": {unicode.Ll}, "Lt": {unicode.Lt}, "Lm": {unicode.Lm}, "Lo": {unicode.Lo},
	"M": {unicode.M}, "Mn": {unicode.Mn}, "Mc": {unicode.Mc}, "Me": {unicode.Me},
	"N": {unicode.N}, "Nd": {unicode.Nd}, "Nl": {unicode.Nl}, "No": {unicode.No},
	"P": {unicode.P}, "Pc": {unicode.Pc}, "Pd": {unicode.Pd}, "Ps": {unicode.Ps}, "Pe": {unicode.Pe}, "Pi": {unicode.Pi},
	"Pf": {unicode.Pf}, "Po": {unicode.Po},
	"S": {unicode.S}, "Sm": {unicode.Sm}, "Sc": {unicode.Sc}, "Sk": {unicode.Sk}, "So": {unicode.So},
	"Z": {unicode.Z}, "Zs": {unicode.Zs}, "Zl": {unicode.Zl}, "Zp": {unicode.Zp},
	"C": {unicode.C}, "Cc": {unicode.Cc}, "Cf": {unicode.Cf}, "Co": {unicode.Co},
	"Han": {unicode.Han}, "Hiragana": {unicode.Hiragana}, "Katakana": {unicode.Katakana}, "Hangul": {unicode.Hangul},
	"Latin": {unicode.Latin}, "Greek": {unicode.Greek}, "Cyrillic": {unicode.Cyrillic}, "Arabic": {unicode.Arabic},
	"Hebrew": {unicode.Hebrew}, "Thai": {unicode.Thai}, "Devanagari": {unicode.Devanagari},
}

// shorthands are the classes with a name of one letter; with the capital letter they mean all other characters.
var shorthands = map[byte][]*unicode.RangeTable{
	's': {unicode.White_Space},
	'd': {unicode.Nd},
	'w': {unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Other_Alphabetic, unicode.Pc},
}
