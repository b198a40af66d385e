package chat

import "strings"

// tests are what follows "is", and "in".
var tests = map[string]operation{
	"defined":   check(func(v any) bool { return v != nil }),
	"undefined": check(func(v any) bool { return v == nil }),
	"none":      check(func(v any) bool { return v == any(none) }),
	"true":      check(func(v any) bool { return v == true }),
	"false":     check(func(v any) bool { return v == false }),
	"boolean":   check(is[bool]),
	"integer":   check(func(v any) bool { return is[int](v) || is[bigInt](v) }),
	"float":     check(is[float64]),
	"number":    check(func(v any) bool { _, ok := number(v); return ok }),
	"string":    check(is[string]),
	"mapping":   check(is[object]),
	"sequence":  check(func(v any) bool { return is[string](v) || is[list](v) || is[object](v) }),
	"iterable":  check(func(v any) bool { return v == nil || is[string](v) || is[list](v) || is[object](v) }),
	"callable":  check(isFunction),
	"odd":       check(func(v any) bool { i, ok := v.(int); return ok && i%2 != 0 }),
	"even":      check(func(v any) bool { i, ok := v.(int); return ok && i%2 == 0 }),
	"lower":     cased(strings.ToLower),
	"upper":     cased(strings.ToUpper),

	"in":          binary(func(r *run, a, b any) (bool, error) { return r.has(b, a) }),
	"eq":          binary(isEqual),
	"equalto":     binary(isEqual),
	"==":          binary(isEqual),
	"ne":          binary(func(r *run, a, b any) (bool, error) { same, err := isEqual(r, a, b); return !same, err }),
	"sameas":      binary(isEqual),
	"gt":          binary(func(r *run, a, b any) (bool, error) { c, err := r.compare(a, b); return c > 0, err }),
	"ge":          binary(func(r *run, a, b any) (bool, error) { c, err := r.compare(a, b); return c >= 0, err }),
	"lt":          binary(func(r *run, a, b any) (bool, error) { c, err := r.compare(a, b); return c < 0, err }),
	"le":          binary(func(r *run, a, b any) (bool, error) { c, err := r.compare(a, b); return c <= 0, err }),
	"divisibleby": binary(isDivisible),
}

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

// check is a test of one value.
func check(holds func(any) bool) operation {
	return func(_ *run, args []any, _ map[string]any) (any, error) { return holds(args[0]), nil }
}

// cased tests whether a string is what change makes of it.
func cased(change func(string) string) operation {
	return func(r *run, args []any, _ map[string]any) (any, error) {
		s, ok := args[0].(string)
		s = r.fence.strip(s)
		return ok && s != "" && change(s) == s, nil
	}
}

// binary is a test of two values; a missing second one is undefined.
func binary(holds func(r *run, a, b any) (bool, error)) operation {
	return func(r *run, args []any, _ map[string]any) (any, error) {
		return holds(r, args[0], argument(args, nil, 1, "", nil))
	}
}

func isEqual(r *run, a, b any) (bool, error) { return r.equal(a, b, 0) }

func isDivisible(r *run, a, b any) (bool, error) {
	m, err := modulo(r, []any{a, b}, nil)
	return m == 0, err
}

// argument returns args[i], or the one of that name, or otherwise.
func argument(args []any, named map[string]any, i int, name string, otherwise any) any {
	if i < len(args) {
		return args[i]
	}
	if v, ok := named[name]; ok {
		return v
	}
	return otherwise
}
