package jinja

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jinja/syntax"
	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

func toList(e *evaluator, v Value, _ args) (Value, error) {
	items, err := e.Items(v)
	if err != nil {
		return nil, err
	}
	if err := e.TakeValues(len(items) / 4); err != nil {
		return nil, err
	}
	return &List{Items: slices.Clone(items)}, nil
}

// generator is a list as Jinja's lazy filters return it.
func generator(items []Value) *List { return values.ListOf(values.Generator, items) }

func first(e *evaluator, v Value, _ args) (Value, error) {
	if l, ok := v.(*List); ok && len(l.Items) > 0 {
		one := l.Items[0]
		if l.Kind == values.Generator {
			l.Items = l.Items[1:]
		}
		return one, nil
	}
	return e.edge(v, false)
}

func lastItem(e *evaluator, v Value, _ args) (Value, error) {
	if l, ok := v.(*List); ok && l.Kind == values.Generator {
		return nil, fmt.Errorf("%s has no last item", values.KindName(v))
	}
	return e.edge(v, true)
}

func (e *evaluator) edge(v Value, last bool) (Value, error) {
	items, err := e.Items(v)
	switch {
	case err != nil:
		return nil, err
	case len(items) == 0:
		return values.Missing("an item of what is empty"), nil
	case last:
		return items[len(items)-1], nil
	}
	return items[0], nil
}

func reverse(e *evaluator, v Value, _ args) (Value, error) {
	if t, ok := v.(Text); ok {
		return e.SliceText(t, [3]Value{nil, nil, int64(-1)})
	}
	items, err := e.Items(v)
	if err != nil {
		return nil, err
	}
	if err := e.TakeValues(len(items) / 4); err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	return generator(items), nil
}

func itemsFilter(e *evaluator, v Value, _ args) (Value, error) {
	switch v := v.(type) {
	case Undefined:
		return generator(nil), nil
	case *Dict:
		items, err := e.Pairs(v)
		return generator(items), err
	}
	return nil, fmt.Errorf("items of %s; it takes a dictionary", values.KindName(v))
}

func joinFilter(e *evaluator, v Value, a args) (Value, error) {
	separator, err := e.Str(a.or(0, Text{}))
	if err != nil {
		return nil, err
	}
	items, err := e.Items(v)
	if err != nil {
		return nil, err
	}
	if name := a.or(1, nil); name != nil {
		if items, err = e.pluck(items, name, nil); err != nil {
			return nil, err
		}
	}
	return e.join(items, separator)
}

func (e *evaluator) join(items []Value, separator Text) (Value, error) {
	if err := e.TakeValues(len(items) / 2); err != nil {
		return nil, err
	}
	parts := make([]Text, len(items))
	var err error
	for i, item := range items {
		if parts[i], err = e.Str(item); err != nil {
			return nil, err
		}
	}
	return e.Concat(separator, parts...)
}

// pluck returns an attribute of each item: "a.b" is b of a, and digits are a place.
func (e *evaluator) pluck(items []Value, name, otherwise Value) ([]Value, error) {
	path := []Value{name}
	if t, ok := name.(Text); ok {
		if err := e.Spend(4 * len(t.String())); err != nil {
			return nil, err
		}
		path = nil
		for _, part := range strings.SplitN(t.String(), ".", syntax.MaxNesting) {
			if i, err := strconv.ParseInt(part, 10, 32); err == nil {
				path = append(path, i)
			} else {
				path = append(path, texts.Own(part))
			}
		}
	}
	if err := e.TakeValues(len(items) / 4); err != nil {
		return nil, err
	}
	out := make([]Value, len(items))
	for i, v := range items {
		var err error
		for _, key := range path {
			if v, err = e.item(v, key); err != nil {
				return nil, err
			}
			if _, missing := v.(Undefined); missing && otherwise != nil {
				v = otherwise
			}
		}
		out[i] = v
	}
	return out, nil
}

// mapFilter is map("filter", …) or map(attribute=…, default=…).
func mapFilter(e *evaluator, v Value, a args) (Value, error) {
	if !values.IsTrue(v) { // None, too
		return generator(nil), nil
	}
	items, err := e.Items(v)
	if err != nil {
		return nil, err
	}
	if len(a.values) == 0 {
		name, ok := a.take("attribute")
		otherwise, _ := a.take("default")
		if !ok || len(a.named) > 0 {
			return nil, errors.New("it takes the name of a filter, or attribute= and default=")
		}
		items, err = e.pluck(items, name, otherwise)
		return generator(items), err
	}
	out := make([]Value, len(items))
	if err := e.TakeValues(len(items) / 4); err != nil {
		return nil, err
	}
	for i, item := range items {
		if out[i], err = e.byName(e.filters, "filter", item, a); err != nil {
			return nil, err
		}
	}
	return generator(out), nil
}

