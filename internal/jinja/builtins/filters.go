package builtins

import (
	"errors"
	"fmt"
	"html"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// Filters are in one table: a name, the names of the arguments, and the function, which gets the value before the bar as its first. ofText
// makes a string of that value before it calls the function; onlyText refuses values that are no strings. For example,
//
//	expression              calls                                      result
//	x|default("?", true)    defaulted, with x and "?", true            "?" if x is undefined, "" or another false value; else x
//	5|string|length         the function of string, then length        1
//	5|indent                onlyText, which refuses 5                  an error
//	[1, "a"]|tojson         toJSON                                     [1, "a"]

// Filters are the names behind "|". Those of lists are in lists.go, those of strings that are methods, too, in methods.go.
var Filters = map[string]*Builtin{
	"abs":        {Do: absolute},
	"attr":       {Names: []string{"name"}, Need: 1, Do: attributeOnly},
	"batch":      {Names: []string{"linecount", "fill_with"}, Need: 1, Do: batch},
	"capitalize": {Do: ofText(capitalize)},
	"center":     {Names: []string{"width"}, Do: centerFilter},
	"count":      {Do: length},
	"d":          {Names: []string{"default_value", "boolean"}, Do: defaulted},
	"default":    {Names: []string{"default_value", "boolean"}, Do: defaulted},
	"dictsort":   {Names: []string{"case_sensitive", "by", "reverse"}, Do: dictSort},
	"e":          {Do: ofText(escapeHTML)},
	"escape":     {Do: ofText(escapeHTML)},
	"first":      {Do: first},
	"float":      {Names: []string{"default"}, Do: toFloat},
	"format":     {Rest: true, Do: func(*Environment, values.Value, Args) (values.Value, error) { return nil, values.ErrPercent }},
	"groupby":    {Names: []string{"attribute", "default", "case_sensitive"}, Need: 1, Do: groupBy},
	"indent":     {Names: []string{"width", "first", "blank"}, Do: onlyText(indent)},
	"int":        {Names: []string{"default", "base"}, Do: toInteger},
	"items":      {Do: itemsFilter},
	"join":       {Names: []string{"d", "attribute"}, Do: joinFilter},
	"last":       {Do: lastItem},
	"length":     {Do: length},
	"list":       {Do: toList},
	"lower":      {Do: ofText(lower)},
	"map":        {Rest: true, Do: mapFilter},
	"max":        {Names: []string{"case_sensitive", "attribute"}, Do: extreme(1)},
	"min":        {Names: []string{"case_sensitive", "attribute"}, Do: extreme(-1)},
	"reject":     {Rest: true, Do: selected(false, false)},
	"rejectattr": {Rest: true, Do: selected(true, false)},
	"replace":    {Names: []string{"old", "new", "count"}, Need: 2, Do: replaceFilter},
	"reverse":    {Do: reverse},
	"round":      {Names: []string{"precision", "method"}, Do: round},
	// safe is string: what Jinja's own does when such a text is added to another, escape that one for HTML, helps no model.
	"safe":       {Do: ofText(func(_ *Environment, t texts.Text, _ Args) (values.Value, error) { return t, nil })},
	"select":     {Rest: true, Do: selected(false, true)},
	"selectattr": {Rest: true, Do: selected(true, true)},
	"slice":      {Names: []string{"slices", "fill_with"}, Need: 1, Do: sliced},
	"sort":       {Names: []string{"reverse", "case_sensitive", "attribute"}, Do: sortFilter},
	"string":     {Do: ofText(func(_ *Environment, t texts.Text, _ Args) (values.Value, error) { return t, nil })},
	"sum":        {Names: []string{"attribute", "start"}, Do: sum},
	"title":      {Do: ofText(titleFilter)},
	"tojson":     {Names: []string{"ensure_ascii", "indent", "separators", "sort_keys"}, Do: toJSON},
	"trim":       {Names: []string{"chars"}, Do: ofText(strip(true, true))},
	"truncate":   {Names: []string{"length", "killwords", "end", "leeway"}, Do: onlyText(truncate)},
	"unique":     {Names: []string{"case_sensitive", "attribute"}, Do: unique},
	"upper":      {Do: ofText(upper)},
	"wordcount":  {Do: ofText(wordCount)},
}

// ofText is a filter that first makes a string of its value.
func ofText(do func(e *Environment, t texts.Text, a Args) (values.Value, error)) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, a Args) (values.Value, error) {
		t, err := e.Str(v)
		if err != nil {
			return nil, err
		}
		if err := e.Take(texts.ValueBytes); err != nil { // for the result
			return nil, err
		}
		return do(e, t, a)
	}
}

