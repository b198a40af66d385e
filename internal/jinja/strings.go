package jinja

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
)

// What filters and methods do to strings.

func upper(e *evaluator, t Text, _ args) (Value, error) { return e.mapped(t, strings.ToUpper) }
func lower(e *evaluator, t Text, _ args) (Value, error) { return e.mapped(t, strings.ToLower) }

func capitalize(e *evaluator, t Text, _ args) (Value, error) {
	started := false
	return e.mapped(t, func(s string) string {
		n := 0
		if !started {
			n = offset(s, 1)
		}
		started = true
		return strings.ToUpper(s[:n]) + strings.ToLower(s[n:])
	})
}

// titled makes the first letter of each word a capital, and the others small.
func titled(isBreak func(rune) bool) func(*evaluator, Text, args) (Value, error) {
	return func(e *evaluator, t Text, _ args) (Value, error) {
		inWord := false
		return e.mapped(t, func(s string) string {
			return strings.Map(func(c rune) rune {
				first := !inWord
				switch inWord = !isBreak(c); {
				case !inWord:
					return c
				case first:
					return unicode.ToTitle(c)
				}
				return unicode.ToLower(c)
			}, s)
		})
	}
}

var (
	titleFilter = titled(func(c rune) bool { return isSpace(c) || strings.ContainsRune("-({[<", c) })
	titleMethod = titled(func(c rune) bool { return !unicode.IsLetter(c) })
)

func swapCase(e *evaluator, t Text, _ args) (Value, error) {
	if err := e.spend(16 * len(t.s)); err != nil {
		return nil, err
	}
	return e.mapped(t, func(s string) string {
		return strings.Map(func(c rune) rune {
			if unicode.IsUpper(c) {
				return unicode.ToLower(c)
			}
			return unicode.ToUpper(c)
		}, s)
	})
}

// strip drops characters from the sides: those of the first argument, or white space.
func strip(left, right bool) func(*evaluator, Text, args) (Value, error) {
	return func(e *evaluator, t Text, a args) (Value, error) {
		drop := isSpace
		if a.or(0, nil) != nil {
			cut, err := a.text(0)
			if err != nil {
				return nil, err
			}
			if err := e.take(16 * len(cut.s)); err != nil {
				return nil, err
			}
			set := make(map[rune]bool, len(cut.s))
			for _, c := range cut.s {
				set[c] = true
			}
			drop = func(c rune) bool { return set[c] }
			if err := e.spend(16 * len(t.s)); err != nil {
				return nil, err
			}
		}
		if err := e.spend(2 * len(t.s)); err != nil {
			return nil, err
		}
		from, to := 0, len(t.s)
		if left {
			from = len(t.s) - len(strings.TrimLeftFunc(t.s, drop))
		}
		if right {
			to = max(from, len(strings.TrimRightFunc(t.s, drop)))
		}
		return e.cut(t, from, to)
	}
}

// cut is a part of a text, within the budget.
func (e *evaluator) cut(t Text, from, to int) (Text, error) {
	if _, ok := t.single(); ok {
		return t.slice(from, to), e.take(valueBytes / 2)
	}
	part := t.slice(from, to)
	return part, e.take(valueBytes + part.bytes() - len(part.s))
}

func replaceFilter(e *evaluator, v Value, a args) (Value, error) {
	t, err := e.str(v)
	if err != nil {
		return nil, err
	}
	for i := range 2 { // the filter makes strings of what it gets
		if a.values[i], err = e.str(a.values[i]); err != nil {
			return nil, err
		}
	}
	return replace(e, t, a)
}

