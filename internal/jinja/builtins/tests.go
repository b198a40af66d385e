package builtins

import (
	"math/big"
	"unicode"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// Tests are the names behind "is".
var Tests = map[string]*Builtin{
	"boolean":     check(values.Is[bool]),
	"callable":    check(isCallable),
	"defined":     check(func(v values.Value) bool { return !isUndefined(v) }),
	"divisibleby": {Names: []string{"num"}, Need: 1, Do: divisibleBy},
	"escaped":     check(func(values.Value) bool { return false }),
	"even":        remainder(0),
	"false":       check(func(v values.Value) bool { return v == false }),
	"filter":      {Do: func(e *Environment, v values.Value, _ Args) (values.Value, error) { return named(e.Filters, v), nil }},
	"float":       check(values.Is[float64]),
	"in":          {Names: []string{"seq"}, Need: 1, Do: func(e *Environment, v values.Value, a Args) (values.Value, error) { return e.Contains(a.Values[0], v) }},
	"integer":     check(func(v values.Value) bool { return values.Is[int64](v) || values.Is[*big.Int](v) }),
	"iterable": check(func(v values.Value) bool {
		return values.Is[texts.Text](v) || values.Is[*values.List](v) || values.Is[*values.Dict](v) || values.Is[values.Undefined](v)
	}),
	"lower":     {Do: cased(unicode.IsLower, unicode.IsUpper)},
	"mapping":   check(values.Is[*values.Dict]),
	"none":      check(func(v values.Value) bool { return v == nil }),
	"number":    check(func(v values.Value) bool { _, ok := values.NumberOf(v); return ok }),
	"odd":       remainder(1),
	"sameas":    {Names: []string{"other"}, Need: 1, Do: sameAs},
	"sequence":  check(isSequence),
	"string":    check(values.Is[texts.Text]),
	"test":      {Do: func(e *Environment, v values.Value, _ Args) (values.Value, error) { return named(e.Tests, v), nil }},
	"true":      check(func(v values.Value) bool { return v == true }),
	"undefined": check(isUndefined),
	"upper":     {Do: cased(unicode.IsUpper, unicode.IsLower)},

	"==": operatorTest("=="), "eq": operatorTest("=="), "equalto": operatorTest("=="),
	"!=": operatorTest("!="), "ne": operatorTest("!="),
	"<": operatorTest("<"), "lt": operatorTest("<"), "lessthan": operatorTest("<"),
	"<=": operatorTest("<="), "le": operatorTest("<="),
	">": operatorTest(">"), "gt": operatorTest(">"), "greaterthan": operatorTest(">"),
	">=": operatorTest(">="), "ge": operatorTest(">="),
}

// check is a test of one value.
func check(holds func(values.Value) bool) *Builtin {
	return &Builtin{Do: func(_ *Environment, v values.Value, _ Args) (values.Value, error) { return holds(v), nil }}
}

func isUndefined(v values.Value) bool {
	f, ok := v.(*values.Function)
	return values.Is[values.Undefined](v) || ok && f.Hidden
}

func isCallable(v values.Value) bool {
	return values.Is[*values.Function](v) || values.Is[*Global](v) || values.Is[Object](v) || values.Is[*Method](v) || values.Is[values.Undefined](v)
}

func isSequence(v values.Value) bool {
	l, ok := v.(*values.List)
	return ok && l.Kind <= values.Range || values.Is[texts.Text](v) || values.Is[*values.Dict](v) || values.Is[values.Undefined](v)
}

// operatorTest is an operator in the form of a test.
func operatorTest(operator string) *Builtin {
	return &Builtin{Names: []string{"other"}, Need: 1, Do: func(e *Environment, v values.Value, a Args) (values.Value, error) {
		return e.Holds(operator, v, a.Values[0])
	}}
}

func divisibleBy(e *Environment, v values.Value, a Args) (values.Value, error) {
	m, err := e.Arithmetic("%", v, a.Values[0])
	return !values.IsTrue(m), err
}

// remainder tests the remainder of a number divided by two.
func remainder(want int64) *Builtin {
	return &Builtin{Do: func(e *Environment, v values.Value, _ Args) (values.Value, error) {
		m, err := e.Arithmetic("%", v, int64(2))
		if err != nil {
			return nil, err
		}
		return e.Equal(m, want, 0)
	}}
}

// sameAs is Python's "is": for values without an identity here, equality within one type.
func sameAs(e *Environment, v values.Value, a Args) (values.Value, error) {
	other := a.Values[0]
	switch v.(type) {
	case texts.Text, int64, float64, *big.Int:
		if values.KindName(v) != values.KindName(other) {
			return false, nil
		}
		return e.Equal(v, other, 0)
	}
	return v == other, nil
}
