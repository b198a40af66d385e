// Package builtins has what templates call without having made it: filters ("x|trim"), tests ("x is string"), methods ("x.split()") and
// functions ("range(3)").
//
// A [Builtin] is a row of a table: the names of its parameters, and a Go function that gets the value and the arguments, bound to those names:
//
//	"join": {Names: []string{"d", "attribute"}, Do: joinFilter} // x|join(", "), x|join(d=", ")
package builtins

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// Args are the values that a call passes.
type Args struct {
	Values []values.Value
	Named  []NamedValue
}

// NamedValue is an argument with its name.
type NamedValue struct {
	Name  string
	Value values.Value
}

// absent stands for an argument that was left out.
type absent struct{}

// Take returns a named argument, and removes it.
func (a *Args) Take(name string) (values.Value, bool) {
	for i, n := range a.Named {
		if n.Name == name {
			a.Named = slices.Concat(a.Named[:i], a.Named[i+1:])
			return n.Value, true
		}
	}
	return nil, false
}

// Bind puts arguments in the order of names.
func Bind(a Args, names []string, need int) (Args, error) {
	if len(a.Values) > len(names) {
		return a, fmt.Errorf("%d arguments; it takes %d", len(a.Values), len(names))
	}
	out := Args{Values: make([]values.Value, len(names))}
	copy(out.Values, a.Values)
	for i := len(a.Values); i < len(names); i++ {
		v, ok := a.Take(names[i])
		if !ok {
			if i < need {
				return a, fmt.Errorf("the argument %s is missing", names[i])
			}
			v = absent{}
		}
		out.Values[i] = v
	}
	if len(a.Named) > 0 {
		return a, fmt.Errorf("it takes no argument %s, or that one is given twice", a.Named[0].Name)
	}
	return out, nil
}

// or returns argument i, or otherwise if it is absent.
func (a Args) or(i int, otherwise values.Value) values.Value {
	if i >= len(a.Values) {
		return otherwise
	}
	if _, missing := a.Values[i].(absent); missing {
		return otherwise
	}
	return a.Values[i]
}

// integer returns argument i as an integer that counts something.
func (a Args) integer(i, otherwise int) (int, error) {
	v := a.or(i, int64(otherwise))
	n, ok := values.Index(v)
	if !ok {
		return 0, fmt.Errorf("argument %d is %s, not an integer", i+1, values.KindName(v))
	}
	return n, nil
}

// text returns argument i as a string.
func (a Args) text(i int) (texts.Text, error) {
	t, ok := a.or(i, nil).(texts.Text)
	if !ok {
		return t, fmt.Errorf("argument %d is %s, not a string", i+1, values.KindName(a.or(i, nil)))
	}
	return t, nil
}

// field is the argument that a replacement field names.
func (a Args) field(name string) (values.Value, error) {
	if i, err := strconv.Atoi(name); err == nil && 0 <= i && i < len(a.Values) {
		return a.Values[i], nil
	}
	for _, n := range a.Named {
		if n.Name == name {
			return n.Value, nil
		}
	}
	return nil, fmt.Errorf("no value for {%.40s}", name)
}
