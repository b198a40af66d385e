package jinja

import (
	"math/big"
	"unicode"

	"github.com/antigravity-go/antigravity/internal/jinja/syntax"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// tests are what follows "is".
var tests = map[string]*builtin{
	"boolean":     check(values.Is[bool]),
	"callable":    check(isCallable),
	"defined":     check(func(v Value) bool { return !isUndefined(v) }),
	"divisibleby": {names: []string{"num"}, need: 1, do: divisibleBy},
	"escaped":     check(func(Value) bool { return false }),
	"even":        remainder(0),
	"false":       check(func(v Value) bool { return v == false }),
	"filter":      {do: func(e *evaluator, v Value, _ args) (Value, error) { return named(e.filters, v), nil }},
	"float":       check(values.Is[float64]),
	"in":          {names: []string{"seq"}, need: 1, do: func(e *evaluator, v Value, a args) (Value, error) { return e.Contains(a.values[0], v) }},
	"integer":     check(func(v Value) bool { return values.Is[int64](v) || values.Is[*big.Int](v) }),
	"iterable": check(func(v Value) bool {
		return values.Is[Text](v) || values.Is[*List](v) || values.Is[*Dict](v) || values.Is[Undefined](v)
	}),
	"lower":     {do: cased(unicode.IsLower, unicode.IsUpper)},
	"mapping":   check(values.Is[*Dict]),
	"none":      check(func(v Value) bool { return v == nil }),
	"number":    check(func(v Value) bool { _, ok := values.NumberOf(v); return ok }),
	"odd":       remainder(1),
	"sameas":    {names: []string{"other"}, need: 1, do: sameAs},
	"sequence":  check(isSequence),
	"string":    check(values.Is[Text]),
	"test":      {do: func(e *evaluator, v Value, _ args) (Value, error) { return named(e.tests, v), nil }},
	"true":      check(func(v Value) bool { return v == true }),
	"undefined": check(isUndefined),
	"upper":     {do: cased(unicode.IsUpper, unicode.IsLower)},

	"==": operatorTest("=="), "eq": operatorTest("=="), "equalto": operatorTest("=="),
	"!=": operatorTest("!="), "ne": operatorTest("!="),
	"<": operatorTest("<"), "lt": operatorTest("<"), "lessthan": operatorTest("<"),
	"<=": operatorTest("<="), "le": operatorTest("<="),
	">": operatorTest(">"), "gt": operatorTest(">"), "greaterthan": operatorTest(">"),
	">=": operatorTest(">="), "ge": operatorTest(">="),
}

// check is a test of one value.
func check(holds func(Value) bool) *builtin {
	return &builtin{do: func(_ *evaluator, v Value, _ args) (Value, error) { return holds(v), nil }}
}

func isUndefined(v Value) bool {
	f, ok := v.(*Function)
	return values.Is[Undefined](v) || ok && f.Hidden
}

func isCallable(v Value) bool {
	return values.Is[*Function](v) || values.Is[*global](v) || values.Is[*macro](v) || values.Is[*method](v) || values.Is[*loop](v) || values.Is[Undefined](v)
}

func isSequence(v Value) bool {
	l, ok := v.(*List)
	return ok && l.Kind <= values.Range || values.Is[Text](v) || values.Is[*Dict](v) || values.Is[Undefined](v)
}

// operatorTest is an operator in the form of a test.
func operatorTest(operator string) *builtin {
	return &builtin{names: []string{"other"}, need: 1, do: func(e *evaluator, v Value, a args) (Value, error) {
		return e.Holds(operator, v, a.values[0])
	}}
}

func divisibleBy(e *evaluator, v Value, a args) (Value, error) {
	m, err := e.Arithmetic("%", v, a.values[0])
	return !values.IsTrue(m), err
}

// remainder tests what is left of a number when it is divided by two.
func remainder(want int64) *builtin {
	return &builtin{do: func(e *evaluator, v Value, _ args) (Value, error) {
		m, err := e.Arithmetic("%", v, int64(2))
		if err != nil {
			return nil, err
		}
		return e.Equal(m, want, 0)
	}}
}

// sameAs is Python's "is": for what has no identity here, equality within one type.
func sameAs(e *evaluator, v Value, a args) (Value, error) {
	other := a.values[0]
	switch v.(type) {
	case Text, int64, float64, *big.Int:
		if values.KindName(v) != values.KindName(other) {
			return false, nil
		}
		return e.Equal(v, other, 0)
	}
	return v == other, nil
}

// named reports whether a table knows a name.
func named(table map[string]*builtin, v Value) bool {
	t, ok := v.(Text)
	return ok && len(t.String()) <= syntax.MaxName && table[t.String()] != nil
}
