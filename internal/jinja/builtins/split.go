package builtins

import (
	"cmp"
	"errors"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// lineBreaks are the ranges of the line breaks that Python's splitlines knows.
func lineBreaks(s string) [][2]int {
	var out [][2]int
	for i, c := range s {
		switch c {
		case '\r':
			if texts.At(s, i+1) == '\n' {
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
func (e *Environment) breaksOf(t texts.Text) ([][2]int, error) {
	if err := e.Spend(4 * len(t.String())); err != nil {
		return nil, err
	}
	n := strings.Count(t.String(), "\n") + strings.Count(t.String(), "\r") + strings.Count(t.String(), "\v") + strings.Count(t.String(), "\f") +
		strings.Count(t.String(), "\x1c") + strings.Count(t.String(), "\x1d") + strings.Count(t.String(), "\x1e") + strings.Count(t.String(), "\u0085") +
		strings.Count(t.String(), "\u2028") + strings.Count(t.String(), "\u2029")
	if err := e.Take(texts.ValueBytes * n); err != nil {
		return nil, err
	}
	return lineBreaks(t.String()), nil
}

func splitLines(e *Environment, v values.Value, a Args) (values.Value, error) {
	t := v.(texts.Text)
	breaks, err := e.breaksOf(t)
	if err != nil {
		return nil, err
	}
	keep := values.IsTrue(a.or(0, false))
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
	if from < len(t.String()) {
		ranges = append(ranges, [2]int{from, len(t.String())})
	}
	return e.parts(t, ranges)
}

// parts is a list of ranges of a text.
func (e *Environment) parts(t texts.Text, ranges [][2]int) (values.Value, error) {
	if err := e.TakeValues(len(ranges) + (t.Bytes()-len(t.String()))/texts.ValueBytes); err != nil {
		return nil, err
	}
	l := &values.List{Items: make([]values.Value, len(ranges))}
	for i, r := range ranges {
		l.Items[i] = t.Slice(r[0], r[1])
	}
	return l, nil
}

// split cuts a text at a separator, or at white space, at most limit times unless that is negative.
func (e *Environment) split(t texts.Text, separator *texts.Text, limit int, fromRight bool) (values.Value, error) {
	if err := e.Spend(4 * len(t.String())); err != nil {
		return nil, err
	}
	var ranges [][2]int
	switch {
	case separator == nil:
		n := 0
		for range words(t.String()) {
			n++
		}
		if err := e.TakeValues(n / 2); err != nil {
			return nil, err
		}
		ranges = make([][2]int, 0, n)
		for from, to := range words(t.String()) {
			ranges = append(ranges, [2]int{from, to})
		}
	case separator.String() == "":
		return nil, errors.New("an empty separator")
	default:
		if err := cmp.Or(e.Search(t.String(), separator.String()), e.Search(t.String(), separator.String())); err != nil {
			return nil, err
		}
		n := strings.Count(t.String(), separator.String())
		if err := e.TakeValues(n / 2); err != nil {
			return nil, err
		}
		ranges = fields(make([][2]int, 0, n+1), t.String(), separator.String(), fromRight)
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
			end := len(t.String())
			ranges = ranges[:limit+1]
			ranges[limit][1] = end
		}
	}
	return e.parts(t, ranges)
}

// fields appends the ranges between occurrences of a separator, which are looked for from the left or from the right.
func fields(out [][2]int, s, separator string, fromRight bool) [][2]int {
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

// words yields the ranges between white space.
func words(s string) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		from := -1
		for i, c := range s {
			switch space := texts.IsSpace(c); {
			case space && from >= 0:
				if !yield(from, i) {
					return
				}
				from = -1
			case !space && from < 0:
				from = i
			}
		}
		if from >= 0 {
			yield(from, len(s))
		}
	}
}
