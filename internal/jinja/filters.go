package jinja

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

// filters are what follows "|". Those of lists are in lists.go, those of strings that are methods, too, in methods.go.
var filters = map[string]*builtin{
	"abs":        {do: absolute},
	"attr":       {names: []string{"name"}, need: 1, do: attributeOnly},
	"batch":      {names: []string{"linecount", "fill_with"}, need: 1, do: batch},
	"capitalize": {do: ofText(capitalize)},
	"center":     {names: []string{"width"}, do: centerFilter},
	"count":      {do: length},
	"d":          {names: []string{"default_value", "boolean"}, do: defaulted},
	"default":    {names: []string{"default_value", "boolean"}, do: defaulted},
	"dictsort":   {names: []string{"case_sensitive", "by", "reverse"}, do: dictSort},
	"e":          {do: ofText(escapeHTML)},
	"escape":     {do: ofText(escapeHTML)},
	"first":      {do: first},
	"float":      {names: []string{"default"}, do: toFloat},
	"format":     {rest: true, do: func(*evaluator, Value, args) (Value, error) { return nil, values.ErrPercent }},
	"groupby":    {names: []string{"attribute", "default", "case_sensitive"}, need: 1, do: groupBy},
	"indent":     {names: []string{"width", "first", "blank"}, do: onlyText(indent)},
	"int":        {names: []string{"default", "base"}, do: toInteger},
	"items":      {do: itemsFilter},
	"join":       {names: []string{"d", "attribute"}, do: joinFilter},
	"last":       {do: lastItem},
	"length":     {do: length},
	"list":       {do: toList},
	"lower":      {do: ofText(lower)},
	"map":        {rest: true, do: mapFilter},
	"max":        {names: []string{"case_sensitive", "attribute"}, do: extreme(1)},
	"min":        {names: []string{"case_sensitive", "attribute"}, do: extreme(-1)},
	"reject":     {rest: true, do: selected(false, false)},
	"rejectattr": {rest: true, do: selected(true, false)},
	"replace":    {names: []string{"old", "new", "count"}, need: 2, do: replaceFilter},
	"reverse":    {do: reverse},
	"round":      {names: []string{"precision", "method"}, do: round},
	// safe is string: what Jinja's own does when such a text is added to another, escape that one for HTML, helps no model.
	"safe":       {do: ofText(func(_ *evaluator, t Text, _ args) (Value, error) { return t, nil })},
	"select":     {rest: true, do: selected(false, true)},
	"selectattr": {rest: true, do: selected(true, true)},
	"slice":      {names: []string{"slices", "fill_with"}, need: 1, do: sliced},
	"sort":       {names: []string{"reverse", "case_sensitive", "attribute"}, do: sortFilter},
	"string":     {do: ofText(func(_ *evaluator, t Text, _ args) (Value, error) { return t, nil })},
	"sum":        {names: []string{"attribute", "start"}, do: sum},
	"title":      {do: ofText(titleFilter)},
	"tojson":     {names: []string{"ensure_ascii", "indent", "separators", "sort_keys"}, do: toJSON},
	"trim":       {names: []string{"chars"}, do: ofText(strip(true, true))},
	"truncate":   {names: []string{"length", "killwords", "end", "leeway"}, do: onlyText(truncate)},
	"unique":     {names: []string{"case_sensitive", "attribute"}, do: unique},
	"upper":      {do: ofText(upper)},
	"wordcount":  {do: ofText(wordCount)},
}

// ofText is a filter that first makes a string of its value.
func ofText(do func(e *evaluator, t Text, a args) (Value, error)) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, a args) (Value, error) {
		t, err := e.Str(v)
		if err != nil {
			return nil, err
		}
		if err := e.Take(texts.ValueBytes); err != nil { // for what it returns
			return nil, err
		}
		return do(e, t, a)
	}
}

// onlyText is a filter that takes nothing but strings.
func onlyText(do func(e *evaluator, t Text, a args) (Value, error)) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, a args) (Value, error) {
		if !values.Is[Text](v) {
			return nil, fmt.Errorf("%s is no string", values.KindName(v))
		}
		return ofText(do)(e, v, a)
	}
}

func length(e *evaluator, v Value, _ args) (Value, error) {
	switch v := v.(type) {
	case Text:
		n, err := e.Count(v)
		return int64(n), err
	case *List:
		if v.Kind != values.Generator {
			return int64(len(v.Items)), nil
		}
	case *Dict:
		return int64(len(v.Entries)), nil
	case Undefined:
		return int64(0), nil
	}
	return nil, fmt.Errorf("%s has no length", values.KindName(v))
}

func defaulted(_ *evaluator, v Value, a args) (Value, error) {
	_, undefined := v.(Undefined)
	if undefined || values.IsTrue(a.or(1, false)) && !values.IsTrue(v) {
		return a.or(0, Text{}), nil
	}
	return v, nil
}

func attributeOnly(e *evaluator, v Value, a args) (Value, error) {
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
func integerOf(s string, base int) (Value, bool) {
	s = TrimSpace(s)
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

func toInteger(e *evaluator, v Value, a args) (Value, error) {
	base, err := a.integer(1, 10)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case Undefined:
		return nil, v.Err()
	case Text:
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
func truncated(f float64, otherwise Value) (Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return otherwise, nil
	}
	n, _ := big.NewFloat(f).Int(nil)
	return values.Small(n), nil
}

// floatOf reads a float as Python's float() does.
func floatOf(s string) (float64, bool) {
	s = TrimSpace(s)
	if strings.ContainsAny(s, "xXpP") || len(s) > values.MaxDigits {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

func toFloat(e *evaluator, v Value, a args) (Value, error) {
	switch v := v.(type) {
	case Undefined:
		return nil, v.Err()
	case Text:
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

func absolute(e *evaluator, v Value, _ args) (Value, error) {
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

func round(_ *evaluator, v Value, a args) (Value, error) {
	x, ok := values.NumberOf(v)
	precision, err := a.integer(0, 0)
	method, isText := a.or(1, texts.Own("common")).(Text)
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

func escapeHTML(e *evaluator, t Text, _ args) (Value, error) {
	if err := e.Take(3 * len(t.String())); err != nil {
		return nil, err
	}
	return e.Mapped(t, html.EscapeString)
}

// toJSON is tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False).
func toJSON(e *evaluator, v Value, a args) (Value, error) {
	style := values.JSONStyle{Comma: texts.Own(", "), Colon: texts.Own(": "), ASCII: values.IsTrue(a.or(0, false)), Sorted: values.IsTrue(a.or(3, false))}
	switch indent := a.or(1, nil).(type) {
	case nil:
	case Text:
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
		l, _ := separators.(*List)
		if l == nil || len(l.Items) != 2 {
			return nil, errors.New("separators are two strings")
		}
		comma, okComma := l.Items[0].(Text)
		colon, okColon := l.Items[1].(Text)
		if !okComma || !okColon {
			return nil, errors.New("separators are two strings")
		}
		style.Comma, style.Colon = comma, colon
	}
	return e.JSON(v, style)
}

// maxIndent bounds an indentation that is given as a number.
const maxIndent = 1000
