package values

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// Values are printed as Python prints them: str is for output, and repr for values within lists and dictionaries, where strings have
// quotes.
//
//	{{ "a" }}                 a
//	{{ [1.0, "a", true] }}    [1.0, 'a', True]

// formatFloat is Python's repr of a float: the shortest digits that read back, with an exponent outside of 1e-4 … 1e16.
func formatFloat(f float64) string {
	switch a := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64), "+"))
	case a != 0 && (a < 1e-4 || a >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// Str is Python's str(v); undefined is empty.
func (r *Runtime) Str(v Value) (texts.Text, error) {
	switch v := v.(type) {
	case texts.Text:
		return v, nil
	case Undefined:
		return texts.Text{}, nil
	}
	if n, ok := v.(*big.Int); ok {
		if err := r.Take(n.BitLen()); err != nil { // thrice the digits
			return texts.Text{}, err
		}
	}
	if s, ok := scalar(v); ok {
		return texts.Own(s), r.Take(len(s) + texts.ValueBytes/2)
	}
	b := r.Builder()
	if err := r.repr(b, v, 0); err != nil {
		return texts.Text{}, err
	}
	return b.Text()
}

// scalar prints values without parts.
func scalar(v Value) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "None", true
	case bool:
		if v {
			return "True", true
		}
		return "False", true
	case int64:
		return strconv.FormatInt(v, 10), true
	case *big.Int:
		return v.String(), true
	case float64:
		return formatFloat(v), true
	case Undefined:
		return "Undefined", true
	}
	return "", false
}

// repr writes Python's repr(v).
func (r *Runtime) repr(b *texts.Builder, v Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("lists nested deeper than %d", maxDepth)
	}
	if err := r.Spend(texts.NodeWork); err != nil {
		return err
	}
	if s, ok := scalar(v); ok {
		if n, ok := v.(*big.Int); ok && b.Err == nil {
			b.Err = r.Take(n.BitLen())
		}
		b.Own(s)
		return b.Err
	}
	switch v := v.(type) {
	case texts.Text:
		return r.quote(b, v)
	case *List:
		return r.reprList(b, v, depth)
	case *Dict:
		return r.reprDict(b, v, depth)
	case *Namespace:
		b.Own("<Namespace ")
		if err := r.reprDict(b, &v.Values, depth+1); err != nil {
			return err
		}
		b.Own(">")
		return b.Err
	}
	return fmt.Errorf("%s cannot be printed", KindName(v))
}

// listForms are the signs around a list's items, by kind.
var listForms = [...][2]string{{"[", "]"}, {"(", ")"}, {"range(", ")"}, {"dict_view([", "])"}, {"<generator [", "]>"}}

func (r *Runtime) reprList(b *texts.Builder, l *List, depth int) error {
	items := l.Items
	if l.Kind == Range {
		items = rangeBounds(l)
	}
	b.Own(listForms[l.Kind][0])
	for i, item := range items {
		if i > 0 {
			b.Own(", ")
		}
		if err := r.repr(b, item, depth+1); err != nil {
			return err
		}
	}
	if l.Kind == Tuple && len(items) == 1 {
		b.Own(",")
	}
	b.Own(listForms[l.Kind][1])
	return b.Err
}

// rangeBounds are the arguments of a range() with these items.
func rangeBounds(l *List) []Value {
	n := len(l.Items)
	if n == 0 {
		return []Value{int64(0), int64(0)}
	}
	first := l.Items[0].(int64)
	if n == 1 {
		return []Value{first, first + 1}
	}
	by := l.Items[1].(int64) - first
	out := []Value{first, first + by*int64(n), by}
	if by == 1 {
		out = out[:2]
	}
	return out
}

func (r *Runtime) reprDict(b *texts.Builder, d *Dict, depth int) error {
	b.Own("{")
	for i, x := range d.Entries {
		if i > 0 {
			b.Own(", ")
		}
		if err := r.repr(b, x.Key, depth+1); err != nil {
			return err
		}
		b.Own(": ")
		if err := r.repr(b, x.Value, depth+1); err != nil {
			return err
		}
	}
	b.Own("}")
	return b.Err
}

// quote writes a string literal: in single quotes, unless those occur in it and double ones do not.
func (r *Runtime) quote(b *texts.Builder, t texts.Text) error {
	quote := "'"
	if strings.Contains(t.String(), "'") && !strings.Contains(t.String(), `"`) {
		quote = `"`
	}
	b.Own(quote)
	if err := r.escape(b, t, func(r rune) string { return reprEscape(r, rune(quote[0])) }); err != nil {
		return err
	}
	b.Own(quote)
	return b.Err
}

// escape writes a text with some characters replaced; what takes the place of one keeps its origin. replace returns "" for
// characters that stay.
func (r *Runtime) escape(b *texts.Builder, t texts.Text, replace func(char rune) string) error {
	if err := r.Spend(8 * len(t.String())); err != nil {
		return err
	}
	for s, o := range t.Spans {
		start := 0
		for i := 0; i < len(s); {
			if c := s[i]; c >= 0x20 && c < 0x7f && c != '\'' && c != '"' && c != '\\' {
				i++
				continue
			}
			char, n := utf8.DecodeRuneInString(s[i:])
			if with := replace(char); with != "" {
				r.Spend(2 * texts.NodeWork) // a refusal is met again at the next write
				b.Write(s[start:i], o)
				b.Write(with, o)
				start = i + n
			}
			i += n
		}
		b.Write(s[start:], o)
		if b.Err != nil {
			return b.Err
		}
	}
	return b.Err
}

func reprEscape(r, quote rune) string {
	switch r {
	case '\\', quote:
		return `\` + string(r)
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	switch {
	case r < 0x20 || r == 0x7f || 0x80 <= r && r <= 0xff && !unicode.IsPrint(r):
		return fmt.Sprintf(`\x%02x`, r)
	case r == '\ufffd' || unicode.IsPrint(r):
		return ""
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}
