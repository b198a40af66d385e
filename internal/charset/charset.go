// Package charset has sets of characters: what a class of a regular expression, such as [a-z] or \p{L}, stands for.
package charset

import (
	"slices"
	"sync"
	"unicode"
)

// Set is a set of characters: ranges in ascending order that neither touch nor overlap. Characters are Unicode scalar values: no
// Set has a surrogate. Sets are immutable.
type Set []Span

// Span is the characters from Low to High, both included.
type Span struct{ Low, High rune }

const (
	surrogateMin = 0xD800
	surrogateMax = 0xDFFF
)

// All returns the set of all characters.
func All() Set { return Set{{0, surrogateMin - 1}, {surrogateMax + 1, unicode.MaxRune}} }

// Between returns the characters from low to high, both included, and those of the further pairs: Between('0', '9', 'a', 'f').
func Between(low, high rune, more ...rune) Set {
	spans := append(make([]Span, 0, 1+len(more)/2), Span{low, high})
	for i := 0; i+1 < len(more); i += 2 {
		spans = append(spans, Span{more[i], more[i+1]})
	}
	return Of(spans...)
}

// Of returns the characters of all spans. It sorts the spans, and may keep their memory.
func Of(spans ...Span) Set {
	if len(spans) == 1 && spans[0].High < surrogateMin && spans[0].Low <= spans[0].High {
		return Set(spans)
	}
	slices.SortFunc(spans, func(a, b Span) int { return int(a.Low - b.Low) })
	set := make(Set, 0, len(spans)+1)
	add := func(s Span) {
		if s.Low > s.High {
			return
		}
		if n := len(set); n > 0 && s.Low <= set[n-1].High+1 {
			set[n-1].High = max(set[n-1].High, s.High)
			return
		}
		set = append(set, s)
	}
	for _, s := range spans {
		add(Span{s.Low, min(s.High, surrogateMin-1)})
	}
	for _, s := range spans {
		add(Span{max(s.Low, surrogateMax+1), min(s.High, unicode.MaxRune)})
	}
	return set
}

// Or returns the characters of either set.
func (s Set) Or(t Set) Set {
	switch {
	case len(s) == 0:
		return t
	case len(t) == 0:
		return s
	}
	return Of(slices.Concat(s, t)...)
}

// Not returns the characters that are not in the set.
func (s Set) Not() Set {
	var out Set
	next := rune(0)
	add := func(low, high rune) {
		if low <= high {
			out = append(out, Span{low, high})
		}
	}
	gap := func(low, high rune) { // without surrogates
		add(low, min(high, surrogateMin-1))
		add(max(low, surrogateMax+1), high)
	}
	for _, span := range s {
		gap(next, span.Low-1)
		next = span.High + 1
	}
	gap(next, unicode.MaxRune)
	return out
}

// And returns the characters of both sets.
func (s Set) And(t Set) Set {
	var out Set
	for i, j := 0, 0; i < len(s) && j < len(t); {
		if low, high := max(s[i].Low, t[j].Low), min(s[i].High, t[j].High); low <= high {
			out = append(out, Span{low, high})
		}
		if s[i].High < t[j].High {
			i++
		} else {
			j++
		}
	}
	return out
}

// Minus returns the characters of s that are not in t.
func (s Set) Minus(t Set) Set { return s.And(t.Not()) }

// Has reports whether c is in the set.
func (s Set) Has(c rune) bool {
	_, ok := slices.BinarySearchFunc(s, c, func(span Span, c rune) int {
		switch {
		case span.High < c:
			return -1
		case span.Low > c:
			return 1
		}
		return 0
	})
	return ok
}

// Len returns how many characters a set has.
func (s Set) Len() (n int) {
	for _, span := range s {
		n += int(span.High-span.Low) + 1
	}
	return n
}

// Single returns the only character of a set that has one; ok is false for another set.
func (s Set) Single() (c rune, ok bool) {
	if len(s) == 1 && s[0].Low == s[0].High {
		return s[0].Low, true
	}
	return 0, false
}

// OfTables returns the characters of tables of package unicode.
func OfTables(tables ...*unicode.RangeTable) Set {
	var spans []Span
	add := func(low, high, stride rune) {
		if stride == 1 {
			spans = append(spans, Span{low, high})
			return
		}
		for c := low; c <= high; c += stride {
			spans = append(spans, Span{c, c})
		}
	}
	for _, t := range tables {
		for _, x := range t.R16 {
			add(rune(x.Lo), rune(x.Hi), rune(x.Stride))
		}
		for _, x := range t.R32 {
			add(rune(x.Lo), rune(x.Hi), rune(x.Stride))
		}
	}
	return Of(spans...)
}

// folding returns the characters that have others which differ from them in case only, in ascending order.
var folding = sync.OnceValue(func() []rune {
	var all []rune
	for _, r := range unicode.CaseRanges { // which lack some, ß for instance, that others are folded to
		for c := rune(r.Lo); c <= rune(r.Hi); c++ {
			if d := unicode.SimpleFold(c); d != c {
				all = append(all, c, d)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
})

// Fold returns the set together with all characters that differ from one of its own in case only.
func (s Set) Fold() Set {
	if c, ok := s.Single(); ok && unicode.SimpleFold(c) == c {
		return s
	}
	spans := slices.Clone([]Span(s))
	cased := folding()
	for _, span := range s {
		at, _ := slices.BinarySearch(cased, span.Low)
		for ; at < len(cased) && cased[at] <= span.High; at++ {
			for d := unicode.SimpleFold(cased[at]); d != cased[at]; d = unicode.SimpleFold(d) {
				spans = append(spans, Span{d, d})
			}
		}
	}
	return Of(spans...)
}
