package builtins

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// A format is read to a spec, and a spec prints a value and fills it up to its width. For example,
//
//	"…".format(value)    spec                                              text
//	{:>8.2f}  3.14159    align '>', width 8, precision 2, verb 'f'         "    3.14"
//	{:05d}    -42        fill "0", align '=', width 5, verb 'd'            "-0042"
//	{:,}      1234567    comma, verb 'd', align '>'                        "1,234,567"
//	{:^5}     "ab"       align '^', width 5, verb 's'                      " ab  "

// maxWidth bounds the width and the precision that a format asks for.
const maxWidth = 1000

// A spec is how a value is to be printed.
type spec struct {
	fill             string
	align            byte // '<', '>', '^', '=', or 0 for the type's own
	sign             byte // '+', ' ', or 0
	alternate, comma bool
	width, precision int // precision is negative if it is not given
	verb             byte
}

// atoi is the number that digits mean, or one that is too large.
func atoi(s string) int {
	if len(s) > 6 {
		return maxWidth + 1
	}
	n, _ := strconv.Atoi(s)
	return n
}

// formatted writes a value in the form that a spec asks for.
func (e *Environment) formatted(b *texts.Builder, s spec, v values.Value) error {
	if err := e.Spend(16 * texts.NodeWork); err != nil {
		return err
	}
	if s.verb == 's' {
		t, err := e.Str(v)
		if err != nil {
			return err
		}
		if s.precision >= 0 {
			t = t.Slice(0, texts.Offset(t.String(), s.precision))
		}
		return e.aligned(b, s, t, 0)
	}
	text, err := s.number(v)
	if err != nil {
		return err
	}
	sign := 0
	if c := texts.At(text, 0); c == '-' {
		sign = 1
	} else if s.sign != 0 {
		text, sign = string(s.sign)+text, 1
	}
	return e.aligned(b, s, texts.Own(text), sign)
}

// number prints a number.
func (s spec) number(v values.Value) (string, error) {
	x, ok := values.NumberOf(v)
	if !ok {
		return "", fmt.Errorf("%s where the format wants a number", values.KindName(v))
	}
	precision := s.precision
	if strings.IndexByte("feFEgG", s.verb) >= 0 {
		if precision < 0 {
			precision = 6
		}
		if precision == 0 && s.verb|0x20 == 'g' {
			precision = 1
		}
		verb := s.verb
		if verb == 'F' {
			verb = 'f'
		}
		return s.grouped(strings.TrimPrefix(strconv.FormatFloat(x.Float64(), verb, precision, 64), "+")), nil
	}
	if x.IsFloat {
		return "", errors.New("a float where the format wants an integer")
	}
	base := map[byte]int{'x': 16, 'X': 16, 'o': 8, 'b': 2}[s.verb]
	if base == 0 {
		base = 10
	}
	text := x.BigInt().Text(base)
	if s.verb == 'X' {
		text = strings.ToUpper(text)
	}
	if s.alternate && base != 10 {
		digits := strings.TrimPrefix(text, "-")
		text = text[:len(text)-len(digits)] + "0" + string(s.verb) + digits
	}
	return s.grouped(text), nil
}

