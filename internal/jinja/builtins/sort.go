package builtins

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// keyed returns for each item its key in the order: an attribute of it or itself, strings in small letters.
func (e *Environment) keyed(items []values.Value, attribute values.Value, caseSensitive bool) ([]values.Value, error) {
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
	if err := e.TakeValues(len(keys)); err != nil {
		return nil, err
	}
	keys = slices.Clone(keys)
	for i, k := range keys {
		if t, ok := k.(texts.Text); ok {
			if keys[i], err = e.Mapped(t, strings.ToLower); err != nil {
				return nil, err
			}
		}
	}
	return keys, nil
}

func sortFilter(e *Environment, v values.Value, a Args) (values.Value, error) {
	items, err := e.Items(v)
	if err != nil {
		return nil, err
	}
	var keys []values.Value
	if t, ok := a.or(2, nil).(texts.Text); ok && strings.Contains(t.String(), ",") {
		return nil, errors.New("sorting by several attributes is not supported")
	}
	if keys, err = e.keyed(items, a.or(2, nil), values.IsTrue(a.or(1, false))); err != nil {
		return nil, err
	}
	sorted, err := e.Order(items, keys, values.IsTrue(a.or(0, false)))
	if err != nil {
		return nil, err
	}
	out := make([]values.Value, len(sorted))
	for i, x := range sorted {
		out[i] = x.Value
	}
	return &values.List{Items: out}, nil
}

func dictSort(e *Environment, v values.Value, a Args) (values.Value, error) {
	d, ok := v.(*values.Dict)
	by, isText := a.or(1, texts.Own("key")).(texts.Text)
	if !ok || !isText || by.String() != "key" && by.String() != "value" {
		return nil, fmt.Errorf("%s sorted by %s; it takes a dictionary and \"key\" or \"value\"", values.KindName(v), by.String())
	}
	pairs, err := e.Pairs(d)
	if err != nil {
		return nil, err
	}
	place := values.Value(int64(0))
	if by.String() == "value" {
		place = int64(1)
	}
	keys, err := e.keyed(pairs, place, values.IsTrue(a.or(0, false)))
	if err != nil {
		return nil, err
	}
	sorted, err := e.Order(pairs, keys, values.IsTrue(a.or(2, false)))
	for i, x := range sorted {
		pairs[i] = x.Value
	}
	return values.NewList(pairs...), err
}

func groupBy(e *Environment, v values.Value, a Args) (values.Value, error) {
	items, err := e.Items(v)
	if err != nil {
		return nil, err
	}
	own, err := e.pluck(items, a.or(0, nil), a.or(1, nil))
	if err != nil {
		return nil, err
	}
	keys, err := e.keyed(own, nil, values.IsTrue(a.or(2, false)))
	if err != nil {
		return nil, err
	}
	pairs := make([]values.Value, len(items)) // the key as it stands, and the item
	for i := range items {
		pairs[i] = values.NewTuple(own[i], items[i])
	}
	sorted, err := e.Order(pairs, keys, false)
	if err != nil {
		return nil, err
	}
	out, group := values.NewList(), (*values.List)(nil)
	for i, x := range sorted {
		same := false
		if i > 0 {
			if same, err = e.Equal(sorted[i-1].Key, x.Key, 0); err != nil {
				return nil, err
			}
		}
		pair := x.Value.(*values.List).Items
		if !same {
			if err := e.TakeValues(3); err != nil {
				return nil, err
			}
			group = values.NewList()
			out.Items = append(out.Items, values.NewTuple(pair[0], group))
		}
		group.Items = append(group.Items, pair[1])
	}
	return out, nil
}

func unique(e *Environment, v values.Value, a Args) (values.Value, error) {
	items, err := e.Items(v)
	if err != nil {
		return nil, err
	}
	keys, err := e.keyed(items, a.or(1, nil), values.IsTrue(a.or(0, false)))
	if err != nil {
		return nil, err
	}
	seen := values.NewDict()
	var out []values.Value
	for i, k := range keys {
		n := len(seen.Entries)
		if err := e.SetKey(seen, k, nil); err != nil {
			return nil, err
		}
		if len(seen.Entries) > n {
			out = append(out, items[i])
		}
	}
	return generator(out), nil
}

// extreme is max or min.
func extreme(sign int) func(*Environment, values.Value, Args) (values.Value, error) {
	return func(e *Environment, v values.Value, a Args) (values.Value, error) {
		items, err := e.Items(v)
		if err != nil {
			return nil, err
		}
		keys, err := e.keyed(items, a.or(1, nil), values.IsTrue(a.or(0, false)))
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return values.Missing("an item of what is empty"), nil
		}
		best := 0
		for i := range keys {
			c, err := e.Compare(keys[i], keys[best], 0)
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
