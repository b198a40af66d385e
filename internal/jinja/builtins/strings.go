package builtins

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// Functions over strings keep the origin of each byte: upper maps the parts of a text one by one, and replace puts parts of the text and of
// the replacement together. For example, if the caller's name is "Bo",
//
//	expression                    the template's bytes    the caller's bytes
//	("Hi " ~ name)|upper          "HI "                   "BO"
//	"Hi X!"|replace("X", name)    "Hi ", "!"              "Bo"

func upper(e *Environment, t texts.Text, _ Args) (values.Value, error) {
	return e.Mapped(t, strings.ToUpper)
}

func lower(e *Environment, t texts.Text, _ Args) (values.Value, error) {
	return e.Mapped(t, strings.ToLower)
}

func capitalize(e *Environment, t texts.Text, _ Args) (values.Value, error) {
	started := false
	return e.Mapped(t, func(s string) string {
		n := 0
		if !started {
			n = texts.Offset(s, 1)
		}
		started = true
		return strings.ToUpper(s[:n]) + strings.ToLower(s[n:])
	})
}

// titled makes the first letter of each word a capital, and the others small.
func titled(isBreak func(rune) bool) func(*Environment, texts.Text, Args) (values.Value, error) {
	return func(e *Environment, t texts.Text, _ Args) (values.Value, error) {
		inWord := false
		return e.Mapped(t, func(s string) string {
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
	titleFilter = titled(func(c rune) bool { return texts.IsSpace(c) || strings.ContainsRune("-({[<", c) })
	titleMethod = titled(func(c rune) bool { return !unicode.IsLetter(c) })
)

func swapCase(e *Environment, t texts.Text, _ Args) (values.Value, error) {
	if err := e.Spend(16 * len(t.String())); err != nil {
		return nil, err
	}
	return e.Mapped(t, func(s string) string {
		return strings.Map(func(c rune) rune {
			if unicode.IsUpper(c) {
				return unicode.ToLower(c)
			}
			return unicode.ToUpper(c)
		}, s)
	})
}

// strip drops characters from the sides: those of the first argument, or white space.
func strip(left, right bool) func(*Environment, texts.Text, Args) (values.Value, error) {
	return func(e *Environment, t texts.Text, a Args) (values.Value, error) {
		drop := texts.IsSpace
		if a.or(0, nil) != nil {
			cut, err := a.text(0)
			if err != nil {
				return nil, err
			}
			if err := e.Take(16 * len(cut.String())); err != nil {
				return nil, err
			}
			set := make(map[rune]bool, len(cut.String()))
			for _, c := range cut.String() {
				set[c] = true
			}
			drop = func(c rune) bool { return set[c] }
			if err := e.Spend(16 * len(t.String())); err != nil {
				return nil, err
			}
		}
		if err := e.Spend(2 * len(t.String())); err != nil {
			return nil, err
		}
		from, to := 0, len(t.String())
		if left {
			from = len(t.String()) - len(strings.TrimLeftFunc(t.String(), drop))
		}
		if right {
			to = max(from, len(strings.TrimRightFunc(t.String(), drop)))
		}
		return e.Cut(t, from, to)
	}
}

func replaceFilter(e *Environment, v values.Value, a Args) (values.Value, error) {
	t, err := e.Str(v)
	if err != nil {
		return nil, err
	}
	for i := range 2 { // the filter makes strings of its arguments
		if a.Values[i], err = e.Str(a.Values[i]); err != nil {
			return nil, err
		}
	}
	return replace(e, t, a)
}

func replace(e *Environment, t texts.Text, a Args) (values.Value, error) {
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
	if err := cmp.Or(e.Search(t.String(), old.String()), e.Spend(len(t.String()))); err != nil {
		return nil, err
	}
	b := e.Builder()
	at := 0
	if old.String() == "" { // between all characters
		for i := 0; b.Err == nil && limit != 0; limit-- {
			b.Add(with)
			n := texts.Offset(t.String()[i:], 1)
			b.Part(t, i, i+n)
			if i, at = i+n, i+n; n == 0 {
				break
			}
		}
	}
	for old.String() != "" && limit != 0 && b.Err == nil {
		i := strings.Index(t.String()[at:], old.String())
		if i < 0 {
			break
		}
		b.Part(t, at, at+i)
		b.Add(with)
		at += i + len(old.String())
		limit--
	}
	b.Part(t, at, len(t.String()))
	return b.Text()
}

// indent puts a margin before each line but the first, and before that one if asked; not before empty ones unless asked.
func indent(e *Environment, t texts.Text, a Args) (values.Value, error) {
	margin, ok := a.or(0, int64(4)).(texts.Text)
	if !ok {
		width, err := a.integer(0, 4)
		if err != nil {
			return nil, err
		}
		if width > maxIndent {
			return nil, fmt.Errorf("%d columns; at most %d", width, maxIndent)
		}
		margin = texts.Own(strings.Repeat(" ", max(0, width)))
	}
	breaks, err := e.breaksOf(t)
	if err != nil {
		return nil, err
	}
	first, blank := values.IsTrue(a.or(1, false)), values.IsTrue(a.or(2, false))
	b := e.Builder()
	from := 0
	for i := 0; i <= len(breaks) && b.Err == nil; i++ {
		to, next := len(t.String()), len(t.String())
		if i < len(breaks) {
			to, next = breaks[i][0], breaks[i][1]
		}
		if i == 0 && first || i > 0 && (blank || to > from) {
			b.Add(margin)
		}
		b.Part(t, from, to)
		if next > to {
			b.Write("\n", t.OriginAt(to))
		}
		from = next
	}
	return b.Text()
}

func truncate(e *Environment, t texts.Text, a Args) (values.Value, error) {
	size, err := a.integer(0, 255)
	if err != nil {
		return nil, err
	}
	end := texts.Own("...")
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
	n, err := e.Count(t)
	if err != nil {
		return nil, err
	}
	tail, err := e.Count(end)
	switch {
	case err != nil:
		return nil, err
	case size < tail || leeway < 0:
		return nil, fmt.Errorf("to %d characters with an end of %d", size, tail)
	case n <= size+leeway:
		return t, nil
	}
	to := texts.Offset(t.String(), size-tail)
	if !values.IsTrue(a.or(1, false)) {
		if i := strings.LastIndexByte(t.String()[:to], ' '); i >= 0 {
			to = i
		}
	}
	return e.Concat(texts.Text{}, t.Slice(0, to), end)
}

func wordCount(e *Environment, t texts.Text, _ Args) (values.Value, error) {
	if err := e.Spend(64 * len(t.String())); err != nil {
		return nil, err
	}
	n, inWord := 0, false
	for _, c := range t.String() {
		word := c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c)
		if word && !inWord {
			n++
		}
		inWord = word
	}
	return int64(n), nil
}

// centred pads a text to a width.
func centred(e *Environment, t texts.Text, width int, fill texts.Text, left, right bool) (values.Value, error) {
	n, err := e.Count(t)
	if err != nil {
		return nil, err
	}
	pad := max(0, width-n)
	before, after := 0, pad
	switch {
	case left && right:
		before = pad / 2
		if pad&width&1 == 1 { // as Python divides odd numbers
			before++
		}
		after = pad - before
	case left:
		before, after = pad, 0
	}
	front, err := e.Repeat(fill, before)
	if err != nil {
		return nil, err
	}
	back, err := e.Repeat(fill, after)
	if err != nil {
		return nil, err
	}
	return e.Concat(texts.Text{}, front, t, back)
}

func centerFilter(e *Environment, v values.Value, a Args) (values.Value, error) {
	t, err := e.Str(v)
	if err != nil {
		return nil, err
	}
	width, err := a.integer(0, 80)
	if err != nil {
		return nil, err
	}
	return centred(e, t, width, texts.Own(" "), true, true)
}

// cased reports whether a string has letters of one case and no letters of the other.
func cased(kind, other func(rune) bool) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, _ Args) (values.Value, error) {
		t, err := e.Str(v)
		if err != nil {
			return nil, err
		}
		if err := e.Spend(16 * len(t.String())); err != nil {
			return nil, err
		}
		return strings.IndexFunc(t.String(), kind) >= 0 && strings.IndexFunc(t.String(), other) < 0, nil
	}
}

// maxIndent bounds an indentation that is given as a number.
const maxIndent = 1000
