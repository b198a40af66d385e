package chat

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// operations are all that a template can call: operators by their sign, tests as "is …", filters as "|…", and what the
// hardener makes of the rest of the syntax.
var operations = func() map[string]operation {
	all := map[string]operation{
		"print":        printed,
		"list":         func(_ *run, args []any, _ map[string]any) (any, error) { return list(args), nil },
		"dict":         pairs,
		"not":          func(_ *run, args []any, _ map[string]any) (any, error) { return !isTrue(args[0]), nil },
		"iterate":      iterate,
		"attribute":    attribute,
		"item":         item,
		"slice":        slice,
		"method":       method,
		"strftime_now": strftimeNow,
		"unary+":       func(r *run, args []any, _ map[string]any) (any, error) { return add(r, []any{0, args[0]}, nil) },
		"unary-":       func(r *run, args []any, _ map[string]any) (any, error) { return subtract(r, []any{0, args[0]}, nil) },
		"+":            add,
		"-":            subtract,
		"*":            multiply,
		"/":            divide,
		"//":           floorDivide,
		"%":            modulo,
		"~":            concatenate,
		"==":           func(r *run, args []any, _ map[string]any) (any, error) { return r.equal(args[0], args[1], 0) },
		"!=":           func(r *run, args []any, _ map[string]any) (any, error) { return not(r.equal(args[0], args[1], 0)) },
	}
	for sign, holds := range map[string]func(int) bool{
		"<": func(c int) bool { return c < 0 }, "<=": func(c int) bool { return c <= 0 },
		">": func(c int) bool { return c > 0 }, ">=": func(c int) bool { return c >= 0 },
	} {
		all[sign] = func(r *run, args []any, _ map[string]any) (any, error) {
			c, err := r.compare(args[0], args[1])
			return holds(c), err
		}
	}
	for name, f := range filters {
		all["|"+name] = f
	}
	for name, f := range tests {
		all["is "+name] = f
	}
	maps.DeleteFunc(all, func(_ string, f operation) bool { return f == nil })
	return all
}()

func not(b bool, err error) (any, error) { return !b, err }

// raisedError is a template's refusal of a conversation, in the template's words.
type raisedError string

func (e raisedError) Error() string { return string(e) }

func raiseException(r *run, args []any, _ map[string]any) (any, error) {
	if len(args) == 0 {
		return nil, raisedError("the template raised an exception")
	}
	s, err := r.str(args[0])
	if err != nil {
		return nil, err
	}
	return nil, raisedError(r.fence.strip(s))
}

func printed(r *run, args []any, _ map[string]any) (any, error) { return r.str(args[0]) }

// pairs is the dictionary of alternating keys and values.
func pairs(r *run, args []any, _ map[string]any) (any, error) {
	o := make(object, 0, len(args)/2)
	for i := 0; i+1 < len(args); i += 2 {
		key, ok := args[i].(string)
		if !ok {
			return nil, fmt.Errorf("%s as a key of a dictionary; it takes strings", typeName(args[i]))
		}
		o = append(o, member{key, args[i+1]})
	}
	return o, nil
}

func newDict(_ *run, _ []any, named map[string]any) (any, error) {
	var o object
	for _, key := range sortedKeys(named) {
		o = append(o, member{key, named[key]})
	}
	return o, nil
}

func newNamespace(r *run, args []any, named map[string]any) (any, error) {
	n := &namespace{map[string]any{}}
	for _, a := range args {
		o, ok := a.(object)
		if !ok {
			return nil, fmt.Errorf("namespace(%s); it takes dictionaries", typeName(a))
		}
		for _, m := range o {
			n.values[r.fence.strip(m.key)] = m.value
		}
	}
	maps.Copy(n.values, named)
	return n, nil
}

// rangeOf is range([start,] stop[, step]), within the budget.
func rangeOf(r *run, args []any, _ map[string]any) (any, error) {
	bounds := []int{0, 0, 1}
	switch len(args) {
	case 1:
		args = []any{0, args[0]}
	case 2, 3:
	default:
		return nil, fmt.Errorf("range of %d arguments; it takes 1 to 3", len(args))
	}
	for i, a := range args {
		n, ok := a.(int)
		if !ok {
			return nil, fmt.Errorf("range of %s; it takes integers", typeName(a))
		}
		bounds[i] = n
	}
	start, stop, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return nil, errors.New("range with a step of 0")
	}
	n := max(0, math.Ceil((float64(stop)-float64(start))/float64(step)))
	if n > maxWork {
		return nil, errTooMuch
	}
	if err := r.spend(int(n)); err != nil {
		return nil, err
	}
	l := make(list, int(n))
	for i := range l {
		l[i] = start + i*step
	}
	return l, nil
}

