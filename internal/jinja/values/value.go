// Package values has what templates compute with, and Python's operators on it: arithmetic, comparison, membership, printing, JSON.
//
// The operators are methods of [Runtime], because each of them asks the meter of the rendering: "a" * 1000000 is paid for before it is made.
package values

import (
	"fmt"
	"math/big"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
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
// and what the interpreter adds: macros, methods and loops.
type Value any

// Undefined is the value of a name, key or attribute that does not exist. It prints as nothing, and most operations on it are errors.
type Undefined struct{ what string }

// Missing returns the Undefined for something that errors call what.
func Missing(what string) Undefined { return Undefined{what} }

// Err returns the error of an operation that takes no undefined value.
func (u Undefined) Err() error { return fmt.Errorf("%s is undefined", u.what) }

// ListKind says what a List is to Python.
type ListKind uint8

// The kinds of lists. A generator's items are computed at once here, other than in Jinja; but, as in Python, a generator is
// true, has no length and no items by number, and is empty once it has been read.
const (
	PlainList ListKind = iota
	Tuple
	Range
	View // a dictionary's keys(), values() or items()
	Generator
)

// List is a sequence of values.
type List struct {
	Items []Value
	Kind  ListKind
}

// NewList returns a list of the values.
func NewList(items ...Value) *List { return &List{Items: items} }

// NewTuple returns a tuple of the values.
func NewTuple(items ...Value) *List { return &List{Items: items, Kind: Tuple} }

// ListOf returns a list of a kind.
func ListOf(kind ListKind, items []Value) *List { return &List{items, kind} }

// Namespace is an object with attributes that {% set ns.x = … %} changes from within a loop.
type Namespace struct{ Values Dict }

// Function is a function that the caller of Render provides.
type Function struct {
	Call   func(args []Value) (Value, error) // its error is reported in its own words
	Hidden bool                              // the function can be called, but "is defined" says no
}

// Runtime is what the operations on values share during one rendering.
type Runtime struct {
	texts.Meter
	Matched map[texts.Origin]bool // the origins of the texts that were found equal to one of the template's own
}

// Is reports whether a value is of a Go type.
func Is[T any](v Value) bool {
	_, ok := v.(T)
	return ok
}

// IsTrue is Python's bool(v).
func IsTrue(v Value) bool {
	switch v := v.(type) {
	case nil, Undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case texts.Text:
		return v.String() != ""
	case *List:
		return len(v.Items) > 0 || v.Kind == Generator
	case *Dict:
		return len(v.Entries) > 0
	}
	return true
}

// KindName returns what a value is, in words, for error messages.
func KindName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case Undefined:
		return "undefined"
	case texts.Text:
		return "a string"
	case *List:
		return [...]string{"a list", "a tuple", "a range", "a dictionary's view", "an iterator"}[v.Kind]
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

// maxDepth bounds lists within lists that are printed or compared.
const maxDepth = 100