// grouped puts commas between thousands, if asked.
func (s spec) grouped(text string) string {
	if !s.comma {
		return text
	}
	start := len(text) - len(strings.TrimPrefix(text, "-"))
	end := start + texts.Digits(text[start:], "0123456789")
	var b strings.Builder
	b.WriteString(text[:start])
	for i := start; i < end; i++ {
		if i > start && (end-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(text[i])
	}
	return b.String() + text[end:]
}

// aligned writes a text in its width; zeros go behind a sign.
func (e *Environment) aligned(b *texts.Builder, s spec, t texts.Text, sign int) error {
	n, err := e.Count(t)
	if err != nil {
		return err
	}
	pad := max(0, s.width-n)
	before, after := pad, 0
	switch s.align {
	case '<':
		before, after = 0, pad
	case '^':
		before, after = pad/2, pad-pad/2
	case '=':
		b.Part(t, 0, sign)
		t = t.Slice(sign, len(t.String()))
	}
	b.Own(strings.Repeat(s.fill, before))
	b.Add(t)
	b.Own(strings.Repeat(s.fill, after))
	return b.Err
}

// formatMethod is "…".format(values): {}, {0}, {name}, with a format behind a colon.
func formatMethod(e *Environment, v values.Value, a Args) (values.Value, error) {
	t := v.(texts.Text)
	b := e.Builder()
	auto := 0
	if err := e.Spend(4 * len(t.String())); err != nil {
		return nil, err
	}
	for at := 0; b.Err == nil; {
		i := strings.IndexAny(t.String()[at:], "{}")
		if i < 0 {
			b.Part(t, at, len(t.String()))
			break
		}
		b.Part(t, at, at+i)
		at += i
		if at+1 < len(t.String()) && t.String()[at] == t.String()[at+1] {
			b.Part(t, at, at+1)
			at += 2
			continue
		}
		n := strings.IndexByte(t.String()[at:], '}')
		if n < 1 {
			return nil, errors.New("a single { or } in the format")
		}
		field, form, _ := strings.Cut(t.String()[at+1:at+n], ":")
		at += n + 1
		if field == "" {
			field = strconv.Itoa(auto)
			auto++
		}
		value, err := a.field(field)
		if err != nil {
			return nil, err
		}
		s, err := formatSpec(form, value)
		if err != nil {
			return nil, err
		}
		if err := e.formatted(b, s, value); err != nil {
			return nil, err
		}
	}
	return b.Text()
}

// formatSpec reads [[fill]align][sign][#][0][width][,][.precision][type].
func formatSpec(text string, v values.Value) (spec, error) {
	s := spec{fill: " ", precision: -1, verb: 's'}
	rest := text
	if _, n := utf8.DecodeRuneInString(rest); n > 0 && n < len(rest) && strings.IndexByte("<>^=", rest[n]) >= 0 {
		s.fill, s.align, rest = rest[:n], rest[n], rest[n+1:]
	} else if rest != "" && strings.IndexByte("<>^=", rest[0]) >= 0 {
		s.align, rest = rest[0], rest[1:]
	}
	if c := texts.At(rest, 0); c == '+' || c == ' ' || c == '-' {
		if c != '-' {
			s.sign = c
		}
		rest = rest[1:]
	}
	if texts.At(rest, 0) == '#' {
		s.alternate, rest = true, rest[1:]
	}
	if texts.At(rest, 0) == '0' && s.align == 0 {
		s.fill, s.align = "0", '='
	}
	n := texts.Digits(rest, "0123456789")
	s.width, rest = atoi(rest[:n]), rest[n:]
	if texts.At(rest, 0) == ',' {
		s.comma, rest = true, rest[1:]
	}
	if texts.At(rest, 0) == '.' {
		k := texts.Digits(rest[1:], "0123456789")
		s.precision, rest = atoi(rest[1:1+k]), rest[1+k:]
	}
	x, isNumber := values.NumberOf(v)
	switch {
	case len(rest) == 1 && strings.IndexByte("sdfFeEgGxXob", rest[0]) >= 0:
		s.verb = rest[0]
	case rest != "":
		s.width = maxWidth + 1
	case isNumber && !x.IsFloat && !values.Is[bool](v):
		s.verb = 'd'
	case isNumber && x.IsFloat && s.precision >= 0:
		s.verb = 'g'
	}
	if s.width > maxWidth || s.precision > maxWidth || s.verb == 'd' && x.IsFloat {
		return s, fmt.Errorf("the format %.20q is not supported for %s", text, values.KindName(v))
	}
	if s.align == 0 {
		s.align = '<'
		if isNumber && !values.Is[bool](v) {
			s.align = '>'
		}
	}
	return s, nil
}
