package values

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// Values compare as in Python: numbers by value whatever their type, strings and lists element by element. Values of different kinds are
// unequal, but have no order. Each comparison is paid for from the template's budget. For example,
//
//	1 == 1.0, True == 1    true
//	1 == "1"               false
//	[1, 2] < [1, 3]        true: the first items are equal, and 2 < 3
//	[1] < [1, 0]           true: all items of the shorter list are equal
//	"b" in {"b": 0}        true: it is a key
//	1 < "a"                an error

// Holds decides a comparison.
func (r *Runtime) Holds(operator string, a, b Value) (bool, error) {
	switch operator {
	case "==":
		return r.Equal(a, b, 0)
	case "!=":
		same, err := r.Equal(a, b, 0)
		return !same, err
	case "in":
		return r.Contains(b, a)
	case "not in":
		found, err := r.Contains(b, a)
		return !found, err
	}
	c, err := r.Compare(a, b, 0)
	switch operator {
	case "<":
		return c < 0, err
	case "<=":
		return c <= 0, err
	case ">":
		return c > 0, err
	}
	return c >= 0, err
}

// Equal is Python's a == b.
func (r *Runtime) Equal(a, b Value, depth int) (bool, error) {
	if err := r.Spend(texts.NodeWork / 2); err != nil {
		return false, err
	}
	if depth > maxDepth {
		return false, fmt.Errorf("lists nested deeper than %d", maxDepth)
	}
	if x, ok := NumberOf(a); ok {
		y, ok := NumberOf(b)
		return ok && x.Compare(y) == 0, r.Spend(x.work() + y.work())
	}
	switch a := a.(type) {
	case texts.Text:
		b, ok := b.(texts.Text)
		if !ok || len(a.String()) != len(b.String()) {
			return false, nil
		}
		if err := r.Skim(len(a.String())); err != nil || a.String() != b.String() {
			return false, err
		}
		r.match(a, b)
		return true, nil
	case *List:
		b, ok := b.(*List)
		if !ok || a.Kind != b.Kind || a.Kind == Generator || len(a.Items) != len(b.Items) {
			return ok && a == b, nil
		}
		for i := range a.Items {
			if same, err := r.Equal(a.Items[i], b.Items[i], depth+1); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case *Dict:
		b, ok := b.(*Dict)
		if !ok || len(a.Entries) != len(b.Entries) {
			return false, nil
		}
		for _, x := range a.Entries {
			other, ok, err := r.LookUp(b, x.Key)
			if !ok || err != nil {
				return false, err
			}
			if same, err := r.Equal(x.Value, other, depth+1); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case Undefined:
		_, ok := b.(Undefined)
		return ok, nil
	}
	return a == b, nil // None, and values that equal only themselves
}

// Compare is the order of a and b, for values that Python can order.
func (r *Runtime) Compare(a, b Value, depth int) (int, error) {
	if err := r.Spend(texts.NodeWork / 2); err != nil {
		return 0, err
	}
	if depth > maxDepth {
		return 0, fmt.Errorf("lists nested deeper than %d", maxDepth)
	}
	if x, ok := NumberOf(a); ok {
		if y, ok := NumberOf(b); ok {
			return x.Compare(y), r.Spend(x.work() + y.work())
		}
	}
	switch a := a.(type) {
	case texts.Text:
		if b, ok := b.(texts.Text); ok {
			return strings.Compare(a.String(), b.String()), r.Skim(min(len(a.String()), len(b.String())))
		}
	case *List:
		b, ok := b.(*List)
		if !ok || a.Kind != b.Kind || a.Kind > Tuple {
			break
		}
		for i := range min(len(a.Items), len(b.Items)) {
			same, err := r.Equal(a.Items[i], b.Items[i], depth+1)
			if err != nil {
				return 0, err
			}
			if !same {
				return r.Compare(a.Items[i], b.Items[i], depth+1)
			}
		}
		return cmp.Compare(len(a.Items), len(b.Items)), nil
	}
	return 0, fmt.Errorf("%s and %s have no order", KindName(a), KindName(b))
}

// Contains is Python's v in where.
func (r *Runtime) Contains(where, v Value) (bool, error) {
	switch where := where.(type) {
	case texts.Text:
		t, ok := v.(texts.Text)
		if !ok {
			return false, fmt.Errorf("%s in a string", KindName(v))
		}
		if err := r.Search(where.String(), t.String()); err != nil {
			return false, err
		}
		found := strings.Contains(where.String(), t.String())
		if found {
			r.match(where, t)
		}
		return found, nil
	case *Dict:
		if _, ok := Identity(v); !ok {
			return false, fmt.Errorf("%s cannot be a key", KindName(v))
		}
		_, ok, err := r.LookUp(where, v)
		return ok, err
	}
	items, err := r.Items(where)
	if err != nil {
		return false, err
	}
	for _, item := range items {
		if same, err := r.Equal(v, item, 0); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// sortedBy returns a copy in the order of keys, or the other way round.
func sortedBy[T any](r *Runtime, list []T, key func(T) Value, reverse bool) ([]T, error) {
	if err := r.TakeValues(len(list)); err != nil {
		return nil, err
	}
	type item struct {
		value T
		key   Value
		at    int
	}
	items := make([]item, len(list))
	for i, v := range list {
		items[i] = item{v, key(v), i}
	}
	var failed error
	slices.SortFunc(items, func(a, b item) int {
		if failed != nil || a.at == b.at {
			return a.at - b.at
		}
		c, err := r.Compare(a.key, b.key, 0)
		failed = err
		switch {
		case c == 0:
			return a.at - b.at // stable, also when reversed
		case reverse:
			return -c
		}
		return c
	})
	out := make([]T, len(list))
	for i, x := range items {
		out[i] = x.value
	}
	return out, failed
}

// Order returns the items sorted by their keys.
func (r *Runtime) Order(items, keys []Value, backwards bool) ([]Entry, error) {
	if err := r.TakeValues(len(items)); err != nil {
		return nil, err
	}
	list := make([]Entry, len(items))
	for i := range items {
		list[i] = Entry{keys[i], items[i]}
	}
	return sortedBy(r, list, func(x Entry) Value { return x.Key }, backwards)
}
