package builtins

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// The filters of lists. In
//
//	{{ users | map(attribute="name") | select | join(", ") }}
//
// map returns a list of the kind Generator, as Jinja's filter is lazy: such a list can be read once, and has no length and no last item.
// select leaves out the values that are not true, and join writes the others with the separator between them.

func toList(e *Environment, v values.Value, _ Args) (values.Value, error) {
	items, err := e.Items(v)
	if err != nil {
		return nil, err
	}
	if err := e.TakeValues(len(items) / 4); err != nil {
		return nil, err
	}
	return &values.List{Items: slices.Clone(items)}, nil
}

// generator is a list as Jinja's lazy filters return it.
func generator(items []values.Value) *values.List { return values.ListOf(values.Generator, items) }

func first(e *Environment, v values.Value, _ Args) (values.Value, error) {
	if l, ok := v.(*values.List); ok && len(l.Items) > 0 {
		one := l.Items[0]
		if l.Kind == values.Generator {
			l.Items = l.Items[1:]
		}
		return one, nil
	}
	return e.edge(v, false)
}

func lastItem(e *Environment, v values.Value, _ Args) (values.Value, error) {
	if l, ok := v.(*values.List); ok && l.Kind == values.Generator {
		return nil, fmt.Errorf("%s has no last item", values.KindName(v))
	}
	return e.edge(v, true)
}

func (e *Environment) edge(v values.Value, last bool) (values.Value, error) {
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

func reverse(e *Environment, v values.Value, _ Args) (values.Value, error) {
	if t, ok := v.(texts.Text); ok {
		return e.SliceText(t, [3]values.Value{nil, nil, int64(-1)})
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

func itemsFilter(e *Environment, v values.Value, _ Args) (values.Value, error) {
	switch v := v.(type) {
	case values.Undefined:
		return generator(nil), nil
	case *values.Dict:
		items, err := e.Pairs(v)
		return generator(items), err
	}
	return nil, fmt.Errorf("items of %s; it takes a dictionary", values.KindName(v))
}

func joinFilter(e *Environment, v values.Value, a Args) (values.Value, error) {
	separator, err := e.Str(a.or(0, texts.Text{}))
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

func (e *Environment) join(items []values.Value, separator texts.Text) (values.Value, error) {
	if err := e.TakeValues(len(items) / 2); err != nil {
		return nil, err
	}
	parts := make([]texts.Text, len(items))
	var err error
	for i, item := range items {
		if parts[i], err = e.Str(item); err != nil {
			return nil, err
		}
	}
	return e.Concat(separator, parts...)
}

// maxPath bounds the attributes of attributes that "a.b" asks for.
const maxPath = 64

// pluck returns an attribute of each item: "a.b" is b of a, and digits are a place.
func (e *Environment) pluck(items []values.Value, name, otherwise values.Value) ([]values.Value, error) {
	path := []values.Value{name}
	if t, ok := name.(texts.Text); ok {
		if err := e.Spend(4 * len(t.String())); err != nil {
			return nil, err
		}
		path = nil
		for _, part := range strings.SplitN(t.String(), ".", maxPath) {
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
	out := make([]values.Value, len(items))
	for i, v := range items {
		var err error
		for _, key := range path {
			if v, err = e.Item(v, key); err != nil {
				return nil, err
			}
			if _, missing := v.(values.Undefined); missing && otherwise != nil {
				v = otherwise
			}
		}
		out[i] = v
	}
	return out, nil
}

// mapFilter is map("filter", …) or map(attribute=…, default=…).
func mapFilter(e *Environment, v values.Value, a Args) (values.Value, error) {
	if !values.IsTrue(v) { // None, too
		return generator(nil), nil
	}
	items, err := e.Items(v)
	if err != nil {
		return nil, err
	}
	if len(a.Values) == 0 {
		name, ok := a.Take("attribute")
		otherwise, _ := a.Take("default")
		if !ok || len(a.Named) > 0 {
			return nil, errors.New("it takes the name of a filter, or attribute= and default=")
		}
		items, err = e.pluck(items, name, otherwise)
		return generator(items), err
	}
	out := make([]values.Value, len(items))
	if err := e.TakeValues(len(items) / 4); err != nil {
		return nil, err
	}
	for i, item := range items {
		if out[i], err = e.byName(e.Filters, "filter", item, a); err != nil {
			return nil, err
		}
	}
	return generator(out), nil
}

// byName runs the filter or test that the first of the arguments names.
func (e *Environment) byName(table map[string]*Builtin, kind string, v values.Value, a Args) (values.Value, error) {
	name, _ := a.Values[0].(texts.Text)
	if !named(table, name) {
		return nil, fmt.Errorf("no %s is named %.40q", kind, name.String())
	}
	if err := e.Spend(texts.NodeWork); err != nil {
		return nil, err
	}
	return table[name.String()].Call(e, name.String(), v, Args{a.Values[1:], a.Named})
}

// selected is select, reject, selectattr and rejectattr: it returns the items for which a test, or their truth, gives want.
func selected(byAttribute, want bool) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, a Args) (values.Value, error) {
		if !values.IsTrue(v) { // None, too
			return generator(nil), nil
		}
		items, err := e.Items(v)
		if err != nil {
			return nil, err
		}
		subjects := items
		if byAttribute {
			if len(a.Values) == 0 {
				return nil, errors.New("the name of an attribute is missing")
			}
			if subjects, err = e.pluck(items, a.Values[0], nil); err != nil {
				return nil, err
			}
			a.Values = a.Values[1:]
		}
		if err := e.TakeValues(len(items) / 2); err != nil {
			return nil, err
		}
		var out []values.Value
		for i, subject := range subjects {
			holds := values.Value(subject)
			if len(a.Values) > 0 {
				if holds, err = e.byName(e.Tests, "test", subject, a); err != nil {
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

func sum(e *Environment, v values.Value, a Args) (values.Value, error) {
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
	if _, ok := total.(texts.Text); ok {
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
func batch(e *Environment, v values.Value, a Args) (values.Value, error) {
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
	var out []values.Value
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
func (e *Environment) filled(items []values.Value, with values.Value, n int) (values.Value, error) {
	if with == nil || n < 0 {
		n = 0
	}
	if err := e.TakeValues((len(items)+n)/4 + 1); err != nil {
		return nil, err
	}
	return values.NewList(append(slices.Clone(items), slices.Repeat([]values.Value{with}, n)...)...), nil
}

// sliced cuts a list into n lists.
func sliced(e *Environment, v values.Value, a Args) (values.Value, error) {
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
	var out []values.Value
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
