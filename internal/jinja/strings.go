package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
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

// lineBreaks are the ranges of the line breaks that Python's splitlines knows.
func lineBreaks(s string) [][2]int {
	var out [][2]int
	for i, c := range s {
		switch c {
		case '\r':
			if at(s, i+1) == '\n' {
				continue
			}
		case '\n':
			if i > 0 && s[i-1] == '\r' {
				out = append(out, [2]int{i - 1, i + 1})
				continue
			}
		case '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		default:
			continue
		}
		out = append(out, [2]int{i, i + utf8.RuneLen(c)})
	}
	return out
}

// breaksOf is lineBreaks within the budget.
func (e *evaluator) breaksOf(t Text) ([][2]int, error) {
	if err := e.spend(4 * len(t.s)); err != nil {
		return nil, err
	}
	n := strings.Count(t.s, "\n") + strings.Count(t.s, "\r") + strings.Count(t.s, "\v") + strings.Count(t.s, "\f") +
		strings.Count(t.s, "\x1c") + strings.Count(t.s, "\x1d") + strings.Count(t.s, "\x1e") + strings.Count(t.s, "\u0085") +
		strings.Count(t.s, "\u2028") + strings.Count(t.s, "\u2029")
	if err := e.take(valueBytes * n); err != nil {
		return nil, err
	}
	return lineBreaks(t.s), nil
}

func splitLines(e *evaluator, v Value, a args) (Value, error) {
	t := v.(Text)
	breaks, err := e.breaksOf(t)
	if err != nil {
		return nil, err
	}
	keep := isTrue(a.or(0, false))
	var ranges [][2]int
	from := 0
	for _, b := range breaks {
		to := b[0]
		if keep {
			to = b[1]
		}
		ranges = append(ranges, [2]int{from, to})
		from = b[1]
	}
	if from < len(t.s) {
		ranges = append(ranges, [2]int{from, len(t.s)})
	}
	return e.parts(t, ranges)
}

// parts is a list of ranges of a text.
func (e *evaluator) parts(t Text, ranges [][2]int) (Value, error) {
	if err := e.takeValues(len(ranges) + (t.bytes()-len(t.s))/valueBytes); err != nil {
		return nil, err
	}
	l := &List{Items: make([]Value, len(ranges))}
	for i, r := range ranges {
		l.Items[i] = t.slice(r[0], r[1])
	}
	return l, nil
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

// split cuts a text at a separator, or at white space, at most limit times unless that is negative.
func (e *evaluator) split(t Text, separator *Text, limit int, fromRight bool) (Value, error) {
	if err := e.spend(4 * len(t.s)); err != nil {
		return nil, err
	}
	var ranges [][2]int
	switch {
	case separator == nil:
		ranges = words(t.s)
	case separator.s == "":
		return nil, errors.New("an empty separator")
	default:
		if err := cmp.Or(e.search(t.s, separator.s), e.search(t.s, separator.s)); err != nil {
			return nil, err
		}
		n := strings.Count(t.s, separator.s)
		if err := e.takeValues(n / 2); err != nil {
			return nil, err
		}
		ranges = fields(t.s, separator.s, fromRight)
	}
	if cuts := len(ranges) - 1; limit >= 0 && cuts > limit {
		if fromRight { // the rest is in front
			rest := ranges[cuts-limit]
			rest[0] = ranges[0][0]
			ranges = append([][2]int{rest}, ranges[cuts-limit+1:]...)
			if separator == nil {
				ranges[0][0] = 0
			}
		} else {
			end := len(t.s)
			ranges = ranges[:limit+1]
			ranges[limit][1] = end
		}
	}
	return e.parts(t, ranges)
}

// fields are the ranges between occurrences of a separator, which are looked for from the left or from the right.
func fields(s, separator string, fromRight bool) [][2]int {
	var out [][2]int
	if fromRight {
		to := len(s)
		for {
			i := strings.LastIndex(s[:to], separator)
			if i < 0 {
				break
			}
			out = append(out, [2]int{i + len(separator), to})
			to = i
		}
		out = append(out, [2]int{0, to})
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
		return out
	}
	from := 0
	for {
		i := strings.Index(s[from:], separator)
		if i < 0 {
			return append(out, [2]int{from, len(s)})
		}
		out = append(out, [2]int{from, from + i})
		from += i + len(separator)
	}
}

// words are the ranges between white space.
func words(s string) [][2]int {
	var out [][2]int
	from := -1
	for i, c := range s {
		switch space := isSpace(c); {
		case space && from >= 0:
			out = append(out, [2]int{from, i})
			from = -1
		case !space && from < 0:
			from = i
		}
	}
	if from >= 0 {
		out = append(out, [2]int{from, len(s)})
	}
	return out
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
	return int64(len(wordPattern.FindAllStringIndex(t.s, maxRange))), e.takeValues(len(t.s) / 4)
}

var wordPattern = regexp.MustCompile(`[\p{L}\p{N}_]+`)

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
