package builtins

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

// The methods of strings, dictionaries and lists are tables by name. An entry has the names of the arguments, how many are needed, and the
// function. Arguments are put in the order of the names, whether they come by place or by name. Texts keep the origin of their bytes. For
// example, "a,b,c".split(",", maxsplit=1) goes so:
//
//	MethodsOf("a,b,c")     TextMethods
//	TextMethods["split"]   Names sep, maxsplit; Need 0
//	arguments              ",", 1
//	Do                     ["a", "b,c"]
//
// Methods that would change a list or a dictionary are in the tables too, and are errors.

// MethodsOf returns the methods of a value, by name.
func MethodsOf(v values.Value) map[string]*Builtin {
	switch v := v.(type) {
	case texts.Text:
		return TextMethods
	case *values.Dict:
		return DictMethods
	case *values.List:
		if v.Kind <= values.Range {
			return ListMethods
		}
	}
	return nil
}

// TextMethods are the methods of strings, by name. They are not changed.
var TextMethods = map[string]*Builtin{
	"capitalize":   {Do: onText(capitalize)},
	"casefold":     {Do: onText(lower)},
	"center":       {Names: []string{"width", "fillchar"}, Need: 1, Do: padded(true, true)},
	"count":        {Names: []string{"sub", "start", "end"}, Need: 1, Do: countIn},
	"endswith":     {Names: []string{"suffix", "start", "end"}, Need: 1, Do: affix(strings.HasSuffix)},
	"find":         {Names: []string{"sub", "start", "end"}, Need: 1, Do: find(strings.Index, false)},
	"format":       {Rest: true, Do: formatMethod},
	"index":        {Names: []string{"sub", "start", "end"}, Need: 1, Do: find(strings.Index, true)},
	"isalnum":      {Do: everyRune(func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) })},
	"isalpha":      {Do: everyRune(unicode.IsLetter)},
	"isascii":      {Do: isASCII},
	"isdecimal":    {Do: everyRune(unicode.IsDigit)},
	"isdigit":      {Do: everyRune(func(c rune) bool { return unicode.IsDigit(c) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹", c) })},
	"islower":      {Do: cased(unicode.IsLower, unicode.IsUpper)},
	"isnumeric":    {Do: everyRune(unicode.IsNumber)},
	"isspace":      {Do: everyRune(texts.IsSpace)},
	"isupper":      {Do: cased(unicode.IsUpper, unicode.IsLower)},
	"join":         {Names: []string{"iterable"}, Need: 1, Do: joinMethod},
	"ljust":        {Names: []string{"width", "fillchar"}, Need: 1, Do: padded(false, true)},
	"lower":        {Do: onText(lower)},
	"lstrip":       {Names: []string{"chars"}, Do: onText(strip(true, false))},
	"partition":    {Names: []string{"sep"}, Need: 1, Do: partition(strings.Index, false)},
	"removeprefix": {Names: []string{"prefix"}, Need: 1, Do: remover(true)},
	"removesuffix": {Names: []string{"suffix"}, Need: 1, Do: remover(false)},
	"replace":      {Names: []string{"old", "new", "count"}, Need: 2, Do: onText(replace)},
	"rfind":        {Names: []string{"sub", "start", "end"}, Need: 1, Do: find(strings.LastIndex, false)},
	"rindex":       {Names: []string{"sub", "start", "end"}, Need: 1, Do: find(strings.LastIndex, true)},
	"rjust":        {Names: []string{"width", "fillchar"}, Need: 1, Do: padded(true, false)},
	"rpartition":   {Names: []string{"sep"}, Need: 1, Do: partition(strings.LastIndex, true)},
	"rsplit":       {Names: []string{"sep", "maxsplit"}, Do: splitMethod(true)},
	"rstrip":       {Names: []string{"chars"}, Do: onText(strip(false, true))},
	"split":        {Names: []string{"sep", "maxsplit"}, Do: splitMethod(false)},
	"splitlines":   {Names: []string{"keepends"}, Do: splitLines},
	"startswith":   {Names: []string{"prefix", "start", "end"}, Need: 1, Do: affix(strings.HasPrefix)},
	"strip":        {Names: []string{"chars"}, Do: onText(strip(true, true))},
	"swapcase":     {Do: onText(swapCase)},
	"title":        {Do: onText(titleMethod)},
	"upper":        {Do: onText(upper)},
	"zfill":        {Names: []string{"width"}, Need: 1, Do: zeroFill},
}

// DictMethods are the methods of dictionaries, by name. They are not changed.
var DictMethods = map[string]*Builtin{
	"copy": {Do: func(e *Environment, v values.Value, _ Args) (values.Value, error) {
		return makeDict(e, Args{Values: []values.Value{v}})
	}},
	"get":   {Names: []string{"key", "default"}, Need: 1, Do: getMethod},
	"items": {Do: itemsMethod},
	"keys": {Do: func(e *Environment, v values.Value, _ Args) (values.Value, error) {
		return v.(*values.Dict).Keys(), e.TakeValues(len(v.(*values.Dict).Entries) / 4)
	}},
	"values": {Do: func(e *Environment, v values.Value, _ Args) (values.Value, error) {
		return v.(*values.Dict).View(func(x values.Entry) values.Value { return x.Value }), e.TakeValues(len(v.(*values.Dict).Entries) / 4)
	}},
	"clear": changes, "pop": changes, "popitem": changes, "setdefault": changes, "update": changes,
}

// ListMethods are the methods of lists, tuples and ranges, by name. They are not changed.
var ListMethods = map[string]*Builtin{
	"copy":   {Do: toList},
	"count":  {Names: []string{"value"}, Need: 1, Do: countItems},
	"index":  {Names: []string{"value", "start", "stop"}, Need: 1, Do: indexOf},
	"append": changes, "clear": changes, "extend": changes, "insert": changes, "pop": changes, "remove": changes,
	"reverse": changes, "sort": changes,
}

// changes is a method that would change its value.
var changes = &Builtin{Rest: true, Do: func(*Environment, values.Value, Args) (values.Value, error) {
	return nil, errors.New("a chat template cannot change a value")
}}

func onText(do func(e *Environment, t texts.Text, a Args) (values.Value, error)) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, a Args) (values.Value, error) {
		if err := e.Take(texts.ValueBytes); err != nil { // for the result
			return nil, err
		}
		return do(e, v.(texts.Text), a)
	}
}