// iterate returns the items that a loop goes through, and pays for the loop: args[1] is the weight of its body.
func iterate(r *run, args []any, _ map[string]any) (any, error) {
	items, err := r.items(args[0])
	if err != nil {
		return nil, err
	}
	weight, _ := args[1].(int)
	return items, r.spend(int(min(math.MaxInt32, int64(len(items))*int64(weight))))
}

// items lists what Python's iter(v) goes through; undefined has no items, as in Jinja.
func (r *run) items(v any) (list, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case list:
		return v, nil
	case object:
		keys := make(list, len(v))
		for i, m := range v {
			keys[i] = m.key
		}
		return keys, r.spend(len(v))
	case string:
		if err := r.spend(len(v)); err != nil {
			return nil, err
		}
		return r.fence.chars(v), nil
	}
	return nil, fmt.Errorf("%s is not iterable", typeName(v))
}

// attribute is v.name, and "item" is v[key]: Jinja looks for either in the other's place, too.
func attribute(r *run, args []any, _ map[string]any) (any, error) {
	switch v := args[0].(type) {
	case nil:
		return nil, fmt.Errorf("attribute %v of an undefined value", args[1])
	case *namespace:
		name, _ := args[1].(string)
		return v.values[r.fence.strip(name)], nil
	case exec.AttributeGetter: // a loop
		if name, ok := args[1].(string); ok {
			value, _ := v.GetAttribute(r.fence.strip(name))
			return value.Interface(), nil
		}
		return nil, nil
	}
	return item(r, args, nil)
}

func item(r *run, args []any, _ map[string]any) (any, error) {
	switch v := args[0].(type) {
	case nil:
		return nil, errors.New("item of an undefined value")
	case object:
		if key, ok := args[1].(string); ok {
			value, _ := v.get(r, key)
			return value, nil
		}
	case list:
		if i, ok := index(args[1], len(v)); ok {
			return v[i], nil
		}
	case string:
		if _, ok := args[1].(int); !ok {
			return nil, nil
		}
		if err := r.spend(len(v) / bytesPerStep); err != nil {
			return nil, err
		}
		chars := r.fence.chars(v)
		if i, ok := index(args[1], len(chars)); ok {
			return chars[i], nil
		}
	case *namespace, exec.AttributeGetter:
		return attribute(r, args, nil)
	}
	return nil, nil
}

// index returns where the i-th of n items is; negative ones count from the end.
func index(i any, n int) (int, bool) {
	at, ok := i.(int)
	if at < 0 {
		at += n
	}
	return at, ok && 0 <= at && at < n
}

// slice is v[start:stop:step].
func slice(r *run, args []any, _ map[string]any) (any, error) {
	var items list
	switch v := args[0].(type) {
	case list:
		items = v
	case string:
		if err := r.spend(len(v) / bytesPerStep); err != nil {
			return nil, err
		}
		items = r.fence.chars(v)
	default:
		return nil, fmt.Errorf("slice of %s; it takes a string or a list", typeName(v))
	}
	start, stop, step, err := bounds(args[1:], len(items))
	if err != nil {
		return nil, err
	}
	out := list{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		out = append(out, items[i])
	}
	if err := r.spend(len(out) / bytesPerStep); err != nil {
		return nil, err
	}
	if _, text := args[0].(string); !text {
		return out, nil
	}
	return r.join(out, "")
}

// bounds resolves Python's slice over n items. step may not leave the range of the items.
func bounds(args []any, n int) (start, stop, step int, err error) {
	given := [3]bool{}
	values := [3]int{0, 0, 1}
	for i, a := range args {
		if a == nil || a == any(none) {
			continue
		}
		if values[i], given[i] = a.(int); !given[i] {
			return 0, 0, 0, fmt.Errorf("slice bound is %s; it takes integers", typeName(a))
		}
	}
	step = values[2]
	if step == 0 {
		return 0, 0, 0, errors.New("slice with a step of 0")
	}
	step = max(-n-1, min(step, n+1))
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	resolve := func(i, otherwise int) int {
		if !given[i] {
			return otherwise
		}
		v := values[i]
		if v < 0 {
			v += n
		}
		return max(low, min(v, high))
	}
	if step < 0 {
		return resolve(0, high), resolve(1, low), step, nil
	}
	return resolve(0, low), resolve(1, high), step, nil
}

// join concatenates the items, printed.
func (r *run) join(items list, separator string) (string, error) {
	var b strings.Builder
	for i, item := range items {
		s, err := r.str(item)
		if err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(s)
		if b.Len() > maxOutput {
			return "", errTooLong
		}
	}
	return b.String(), nil
}

func concatenate(r *run, args []any, _ map[string]any) (any, error) { return r.join(args, "") }