// onlyText is a filter that takes nothing but strings.
func onlyText(do func(e *Environment, t texts.Text, a Args) (values.Value, error)) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, a Args) (values.Value, error) {
		if !values.Is[texts.Text](v) {
			return nil, fmt.Errorf("%s is no string", values.KindName(v))
		}
		return ofText(do)(e, v, a)
	}
}

func length(e *Environment, v values.Value, _ Args) (values.Value, error) {
	switch v := v.(type) {
	case texts.Text:
		n, err := e.Count(v)
		return int64(n), err
	case *values.List:
		if v.Kind != values.Generator {
			return int64(len(v.Items)), nil
		}
	case *values.Dict:
		return int64(len(v.Entries)), nil
	case values.Undefined:
		return int64(0), nil
	}
	return nil, fmt.Errorf("%s has no length", values.KindName(v))
}

func defaulted(_ *Environment, v values.Value, a Args) (values.Value, error) {
	_, undefined := v.(values.Undefined)
	if undefined || values.IsTrue(a.or(1, false)) && !values.IsTrue(v) {
		return a.or(0, texts.Text{}), nil
	}
	return v, nil
}

func attributeOnly(e *Environment, v values.Value, a Args) (values.Value, error) {
	name, err := a.text(0)
	if err != nil {
		return nil, err
	}
	value, ok, err := e.member(v, name.String())
	if !ok {
		value = values.Missing("attribute " + name.String())
	}
	return value, err
}

// integerOf reads an integer as Python's int() does.
func integerOf(s string, base int) (values.Value, bool) {
	s = texts.TrimSpace(s)
	sign, rest := "", s
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		sign, rest = rest[:1], rest[1:]
	}
	prefix := map[int]string{16: "0x", 8: "0o", 2: "0b"}[base]
	if prefix != "" && len(rest) > 2 && strings.EqualFold(rest[:2], prefix) {
		rest = rest[2:]
	}
	if base < 2 || base > 36 || len(rest) > values.MaxDigits || rest == "" || texts.Digits(rest, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") < len(rest) {
		return nil, false
	}
	n, ok := new(big.Int).SetString(sign+strings.ReplaceAll(rest, "_", ""), base)
	if !ok {
		return nil, false
	}
	return values.Small(n), true
}

func toInteger(e *Environment, v values.Value, a Args) (values.Value, error) {
	base, err := a.integer(1, 10)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case values.Undefined:
		return nil, v.Err()
	case texts.Text:
		if err := e.Spend(len(v.String()) + values.MaxBits); err != nil {
			return nil, err
		}
		if n, ok := integerOf(v.String(), base); ok {
			return n, nil
		}
		if f, ok := floatOf(v.String()); ok {
			return truncated(f, a.or(0, int64(0)))
		}
	case float64:
		return truncated(v, a.or(0, int64(0)))
	}
	if x, ok := values.NumberOf(v); ok {
		return x.Value(), nil
	}
	return a.or(0, int64(0)), nil
}

// truncated is a float without its fraction.
func truncated(f float64, otherwise values.Value) (values.Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return otherwise, nil
	}
	n, _ := big.NewFloat(f).Int(nil)
	return values.Small(n), nil
}