// getMethod is d.get(key, default).
func getMethod(e *Environment, v values.Value, a Args) (values.Value, error) {
	if _, ok := values.Identity(a.or(0, nil)); !ok {
		return nil, fmt.Errorf("%s cannot be a key", values.KindName(a.or(0, nil)))
	}
	value, ok, err := e.LookUp(v.(*values.Dict), a.or(0, nil))
	if !ok && err == nil {
		value = a.or(1, nil)
	}
	return value, err
}

func itemsMethod(e *Environment, v values.Value, _ Args) (values.Value, error) {
	items, err := e.Pairs(v.(*values.Dict))
	return values.ListOf(values.View, items), err
}

// window returns the part of a text that the arguments start and end leave, and the byte at which it begins.
func (e *Environment) window(t texts.Text, a Args) (string, int, error) {
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
	from, count, _, err := values.SliceBounds([3]values.Value{a.or(1, nil), a.or(2, nil), nil}, n)
	if err != nil {
		return "", 0, err
	}
	start, end, err := e.Meter.Window(t.String(), n, from, count)
	return t.String()[start:end], start, err
}

// find is find, index and those from the right.
func find(search func(s, part string) int, must bool) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, a Args) (values.Value, error) {
		t := v.(texts.Text)
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

func countIn(e *Environment, v values.Value, a Args) (values.Value, error) {
	part, err := a.text(0)
	if err != nil {
		return nil, err
	}
	s, _, err := e.window(v.(texts.Text), a)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(e.Search(s, part.String()), e.Spend(2*len(s))); err != nil {
		return nil, err
	}
	return int64(strings.Count(s, part.String())), nil
}

// affix is startswith and endswith, of one text or of any in a tuple.
func affix(holds func(s, part string) bool) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, a Args) (values.Value, error) {
		s, _, err := e.window(v.(texts.Text), a)
		if err != nil {
			return nil, err
		}
		candidates := []values.Value{a.or(0, nil)}
		if l, ok := a.or(0, nil).(*values.List); ok && l.Kind == values.Tuple {
			candidates = l.Items
		}
		for _, c := range candidates {
			part, ok := c.(texts.Text)
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

func remover(prefix bool) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, a Args) (values.Value, error) {
		t := v.(texts.Text)
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
func partition(search func(s, part string) int, fromRight bool) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, a Args) (values.Value, error) {
		t := v.(texts.Text)
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

func splitMethod(fromRight bool) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, a Args) (values.Value, error) {
		var separator *texts.Text
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
		return e.split(v.(texts.Text), separator, limit, fromRight)
	}
}

func joinMethod(e *Environment, v values.Value, a Args) (values.Value, error) {
	items, err := e.Items(a.or(0, nil))
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if _, ok := item.(texts.Text); !ok {
			return nil, fmt.Errorf("%s among the strings", values.KindName(item))
		}
	}
	return e.join(items, v.(texts.Text))
}

func padded(left, right bool) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, a Args) (values.Value, error) {
		width, err := a.integer(0, 0)
		if err != nil {
			return nil, err
		}
		fill, ok := a.or(1, texts.Own(" ")).(texts.Text)
		if !ok || utf8.RuneCountInString(fill.String()[:min(len(fill.String()), 8)]) != 1 {
			return nil, errors.New("the character to fill with is one character")
		}
		return centred(e, v.(texts.Text), width, fill, left, right)
	}
}

func zeroFill(e *Environment, v values.Value, a Args) (values.Value, error) {
	t := v.(texts.Text)
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
	return e.Concat(texts.Text{}, t.Slice(0, sign), filled.(texts.Text))
}

// everyRune reports whether a string is not empty and each of its characters is of a kind.
func everyRune(kind func(rune) bool) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, _ Args) (values.Value, error) {
		s := v.(texts.Text).String()
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return !kind(c) }) < 0, e.Spend(16 * len(s))
	}
}

func isASCII(e *Environment, v values.Value, _ Args) (values.Value, error) {
	s := v.(texts.Text).String()
	return strings.IndexFunc(s, func(c rune) bool { return c >= utf8.RuneSelf }) < 0, e.Spend(2 * len(s))
}

func countItems(e *Environment, v values.Value, a Args) (values.Value, error) {
	n := int64(0)
	for _, item := range v.(*values.List).Items {
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

func indexOf(e *Environment, v values.Value, a Args) (values.Value, error) {
	items := v.(*values.List).Items
	from, err := a.integer(1, 0)
	if err != nil {
		return nil, err
	}
	to, err := a.integer(2, len(items))
	if err != nil {
		return nil, err
	}
	from, n, _, _ := values.SliceBounds([3]values.Value{int64(from), int64(to), nil}, len(items))
	for i, item := range items[from : from+n] {
		same, err := e.Equal(item, a.or(0, nil), 0)
		if same || err != nil {
			return int64(from + i), err
		}
	}
	return nil, errors.New("no such item")
}