// mismatch is the error of an operator that does not take its operands.
func mismatch(sign string, args []any) error {
	return fmt.Errorf("%s %s %s: these do not go together", typeName(args[0]), sign, typeName(args[1]))
}

// add is a + b + …, from the left.
func add(r *run, args []any, _ map[string]any) (any, error) {
	if texts := slices.IndexFunc(args, func(v any) bool { return !is[string](v) }); texts < 0 {
		return r.join(args, "")
	}
	sum := args[0]
	for _, v := range args[1:] {
		var err error
		if sum, err = addTwo(r, sum, v); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func addTwo(r *run, a, b any) (any, error) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return a + b, r.spendText(len(a) + len(b))
		}
	case list:
		if b, ok := b.(list); ok {
			return slices.Concat(a, b), r.spend(len(a) + len(b))
		}
	}
	return arithmetic("+", []any{a, b}, func(a, b int) int { return a + b }, func(a, b float64) float64 { return a + b })
}

func subtract(_ *run, args []any, _ map[string]any) (any, error) {
	return arithmetic("-", args, func(a, b int) int { return a - b }, func(a, b float64) float64 { return a - b })
}

func multiply(_ *run, args []any, _ map[string]any) (any, error) {
	if s, ok := args[0].(string); ok {
		n, ok := args[1].(int)
		if !ok {
			return nil, mismatch("*", args)
		}
		if n > 0 && len(s) > maxOutput/n {
			return nil, errTooLong
		}
		return strings.Repeat(s, max(0, n)), nil
	}
	return arithmetic("*", args, func(a, b int) int { return a * b }, func(a, b float64) float64 { return a * b })
}

func divide(_ *run, args []any, _ map[string]any) (any, error) {
	a, okA := number(args[0])
	b, okB := number(args[1])
	switch {
	case !okA || !okB:
		return nil, mismatch("/", args)
	case b == 0:
		return nil, errDivision
	}
	return a / b, nil
}

var errDivision = errors.New("division by zero")

// floorDivide and modulo round towards minus infinity, as Python does.
func floorDivide(_ *run, args []any, _ map[string]any) (any, error) {
	if b, ok := number(args[1]); ok && b == 0 {
		return nil, errDivision
	}
	return arithmetic("//", args, func(a, b int) int {
		q := a / b
		if a%b != 0 && (a < 0) != (b < 0) {
			q--
		}
		return q
	}, func(a, b float64) float64 { return math.Floor(a / b) })
}

func modulo(_ *run, args []any, _ map[string]any) (any, error) {
	if b, ok := number(args[1]); ok && b == 0 {
		return nil, errDivision
	}
	return arithmetic("%", args, func(a, b int) int {
		m := a % b
		if m != 0 && (m < 0) != (b < 0) {
			m += b
		}
		return m
	}, func(a, b float64) float64 { return a - float64(b*math.Floor(a/b)) })
}

// arithmetic computes with integers if both are, and with floats otherwise.
func arithmetic(sign string, args []any, ints func(a, b int) int, floats func(a, b float64) float64) (any, error) {
	a, okA := number(args[0])
	b, okB := number(args[1])
	if !okA || !okB {
		return nil, mismatch(sign, args)
	}
	_, floatA := args[0].(float64)
	_, floatB := args[1].(float64)
	if floatA || floatB {
		return floats(a, b), nil
	}
	return ints(toInt(args[0]), toInt(args[1])), nil
}

// toInt is for ints and bools, which number accepted.
func toInt(v any) int {
	if i, ok := v.(int); ok {
		return i
	}
	if v == true {
		return 1
	}
	return 0
}

// compare orders numbers and strings.
func (r *run) compare(a, b any) (int, error) {
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			switch {
			case x < y:
				return -1, nil
			case x > y:
				return 1, nil
			}
			return 0, nil
		}
	}
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return strings.Compare(r.fence.strip(x), r.fence.strip(y)), nil
		}
	}
	return 0, mismatch("<", []any{a, b})
}

// has is Python's "a in v".
func (r *run) has(v, a any) (bool, error) {
	switch v := v.(type) {
	case nil:
		return false, nil
	case string:
		s, ok := a.(string)
		if !ok {
			return false, mismatch("in", []any{a, v})
		}
		return strings.Contains(r.fence.strip(v), r.fence.strip(s)), nil
	case object:
		key, ok := a.(string)
		if !ok {
			return false, nil
		}
		_, found := v.get(r, key)
		return found, nil
	case list:
		for _, item := range v {
			if same, err := r.equal(item, a, 0); same || err != nil {
				return same, err
			}
		}
		return false, nil
	}
	return false, mismatch("in", []any{a, v})
}