// floatOf reads a float as Python's float() does.
func floatOf(s string) (float64, bool) {
	s = texts.TrimSpace(s)
	if strings.ContainsAny(s, "xXpP") || len(s) > values.MaxDigits {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

func toFloat(e *Environment, v values.Value, a Args) (values.Value, error) {
	switch v := v.(type) {
	case values.Undefined:
		return nil, v.Err()
	case texts.Text:
		if f, ok := floatOf(v.String()); ok {
			return f, e.Spend(len(v.String()))
		}
		return a.or(0, 0.0), e.Spend(len(v.String()))
	}
	if x, ok := values.NumberOf(v); ok {
		return x.Float64(), nil
	}
	return a.or(0, 0.0), nil
}

func absolute(e *Environment, v values.Value, _ Args) (values.Value, error) {
	x, ok := values.NumberOf(v)
	if !ok {
		return nil, fmt.Errorf("%s is no number", values.KindName(v))
	}
	if x.IsFloat {
		return math.Abs(x.Float), nil
	}
	if x.Compare(values.Number{}) >= 0 {
		return x.Value(), nil
	}
	return e.Compute("-", values.Number{}, x)
}

func round(_ *Environment, v values.Value, a Args) (values.Value, error) {
	x, ok := values.NumberOf(v)
	precision, err := a.integer(0, 0)
	method, isText := a.or(1, texts.Own("common")).(texts.Text)
	if err != nil || !ok || !isText {
		return nil, fmt.Errorf("%s rounded to %s by %s", values.KindName(v), values.KindName(a.or(0, nil)), values.KindName(a.or(1, nil)))
	}
	scale := math.Pow(10, float64(precision))
	switch method.String() {
	case "ceil":
		return math.Ceil(x.Float64()*scale) / scale, nil
	case "floor":
		return math.Floor(x.Float64()*scale) / scale, nil
	case "common":
	default:
		return nil, fmt.Errorf("method %.40q; it is common, ceil or floor", method.String())
	}
	if !x.IsFloat && precision >= 0 {
		return x.Value(), nil
	}
	if precision < 0 {
		f := math.RoundToEven(x.Float64()*scale) / scale
		if !x.IsFloat {
			return int64(f), nil
		}
		return f, nil
	}
	f, err := strconv.ParseFloat(strconv.FormatFloat(x.Float, 'f', min(precision, 400), 64), 64)
	return f, err
}

func escapeHTML(e *Environment, t texts.Text, _ Args) (values.Value, error) {
	if err := e.Take(3 * len(t.String())); err != nil {
		return nil, err
	}
	return e.Mapped(t, html.EscapeString)
}

// toJSON is tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False).
func toJSON(e *Environment, v values.Value, a Args) (values.Value, error) {
	style := values.JSONStyle{Comma: texts.Own(", "), Colon: texts.Own(": "), ASCII: values.IsTrue(a.or(0, false)), Sorted: values.IsTrue(a.or(3, false))}
	switch indent := a.or(1, nil).(type) {
	case nil:
	case texts.Text:
		style.Lines, style.Indent = true, indent
	default:
		n, ok := values.Index(indent)
		if !ok || n > maxIndent {
			return nil, fmt.Errorf("an indentation by %s, or beyond %d", values.KindName(indent), maxIndent)
		}
		style.Lines, style.Indent = true, texts.Own(strings.Repeat(" ", max(0, n)))
	}
	if style.Lines {
		style.Comma = texts.Own(",")
	}
	if separators := a.or(2, nil); separators != nil {
		l, _ := separators.(*values.List)
		if l == nil || len(l.Items) != 2 {
			return nil, errors.New("separators are two strings")
		}
		comma, okComma := l.Items[0].(texts.Text)
		colon, okColon := l.Items[1].(texts.Text)
		if !okComma || !okColon {
			return nil, errors.New("separators are two strings")
		}
		style.Comma, style.Colon = comma, colon
	}
	return e.JSON(v, style)
}
