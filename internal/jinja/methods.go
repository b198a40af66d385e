package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// methodsOf returns the methods of a value, by name.
func methodsOf(v Value) map[string]*builtin {
	switch v := v.(type) {
	case Text:
		return textMethods
	case *Dict:
		return dictMethods
	case *List:
		if v.Kind <= values.Range {
			return listMethods
		}
	}
	return nil
}

var textMethods = map[string]*builtin{
	"capitalize":   {do: onText(capitalize)},
	"casefold":     {do: onText(lower)},
	"center":       {names: []string{"width", "fillchar"}, need: 1, do: padded(true, true)},
	"count":        {names: []string{"sub", "start", "end"}, need: 1, do: countIn},
	"endswith":     {names: []string{"suffix", "start", "end"}, need: 1, do: affix(strings.HasSuffix)},
	"find":         {names: []string{"sub", "start", "end"}, need: 1, do: find(strings.Index, false)},
	"format":       {rest: true, do: formatMethod},
	"index":        {names: []string{"sub", "start", "end"}, need: 1, do: find(strings.Index, true)},
	"isalnum":      {do: everyRune(func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) })},
	"isalpha":      {do: everyRune(unicode.IsLetter)},
	"isascii":      {do: isASCII},
	"isdecimal":    {do: everyRune(unicode.IsDigit)},
	"isdigit":      {do: everyRune(func(c rune) bool { return unicode.IsDigit(c) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹", c) })},
	"islower":      {do: cased(unicode.IsLower, unicode.IsUpper)},
	"isnumeric":    {do: everyRune(unicode.IsNumber)},
	"isspace":      {do: everyRune(texts.IsSpace)},
	"isupper":      {do: cased(unicode.IsUpper, unicode.IsLower)},
	"join":         {names: []string{"iterable"}, need: 1, do: joinMethod},
	"ljust":        {names: []string{"width", "fillchar"}, need: 1, do: padded(false, true)},
	"lower":        {do: onText(lower)},
	"lstrip":       {names: []string{"chars"}, do: onText(strip(true, false))},
	"partition":    {names: []string{"sep"}, need: 1, do: partition(strings.Index, false)},
	"removeprefix": {names: []string{"prefix"}, need: 1, do: remover(true)},
	"removesuffix": {names: []string{"suffix"}, need: 1, do: remover(false)},
	"replace":      {names: []string{"old", "new", "count"}, need: 2, do: onText(replace)},
	"rfind":        {names: []string{"sub", "start", "end"}, need: 1, do: find(strings.LastIndex, false)},
	"rindex":       {names: []string{"sub", "start", "end"}, need: 1, do: find(strings.LastIndex, true)},
	"rjust":        {names: []string{"width", "fillchar"}, need: 1, do: padded(true, false)},
	"rpartition":   {names: []string{"sep"}, need: 1, do: partition(strings.LastIndex, true)},
	"rsplit":       {names: []string{"sep", "maxsplit"}, do: splitMethod(true)},
	"rstrip":       {names: []string{"chars"}, do: onText(strip(false, true))},
	"split":        {names: []string{"sep", "maxsplit"}, do: splitMethod(false)},
	"splitlines":   {names: []string{"keepends"}, do: splitLines},
	"startswith":   {names: []string{"prefix", "start", "end"}, need: 1, do: affix(strings.HasPrefix)},
	"strip":        {names: []string{"chars"}, do: onText(strip(true, true))},
	"swapcase":     {do: onText(swapCase)},
	"title":        {do: onText(titleMethod)},
	"upper":        {do: onText(upper)},
	"zfill":        {names: []string{"width"}, need: 1, do: zeroFill},
}

var dictMethods = map[string]*builtin{
	"copy":  {do: func(e *evaluator, v Value, _ args) (Value, error) { return makeDict(e, args{values: []Value{v}}) }},
	"get":   {names: []string{"key", "default"}, need: 1, do: getMethod},
	"items": {do: itemsMethod},
	"keys": {do: func(e *evaluator, v Value, _ args) (Value, error) {
		return v.(*Dict).Keys(), e.TakeValues(len(v.(*Dict).Entries) / 4)
	}},
	"values": {do: func(e *evaluator, v Value, _ args) (Value, error) {
		return v.(*Dict).View(func(x values.Entry) Value { return x.Value }), e.TakeValues(len(v.(*Dict).Entries) / 4)
	}},
	"clear": changes, "pop": changes, "popitem": changes, "setdefault": changes, "update": changes,
}

var listMethods = map[string]*builtin{
	"copy":   {do: toList},
	"count":  {names: []string{"value"}, need: 1, do: countItems},
	"index":  {names: []string{"value", "start", "stop"}, need: 1, do: indexOf},
	"append": changes, "clear": changes, "extend": changes, "insert": changes, "pop": changes, "remove": changes,
	"reverse": changes, "sort": changes,
}

// changes is a method that would change its value.
var changes = &builtin{rest: true, do: func(*evaluator, Value, args) (Value, error) {
	return nil, errors.New("a chat template cannot change a value")
}}

func onText(do func(e *evaluator, t Text, a args) (Value, error)) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, a args) (Value, error) {
		if err := e.Take(texts.ValueBytes); err != nil { // for what it returns
			return nil, err
		}
		return do(e, v.(Text), a)
	}
}