func replace(e *evaluator, t Text, a args) (Value, error) {
	old, err := a.text(0)
	if err != nil {
		return nil, err
	}
	with, err := a.text(1)
	if err != nil {
		return nil, err
	}
	limit := -1
	if a.or(2, nil) != nil {
		if limit, err = a.integer(2, -1); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(e.search(t.s, old.s), e.spend(len(t.s))); err != nil {
		return nil, err
	}
	b := builder{m: &e.meter}
	at := 0
	if old.s == "" { // between all characters
		for i := 0; b.err == nil && limit != 0; limit-- {
			b.add(with)
			n := offset(t.s[i:], 1)
			b.part(t, i, i+n)
			if i, at = i+n, i+n; n == 0 {
				break
			}
		}
	}
	for old.s != "" && limit != 0 && b.err == nil {
		i := strings.Index(t.s[at:], old.s)
		if i < 0 {
			break
		}
		b.part(t, at, at+i)
		b.add(with)
		at += i + len(old.s)
		limit--
	}
	b.part(t, at, len(t.s))
	return b.text()
}

// indent puts a margin before each line but the first, and before that one if asked; not before empty ones unless asked.
func indent(e *evaluator, t Text, a args) (Value, error) {
	margin, ok := a.or(0, int64(4)).(Text)
	if !ok {
		width, err := a.integer(0, 4)
		if err != nil {
			return nil, err
		}
		if width > maxIndent {
			return nil, fmt.Errorf("%d columns; at most %d", width, maxIndent)
		}
		margin = Text{s: strings.Repeat(" ", max(0, width))}
	}
	breaks, err := e.breaksOf(t)
	if err != nil {
		return nil, err
	}
	first, blank := isTrue(a.or(1, false)), isTrue(a.or(2, false))
	b := builder{m: &e.meter}
	from := 0
	for i := 0; i <= len(breaks) && b.err == nil; i++ {
		to, next := len(t.s), len(t.s)
		if i < len(breaks) {
			to, next = breaks[i][0], breaks[i][1]
		}
		if i == 0 && first || i > 0 && (blank || to > from) {
			b.add(margin)
		}
		b.part(t, from, to)
		if next > to {
			b.write("\n", t.originAt(to))
		}
		from = next
	}
	return b.text()
}

func truncate(e *evaluator, t Text, a args) (Value, error) {
	size, err := a.integer(0, 255)
	if err != nil {
		return nil, err
	}
	end := Text{s: "..."}
	if a.or(2, nil) != nil {
		if end, err = a.text(2); err != nil {
			return nil, err
		}
	}
	leeway := 5
	if a.or(3, nil) != nil {
		if leeway, err = a.integer(3, leeway); err != nil {
			return nil, err
		}
	}
	n, err := e.count(t)
	if err != nil {
		return nil, err
	}
	tail, err := e.count(end)
	switch {
	case err != nil:
		return nil, err
	case size < tail || leeway < 0:
		return nil, fmt.Errorf("to %d characters with an end of %d", size, tail)
	case n <= size+leeway:
		return t, nil
	}
	to := offset(t.s, size-tail)
	if !isTrue(a.or(1, false)) {
		if i := strings.LastIndexByte(t.s[:to], ' '); i >= 0 {
			to = i
		}
	}
	return e.concat(Text{}, t.slice(0, to), end)
}

func wordCount(e *evaluator, t Text, _ args) (Value, error) {
	if err := e.spend(64 * len(t.s)); err != nil {
		return nil, err
	}
	n, inWord := 0, false
	for _, c := range t.s {
		word := c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c)
		if word && !inWord {
			n++
		}
		inWord = word
	}
	return int64(n), nil
}

// centred pads a text to a width.
func centred(e *evaluator, t Text, width int, fill Text, left, right bool) (Value, error) {
	n, err := e.count(t)
	if err != nil {
		return nil, err
	}
	pad := max(0, width-n)
	before, after := 0, pad
	switch {
	case left && right:
		before = pad / 2
		if pad&width&1 == 1 { // as Python divides what is odd
			before++
		}
		after = pad - before
	case left:
		before, after = pad, 0
	}
	front, err := e.repeat(fill, before)
	if err != nil {
		return nil, err
	}
	back, err := e.repeat(fill, after)
	if err != nil {
		return nil, err
	}
	return e.concat(Text{}, front, t, back)
}

func centerFilter(e *evaluator, v Value, a args) (Value, error) {
	t, err := e.str(v)
	if err != nil {
		return nil, err
	}
	width, err := a.integer(0, 80)
	if err != nil {
		return nil, err
	}
	return centred(e, t, width, Text{s: " "}, true, true)
}
