package jinja

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// str is Python's str(v); undefined is empty.
func (e *evaluator) str(v Value) (Text, error) {
	switch v := v.(type) {
	case Text:
		return v, nil
	case Undefined:
		return Text{}, nil
	}
	if n, ok := v.(*big.Int); ok {
		if err := e.take(n.BitLen()); err != nil { // thrice the digits
			return Text{}, err
		}
	}
	if s, ok := scalar(v); ok {
		return Text{s: s}, e.take(len(s) + valueBytes/2)
	}
	b := builder{m: &e.meter}
	if err := e.repr(&b, v, 0); err != nil {
		return Text{}, err
	}
	return b.text()
}

// scalar prints what has no parts.
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
func (e *evaluator) repr(b *builder, v Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("lists nested deeper than %d", maxDepth)
	}
	if err := e.spend(nodeWork); err != nil {
		return err
	}
	if s, ok := scalar(v); ok {
		if n, ok := v.(*big.Int); ok && b.err == nil {
			b.err = e.take(n.BitLen())
		}
		b.own(s)
		return b.err
	}
	switch v := v.(type) {
	case Text:
		return e.quote(b, v)
	case *List:
		return e.reprList(b, v, depth)
	case *Dict:
		return e.reprDict(b, v, depth)
	case *Namespace:
		b.own("<Namespace ")
		if err := e.reprDict(b, &v.values, depth+1); err != nil {
			return err
		}
		b.own(">")
		return b.err
	}
	return fmt.Errorf("%s cannot be printed", kindName(v))
}

// listForms are what stands around a list's items, by kind.
var listForms = [...][2]string{{"[", "]"}, {"(", ")"}, {"range(", ")"}, {"dict_view([", "])"}, {"<generator [", "]>"}}

func (e *evaluator) reprList(b *builder, l *List, depth int) error {
	items := l.Items
	if l.kind == aRange {
		items = rangeBounds(l)
	}
	b.own(listForms[l.kind][0])
	for i, item := range items {
		if i > 0 {
			b.own(", ")
		}
		if err := e.repr(b, item, depth+1); err != nil {
			return err
		}
	}
	if l.kind == aTuple && len(items) == 1 {
		b.own(",")
	}
	b.own(listForms[l.kind][1])
	return b.err
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

func (e *evaluator) reprDict(b *builder, d *Dict, depth int) error {
	b.own("{")
	for i, x := range d.entries {
		if i > 0 {
			b.own(", ")
		}
		if err := e.repr(b, x.key, depth+1); err != nil {
			return err
		}
		b.own(": ")
		if err := e.repr(b, x.value, depth+1); err != nil {
			return err
		}
	}
	b.own("}")
	return b.err
}

// quote writes a string literal: in single quotes, unless those occur in it and double ones do not.
func (e *evaluator) quote(b *builder, t Text) error {
	quote := "'"
	if strings.Contains(t.s, "'") && !strings.Contains(t.s, `"`) {
		quote = `"`
	}
	b.own(quote)
	if err := e.escape(b, t, func(r rune) string { return reprEscape(r, rune(quote[0])) }); err != nil {
		return err
	}
	b.own(quote)
	return b.err
}

// escape writes a text with some characters replaced; what takes the place of one keeps its origin. replace returns "" for
// characters that stay.
func (e *evaluator) escape(b *builder, t Text, replace func(r rune) string) error {
	if err := e.spend(8 * len(t.s)); err != nil {
		return err
	}
	for s, o := range t.Spans {
		start := 0
		for i := 0; i < len(s); {
			if c := s[i]; c >= 0x20 && c < 0x7f && c != '\'' && c != '"' && c != '\\' {
				i++
				continue
			}
			r, n := utf8.DecodeRuneInString(s[i:])
			if with := replace(r); with != "" {
				b.m.spend(2 * nodeWork) // a refusal is met again at the next write
				b.write(s[start:i], o)
				b.write(with, o)
				start = i + n
			}
			i += n
		}
		b.write(s[start:], o)
		if b.err != nil {
			return b.err
		}
	}
	return b.err
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