// getMethod is d.get(key, default).
func getMethod(e *evaluator, v Value, a args) (Value, error) {
	if _, ok := values.Identity(a.or(0, nil)); !ok {
		return nil, fmt.Errorf("%s cannot be a key", values.KindName(a.or(0, nil)))
	}
	value, ok, err := e.LookUp(v.(*Dict), a.or(0, nil))
	if !ok && err == nil {
		value = a.or(1, nil)
	}
	return value, err
}

func itemsMethod(e *evaluator, v Value, _ args) (Value, error) {
	items, err := e.Pairs(v.(*Dict))
	return values.ListOf(values.View, items), err
}

// window returns the part of a text that the arguments start and end leave, and the byte at which it begins.
func (e *evaluator) window(t Text, a args) (string, int, error) {
	if a.or(1, nil) == nil && a.or(2, nil) == nil {
		return t.String(), 0, nil
	}
	n, err := e.Count(t)
	if err != nil {
		return "", 0, err
	}
	for i := 1; i < 3; i++ {
		if _, ok := values.Index(a.or(i, nil)); !ok && a.or(i, nil) != nil {
			return "", 0, fmt.Errorf("argument %d is %s, not an integer", i+1, values.KindName(a.or(i, nil)))
		}
	}
	from, count, _, err := values.SliceBounds([3]Value{a.or(1, nil), a.or(2, nil), nil}, n)
	if err != nil {
		return "", 0, err
	}
	start, end, err := e.Meter.Window(t.String(), n, from, count)
	return t.String()[start:end], start, err
}

// find is find, index and those from the right.
func find(search func(s, part string) int, must bool) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, a args) (Value, error) {
		t := v.(Text)
		part, err := a.text(0)
		if err != nil {
			return nil, err
		}
		s, start, err := e.window(t, a)
		if err != nil {
			return nil, err
		}
		if err := cmp.Or(e.Search(s, part.String()), e.Spend(start+len(s))); err != nil {
			return nil, err
		}
		i := search(s, part.String())
		switch {
		case i >= 0:
			return int64(utf8.RuneCountInString(t.String()[:start+i])), nil
		case must:
			return nil, errors.New("no such part")
		}
		return int64(-1), nil
	}
}

func countIn(e *evaluator, v Value, a args) (Value, error) {
	part, err := a.text(0)
	if err != nil {
		return nil, err
	}
	s, _, err := e.window(v.(Text), a)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(e.Search(s, part.String()), e.Spend(2*len(s))); err != nil {
		return nil, err
	}
	return int64(strings.Count(s, part.String())), nil
}

// affix is startswith and endswith, of one text or of any in a tuple.
func affix(holds func(s, part string) bool) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, a args) (Value, error) {
		s, _, err := e.window(v.(Text), a)
		if err != nil {
			return nil, err
		}
		candidates := []Value{a.or(0, nil)}
		if l, ok := a.or(0, nil).(*List); ok && l.Kind == values.Tuple {
			candidates = l.Items
		}
		for _, c := range candidates {
			part, ok := c.(Text)
			if !ok {
				return nil, fmt.Errorf("%s is no string", values.KindName(c))
			}
			if err := e.Skim(texts.NodeWork + len(part.String())); err != nil {
				return nil, err
			}
			if holds(s, part.String()) {
				return true, nil
			}
		}
		return false, nil
	}
}

func remover(prefix bool) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, a args) (Value, error) {
		t := v.(Text)
		part, err := a.text(0)
		if err != nil {
			return nil, err
		}
		from, to := 0, len(t.String())
		if prefix && strings.HasPrefix(t.String(), part.String()) {
			from = len(part.String())
		} else if !prefix && strings.HasSuffix(t.String(), part.String()) {
			to -= len(part.String())
		}
		if err := e.Skim(len(part.String())); err != nil {
			return nil, err
		}
		return e.Cut(t, from, to)
	}
}

