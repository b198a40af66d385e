package values

import (
	"fmt"
	"math/big"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// Entry is a key of a dictionary with its value, or an item with the key that it is sorted by.
type Entry struct{ Key, Value Value }

// Dict is a dictionary, which keeps its keys' order. No two entries have keys of the same identity.
type Dict struct {
	Entries []Entry     // in the order in which the keys were first set; only Set changes them
	index   map[any]int // from a key's identity to its index in Entries; nil while there are few
}

// NewDict returns an empty dictionary.
func NewDict() *Dict { return &Dict{} }

// bigKey is the identity of an integer beyond 64 bits, noneKey that of None.
type (
	bigKey  string
	noneKey struct{}
)

// Identity returns what equal keys have in common, or false for values that cannot be keys.
func Identity(v Value) (any, bool) {
	switch v := v.(type) {
	case nil:
		return noneKey{}, true
	case texts.Text:
		return v.String(), true
	case bool:
		if v {
			return int64(1), true
		}
		return int64(0), true
	case int64:
		return v, true
	case float64:
		if i := int64(v); float64(i) == v && i != 1<<63-1 {
			return i, true
		}
		return v, true
	case *big.Int:
		return bigKey(v.String()), true
	case Undefined:
		return Undefined{}, true
	}
	return nil, false
}

// SmallDict is up to how many keys are compared one by one, without an index.
const SmallDict = 8

// find returns the place of a key.
func (d *Dict) find(id any) (int, bool) {
	if d.index != nil {
		i, ok := d.index[id]
		return i, ok
	}
	for i, e := range d.Entries {
		if t, ok := e.Key.(texts.Text); ok {
			if s, ok := id.(string); ok && s == t.String() {
				return i, true
			}
		} else if other, _ := Identity(e.Key); other == id {
			return i, true
		}
	}
	return 0, false
}

// Set adds or replaces the value of a key, which must be a string, a number, a bool or None.
func (d *Dict) Set(key, value Value) {
	id, ok := Identity(key)
	if !ok {
		return
	}
	if i, ok := d.find(id); ok {
		d.Entries[i].Value = value
		return
	}
	d.Entries = append(d.Entries, Entry{key, value})
	switch {
	case d.index != nil:
		d.index[id] = len(d.Entries) - 1
	case len(d.Entries) > SmallDict:
		d.index = make(map[any]int, 2*SmallDict)
		for i, e := range d.Entries {
			id, _ := Identity(e.Key)
			d.index[id] = i
		}
	}
}

// Get returns the value of a text key.
func (d *Dict) Get(key string) (Value, bool) {
	if i, ok := d.find(key); ok {
		return d.Entries[i].Value, true
	}
	return nil, false
}

// Keys returns the dictionary's keys.
func (d *Dict) Keys() *List {
	return d.View(func(e Entry) Value { return e.Key })
}

// View returns what of makes of each entry.
func (d *Dict) View(of func(Entry) Value) *List {
	l := &List{Items: make([]Value, len(d.Entries)), Kind: View}
	for i, e := range d.Entries {
		l.Items[i] = of(e)
	}
	return l
}

// SetKey sets a dictionary's key within the budget.
func (r *Runtime) SetKey(d *Dict, key, value Value) error {
	if _, ok := Identity(key); !ok {
		return fmt.Errorf("%s cannot be a key", KindName(key))
	}
	if t, ok := key.(texts.Text); ok {
		if err := r.Skim(SmallDict * len(t.String())); err != nil {
			return err
		}
	}
	if err := r.Take(3 * texts.ValueBytes); err != nil {
		return err
	}
	d.Set(key, value)
	return nil
}

// Pairs are a dictionary's keys with their values.
func (r *Runtime) Pairs(d *Dict) ([]Value, error) {
	if err := r.TakeValues(2 * len(d.Entries)); err != nil {
		return nil, err
	}
	return d.View(func(x Entry) Value { return NewTuple(x.Key, x.Value) }).Items, nil
}

// LookUp finds a key of a dictionary.
func (r *Runtime) LookUp(d *Dict, key Value) (Value, bool, error) {
	id, ok := Identity(key)
	if !ok {
		return nil, false, nil
	}
	t, isText := key.(texts.Text)
	if isText {
		if err := r.Skim(SmallDict * (texts.NodeWork + len(t.String()))); err != nil {
			return nil, false, err
		}
	}
	i, ok := d.find(id)
	if !ok {
		return nil, false, nil
	}
	if own, ok := d.Entries[i].Key.(texts.Text); ok && isText {
		r.match(own, t)
	}
	return d.Entries[i].Value, true, nil
}

// match notes, for Runtime.Matched, that a and b were found equal.
func (r *Runtime) match(a, b texts.Text) {
	x, okX := a.Single()
	y, okY := b.Single()
	if okX && okY && x != y && (x == 0 || y == 0) {
		r.Matched[x+y] = true
	}
}