// byName runs the filter or test that the first of the arguments names.
func (e *evaluator) byName(table map[string]*builtin, kind string, v Value, a args) (Value, error) {
	name, _ := a.values[0].(Text)
	if !named(table, name) {
		return nil, fmt.Errorf("no %s is named %.40q", kind, name.String())
	}
	if err := e.Spend(texts.NodeWork); err != nil {
		return nil, err
	}
	return table[name.String()].call(e, name.String(), v, args{a.values[1:], a.named})
}

// selected is select, reject, selectattr and rejectattr: the items of which a test, or the truth, has the wanted outcome.
func selected(byAttribute, want bool) func(*evaluator, Value, args) (Value, error) {
	return func(e *evaluator, v Value, a args) (Value, error) {
		if !values.IsTrue(v) { // None, too
			return generator(nil), nil
		}
		items, err := e.Items(v)
		if err != nil {
			return nil, err
		}
		subjects := items
		if byAttribute {
			if len(a.values) == 0 {
				return nil, errors.New("the name of an attribute is missing")
			}
			if subjects, err = e.pluck(items, a.values[0], nil); err != nil {
				return nil, err
			}
			a.values = a.values[1:]
		}
		if err := e.TakeValues(len(items) / 2); err != nil {
			return nil, err
		}
		var out []Value
		for i, subject := range subjects {
			holds := Value(subject)
			if len(a.values) > 0 {
				if holds, err = e.byName(e.tests, "test", subject, a); err != nil {
					return nil, err
				}
			}
			if err := e.Spend(texts.NodeWork / 4); err != nil {
				return nil, err
			}
			if values.IsTrue(holds) == want {
				out = append(out, items[i])
			}
		}
		return generator(out), nil
	}
}

func sum(e *evaluator, v Value, a args) (Value, error) {
	items, err := e.Items(v)
	if err != nil {
		return nil, err
	}
	if name := a.or(0, nil); name != nil {
		if items, err = e.pluck(items, name, nil); err != nil {
			return nil, err
		}
	}
	total := a.or(1, int64(0))
	if _, ok := total.(Text); ok {
		return nil, errors.New("strings are joined, not summed")
	}
	for _, item := range items {
		if err := e.Spend(texts.NodeWork); err != nil {
			return nil, err
		}
		if total, err = e.Arithmetic("+", total, item); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// batch cuts a list into lists of n items.
func batch(e *evaluator, v Value, a args) (Value, error) {
	items, err := e.Items(v)
	if err != nil {
		return nil, err
	}
	n, err := a.integer(0, 0)
	if err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fmt.Errorf("batches of %d", n)
	}
	var out []Value
	for len(items) > 0 {
		part := items[:min(n, len(items))]
		items = items[len(part):]
		filled, err := e.filled(part, a.or(1, nil), n-len(part))
		if err != nil {
			return nil, err
		}
		out = append(out, filled)
	}
	return generator(out), nil
}

// filled is a list of the items and, unless with is None, n times with.
func (e *evaluator) filled(items []Value, with Value, n int) (Value, error) {
	if with == nil || n < 0 {
		n = 0
	}
	if err := e.TakeValues((len(items)+n)/4 + 1); err != nil {
		return nil, err
	}
	return NewList(append(slices.Clone(items), slices.Repeat([]Value{with}, n)...)...), nil
}

// sliced cuts a list into n lists.
func sliced(e *evaluator, v Value, a args) (Value, error) {
	items, err := e.Items(v)
	if err != nil {
		return nil, err
	}
	n, err := a.integer(0, 0)
	if err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fmt.Errorf("%d slices", n)
	}
	if err := e.TakeValues(n); err != nil {
		return nil, err
	}
	var out []Value
	size, longer := len(items)/n, len(items)%n
	for i := range n {
		k, fill := size, 0
		if i < longer {
			k++
		} else if longer > 0 {
			fill = 1
		}
		part, err := e.filled(items[:k], a.or(1, nil), fill)
		if err != nil {
			return nil, err
		}
		items = items[k:]
		out = append(out, part)
	}
	return generator(out), nil
}