// partition cuts a text in three at a separator.
func partition(search func(s, part string) int, fromRight bool) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, a args) (Value, error) {
		t := v.(Text)
		separator, err := a.text(0)
		if err == nil && separator.String() == "" {
			err = errors.New("an empty separator")
		}
		if err != nil {
			return nil, err
		}
		if err := e.Search(t.String(), separator.String()); err != nil {
			return nil, err
		}
		i := search(t.String(), separator.String())
		cuts := []int{0, i, i + len(separator.String()), len(t.String())}
		switch {
		case i < 0 && fromRight:
			cuts = []int{0, 0, 0, len(t.String())}
		case i < 0:
			cuts = []int{0, len(t.String()), len(t.String()), len(t.String())}
		}
		l := values.NewTuple()
		for k := range 3 {
			part, err := e.Cut(t, cuts[k], cuts[k+1])
			if err != nil {
				return nil, err
			}
			l.Items = append(l.Items, part)
		}
		return l, nil
	}
}

func splitMethod(fromRight bool) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, a args) (Value, error) {
		var separator *Text
		if a.or(0, nil) != nil {
			s, err := a.text(0)
			if err != nil {
				return nil, err
			}
			separator = &s
		}
		limit, err := a.integer(1, -1)
		if err != nil {
			return nil, err
		}
		return e.split(v.(Text), separator, limit, fromRight)
	}
}

func joinMethod(e *evaluator, v Value, a args) (Value, error) {
	items, err := e.Items(a.or(0, nil))
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if _, ok := item.(Text); !ok {
			return nil, fmt.Errorf("%s among the strings", values.KindName(item))
		}
	}
	return e.join(items, v.(Text))
}

func padded(left, right bool) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, a args) (Value, error) {
		width, err := a.integer(0, 0)
		if err != nil {
			return nil, err
		}
		fill, ok := a.or(1, texts.Own(" ")).(Text)
		if !ok || utf8.RuneCountInString(fill.String()[:min(len(fill.String()), 8)]) != 1 {
			return nil, errors.New("the character to fill with is one character")
		}
		return centred(e, v.(Text), width, fill, left, right)
	}
}

func zeroFill(e *evaluator, v Value, a args) (Value, error) {
	t := v.(Text)
	width, err := a.integer(0, 0)
	if err != nil {
		return nil, err
	}
	sign := 0
	if c := texts.At(t.String(), 0); c == '+' || c == '-' {
		sign = 1
	}
	filled, err := centred(e, t.Slice(sign, len(t.String())), width-sign, texts.Own("0"), true, false)
	if err != nil {
		return nil, err
	}
	return e.Concat(Text{}, t.Slice(0, sign), filled.(Text))
}

// everyRune reports whether a string is not empty and each of its characters is of a kind.
func everyRune(kind func(rune) bool) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, _ args) (Value, error) {
		s := v.(Text).String()
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return !kind(c) }) < 0, e.Spend(16 * len(s))
	}
}

func isASCII(e *evaluator, v Value, _ args) (Value, error) {
	s := v.(Text).String()
	return strings.IndexFunc(s, func(c rune) bool { return c >= utf8.RuneSelf }) < 0, e.Spend(2 * len(s))
}

// cased reports whether a string has letters of one case and none of the other.
func cased(kind, other func(rune) bool) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, _ args) (Value, error) {
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

func countItems(e *evaluator, v Value, a args) (Value, error) {
	n := int64(0)
	for _, item := range v.(*List).Items {
		same, err := e.Equal(item, a.or(0, nil), 0)
		if err != nil {
			return nil, err
		}
		if same {
			n++
		}
	}
	return n, nil
}

func indexOf(e *evaluator, v Value, a args) (Value, error) {
	items := v.(*List).Items
	from, err := a.integer(1, 0)
	if err != nil {
		return nil, err
	}
	to, err := a.integer(2, len(items))
	if err != nil {
		return nil, err
	}
	from, n, _, _ := values.SliceBounds([3]Value{int64(from), int64(to), nil}, len(items))
	for i, item := range items[from : from+n] {
		same, err := e.Equal(item, a.or(0, nil), 0)
		if same || err != nil {
			return int64(from + i), err
		}
	}
	return nil, errors.New("no such item")
}
