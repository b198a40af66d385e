package jinja

import (
	"math/big"
	"unicode"
)

// tests are what follows "is".
var tests = map[string]*builtin{
	"boolean":     check(is[bool]),
	"callable":    check(isCallable),
	"defined":     check(func(v Value) bool { return !isUndefined(v) }),
	"divisibleby": {names: []string{"num"}, need: 1, do: divisibleBy},
	"escaped":     check(func(Value) bool { return false }),
	"even":        remainder(0),
	"false":       check(func(v Value) bool { return v == false }),
	"filter":      {do: func(e *evaluator, v Value, _ args) (Value, error) { return named(e.filters, v), nil }},
	"float":       check(is[float64]),
	"in":          {names: []string{"seq"}, need: 1, do: func(e *evaluator, v Value, a args) (Value, error) { return e.contains(a.values[0], v) }},
	"integer":     check(func(v Value) bool { return is[int64](v) || is[*big.Int](v) }),
	"iterable":    check(func(v Value) bool { return is[Text](v) || is[*List](v) || is[*Dict](v) || is[Undefined](v) }),
	"lower":       {do: cased(unicode.IsLower, unicode.IsUpper)},
	"mapping":     check(is[*Dict]),
	"none":        check(func(v Value) bool { return v == nil }),
	"number":      check(func(v Value) bool { _, ok := number(v); return ok }),
	"odd":         remainder(1),
	"sameas":      {names: []string{"other"}, need: 1, do: sameAs},
	"sequence":    check(isSequence),
	"string":      check(is[Text]),
	"test":        {do: func(e *evaluator, v Value, _ args) (Value, error) { return named(e.tests, v), nil }},
	"true":        check(func(v Value) bool { return v == true }),
	"undefined":   check(isUndefined),
	"upper":       {do: cased(unicode.IsUpper, unicode.IsLower)},

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

func is[T any](v Value) bool {
	_, ok := v.(T)
	return ok
}

func isUndefined(v Value) bool {
	f, ok := v.(*Function)
	return is[Undefined](v) || ok && f.Hidden
}

func isCallable(v Value) bool {
	return is[*Function](v) || is[*global](v) || is[*macro](v) || is[*method](v) || is[*loop](v) || is[Undefined](v)
}

func isSequence(v Value) bool {
	l, ok := v.(*List)
	return ok && l.kind <= aRange || is[Text](v) || is[*Dict](v) || is[Undefined](v)
}

// operatorTest is an operator in the form of a test.
func operatorTest(operator string) *builtin {
	return &builtin{names: []string{"other"}, need: 1, do: func(e *evaluator, v Value, a args) (Value, error) {
		return e.holds(operator, v, a.values[0])
	}}
}

func divisibleBy(e *evaluator, v Value, a args) (Value, error) {
	m, err := e.arithmetic("%", v, a.values[0])
	return !isTrue(m), err
}

// remainder tests what is left of a number when it is divided by two.
func remainder(want int64) *builtin {
	return &builtin{do: func(e *evaluator, v Value, _ args) (Value, error) {
		m, err := e.arithmetic("%", v, int64(2))
		if err != nil {
			return nil, err
		}
		return e.equal(m, want, 0)
	}}
}

// sameAs is Python's "is": for what has no identity here, equality within one type.
func sameAs(e *evaluator, v Value, a args) (Value, error) {
	other := a.values[0]
	switch v.(type) {
	case Text, int64, float64, *big.Int:
		if kindName(v) != kindName(other) {
			return false, nil
		}
		return e.equal(v, other, 0)
	}
	return v == other, nil
}

// named reports whether a table knows a name.
func named(table map[string]*builtin, v Value) bool {
	t, ok := v.(Text)
	return ok && len(t.s) <= maxName && table[t.s] != nil
}
