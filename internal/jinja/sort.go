package jinja

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// sortedBy returns a copy in the order of keys, or the other way round.
func sortedBy[T any](e *evaluator, list []T, key func(T) Value, reverse bool) ([]T, error) {
	if err := e.takeValues(len(list)); err != nil {
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
		c, err := e.compare(a.key, b.key, 0)
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

// keyed returns for each item what it is ordered by: an attribute of it or itself, strings in small letters.
func (e *evaluator) keyed(items []Value, attribute Value, caseSensitive bool) ([]Value, error) {
	keys := items
	var err error
	if attribute != nil {
		if keys, err = e.pluck(items, attribute, nil); err != nil {
			return nil, err
		}
	}
	if caseSensitive {
		return keys, nil
	}
	if err := e.takeValues(len(keys)); err != nil {
		return nil, err
	}
	keys = slices.Clone(keys)
	for i, k := range keys {
		if t, ok := k.(Text); ok {
			if keys[i], err = e.mapped(t, strings.ToLower); err != nil {
				return nil, err
			}
		}
	}
	return keys, nil
}

// order returns the items sorted by their keys.
func (e *evaluator) order(items, keys []Value, backwards bool) ([]entry, error) {
	if err := e.takeValues(len(items)); err != nil {
		return nil, err
	}
	list := make([]entry, len(items))
	for i := range items {
		list[i] = entry{keys[i], items[i]}
	}
	return sortedBy(e, list, func(x entry) Value { return x.key }, backwards)
}

func sortFilter(e *evaluator, v Value, a args) (Value, error) {
	items, err := e.items(v)
	if err != nil {
		return nil, err
	}
	var keys []Value
	if t, ok := a.or(2, nil).(Text); ok && strings.Contains(t.s, ",") {
		return nil, errors.New("sorting by several attributes is not supported")
	}
	if keys, err = e.keyed(items, a.or(2, nil), isTrue(a.or(1, false))); err != nil {
		return nil, err
	}
	sorted, err := e.order(items, keys, isTrue(a.or(0, false)))
	if err != nil {
		return nil, err
	}
	out := make([]Value, len(sorted))
	for i, x := range sorted {
		out[i] = x.value
	}
	return &List{Items: out}, nil
}

func dictSort(e *evaluator, v Value, a args) (Value, error) {
	d, ok := v.(*Dict)
	by, isText := a.or(1, Text{s: "key"}).(Text)
	if !ok || !isText || by.s != "key" && by.s != "value" {
		return nil, fmt.Errorf("%s sorted by %s; it takes a dictionary and \"key\" or \"value\"", kindName(v), by.s)
	}
	pairs, err := e.pairs(d)
	if err != nil {
		return nil, err
	}
	place := Value(int64(0))
	if by.s == "value" {
		place = int64(1)
	}
	keys, err := e.keyed(pairs, place, isTrue(a.or(0, false)))
	if err != nil {
		return nil, err
	}
	sorted, err := e.order(pairs, keys, isTrue(a.or(2, false)))
	for i, x := range sorted {
		pairs[i] = x.value
	}
	return NewList(pairs...), err
}

func groupBy(e *evaluator, v Value, a args) (Value, error) {
	items, err := e.items(v)
	if err != nil {
		return nil, err
	}
	own, err := e.pluck(items, a.or(0, nil), a.or(1, nil))
	if err != nil {
		return nil, err
	}
	keys, err := e.keyed(own, nil, isTrue(a.or(2, false)))
	if err != nil {
		return nil, err
	}
	pairs := make([]Value, len(items)) // the key as it stands, and the item
	for i := range items {
		pairs[i] = tuple(own[i], items[i])
	}
	sorted, err := e.order(pairs, keys, false)
	if err != nil {
		return nil, err
	}
	out, group := NewList(), (*List)(nil)
	for i, x := range sorted {
		same := false
		if i > 0 {
			if same, err = e.equal(sorted[i-1].key, x.key, 0); err != nil {
				return nil, err
			}
		}
		pair := x.value.(*List).Items
		if !same {
			if err := e.takeValues(3); err != nil {
				return nil, err
			}
			group = NewList()
			out.Items = append(out.Items, tuple(pair[0], group))
		}
		group.Items = append(group.Items, pair[1])
	}
	return out, nil
}

func unique(e *evaluator, v Value, a args) (Value, error) {
	items, err := e.items(v)
	if err != nil {
		return nil, err
	}
	keys, err := e.keyed(items, a.or(1, nil), isTrue(a.or(0, false)))
	if err != nil {
		return nil, err
	}
	seen := NewDict()
	var out []Value
	for i, k := range keys {
		n := len(seen.entries)
		if err := e.setKey(seen, k, nil); err != nil {
			return nil, err
		}
		if len(seen.entries) > n {
			out = append(out, items[i])
		}
	}
	return generator(out), nil
}

// extreme is max or min.
func extreme(sign int) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, a args) (Value, error) {
		items, err := e.items(v)
		if err != nil {
			return nil, err
		}
		keys, err := e.keyed(items, a.or(1, nil), isTrue(a.or(0, false)))
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return Undefined{"an item of what is empty"}, nil
		}
		best := 0
		for i := range keys {
			c, err := e.compare(keys[i], keys[best], 0)
			if err != nil {
				return nil, err
			}
			if c*sign > 0 {
				best = i
			}
		}
		return items[best], nil
	}
}
