package jinja

import (
	"fmt"
	"math/big"
	"sort"
)

// Value is what a template computes with:
//
//	nil                     None
//	bool, int64, float64    as in Python
//	*big.Int                an integer beyond 64 bits
//	Text                    a string
//	*List                   a list, a tuple, or what an iterator yields
//	*Dict                   a dictionary
//	*Namespace              namespace()
//	*Function               a function of the caller's
//	Undefined               a name, key or attribute that is not there
//
// and, within this package, macros, methods and loops.
type Value any

// Undefined is the value of what is not there. It prints as nothing, and most operations on it are errors.
type Undefined struct{ what string }

func (u Undefined) err() error { return fmt.Errorf("%s is undefined", u.what) }

type listKind uint8

// The kinds of lists. A generator's items are computed at once here, other than in Jinja; but, as in Python, a generator is
// true, has no length and no items by number, and is empty once it has been read.
const (
	aList listKind = iota
	aTuple
	aRange
	aView // a dictionary's keys(), values() or items()
	aGenerator
)

// List is a sequence of values.
type List struct {
	Items []Value
	kind  listKind
}

// NewList returns a list of the values.
func NewList(items ...Value) *List { return &List{Items: items} }

func tuple(items ...Value) *List { return &List{Items: items, kind: aTuple} }

// entry is a key of a dictionary with its value, or an item with the key that it is sorted by.
type entry struct{ key, value Value }

// Dict is a dictionary, which keeps its keys' order. No two entries have keys of the same identity.
type Dict struct {
	entries []entry     // in the order in which the keys were first set
	index   map[any]int // from a key's identity to its index in entries; nil while there are few
}

// NewDict returns an empty dictionary.
func NewDict() *Dict { return &Dict{} }

// bigKey is the identity of an integer beyond 64 bits, noneKey that of None.
type (
	bigKey  string
	noneKey struct{}
)

// identity returns what equal keys have in common, or false for values that cannot be keys.
func identity(v Value) (any, bool) {
	switch v := v.(type) {
	case nil:
		return noneKey{}, true
	case Text:
		return v.s, true
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

// smallDict is up to how many keys are compared one by one, without an index.
const smallDict = 8

// find returns the place of a key.
func (d *Dict) find(id any) (int, bool) {
	if d.index != nil {
		i, ok := d.index[id]
		return i, ok
	}
	for i, e := range d.entries {
		if t, ok := e.key.(Text); ok {
			if s, ok := id.(string); ok && s == t.s {
				return i, true
			}
		} else if other, _ := identity(e.key); other == id {
			return i, true
		}
	}
	return 0, false
}

// Set adds or replaces the value of a key, which must be a string, a number, a bool or None.
func (d *Dict) Set(key, value Value) {
	id, ok := identity(key)
	if !ok {
		return
	}
	if i, ok := d.find(id); ok {
		d.entries[i].value = value
		return
	}
	d.entries = append(d.entries, entry{key, value})
	switch {
	case d.index != nil:
		d.index[id] = len(d.entries) - 1
	case len(d.entries) > smallDict:
		d.index = make(map[any]int, 2*smallDict)
		for i, e := range d.entries {
			id, _ := identity(e.key)
			d.index[id] = i
		}
	}
}

// Get returns the value of a text key.
func (d *Dict) Get(key string) (Value, bool) {
	if i, ok := d.find(key); ok {
		return d.entries[i].value, true
	}
	return nil, false
}

// keys, values and items are the dictionary's views.
func (d *Dict) keys() *List {
	return d.view(func(e entry) Value { return e.key })
}

func (d *Dict) view(of func(entry) Value) *List {
	l := &List{Items: make([]Value, len(d.entries)), kind: aView}
	for i, e := range d.entries {
		l.Items[i] = of(e)
	}
	return l
}

// Namespace is an object whose attributes {% set ns.x = … %} changes from within a loop.
type Namespace struct{ values Dict }

// Function is a function that the caller of Render provides.
type Function struct {
	Call   func(args []Value) (Value, error) // its error is reported in its own words
	Hidden bool                              // the function can be called, but "is defined" says no
}

// isTrue is Python's bool(v).
func isTrue(v Value) bool {
	switch v := v.(type) {
	case nil, Undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case Text:
		return v.s != ""
	case *List:
		return len(v.Items) > 0 || v.kind == aGenerator
	case *Dict:
		return len(v.entries) > 0
	}
	return true
}

// kindName is for error messages.
func kindName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case Undefined:
		return "undefined"
	case Text:
		return "a string"
	case *List:
		return [...]string{"a list", "a tuple", "a range", "a dictionary's view", "an iterator"}[v.kind]
	case *Dict:
		return "a dictionary"
	case int64, *big.Int:
		return "an integer"
	case float64:
		return "a float"
	case bool:
		return "a bool"
	case *Namespace:
		return "a namespace"
	}
	return "a function"
}

// sortedNames returns the names of a table, for error messages and tests.
func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
