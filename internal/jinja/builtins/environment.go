package builtins

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// Environment is what builtins work in: the operations on values, and the filters, tests and methods, which some filters call by their names.
// It is of one rendering. The tables are the same for all, and are not changed.
type Environment struct {
	values.Runtime
	Filters map[string]*Builtin
	Tests   map[string]*Builtin
	methods func(v values.Value) map[string]*Builtin // MethodsOf
}

// Object is a value of the interpreter's that has attributes and can be called: a loop or a macro.
type Object interface {
	// Attribute returns an attribute; ok is false if there is no such attribute.
	Attribute(name string) (value values.Value, ok bool, err error)
}

// Attribute is v.name: a method, else an item.
func (e *Environment) Attribute(v values.Value, name string) (values.Value, error) {
	if u, ok := v.(values.Undefined); ok {
		return nil, fmt.Errorf("%s of what is undefined: %w", name, u.Err())
	}
	if value, ok, err := e.member(v, name); ok || err != nil {
		return value, err
	}
	if d, ok := v.(*values.Dict); ok {
		if value, ok := d.Get(name); ok {
			return value, nil
		}
	}
	return values.Missing(name), e.Take(texts.ValueBytes / 2)
}

// member is an attribute that is no item: a method, or what a namespace or a loop has.
func (e *Environment) member(v values.Value, name string) (values.Value, bool, error) {
	switch v := v.(type) {
	case *values.Namespace:
		value, ok := v.Values.Get(name)
		return value, ok, nil
	case Object:
		return v.Attribute(name)
	}
	if m, ok := e.methods(v)[name]; ok {
		return &Method{v, name, m}, true, e.Take(texts.ValueBytes)
	}
	return nil, false, nil
}

// Item is v[key]: an item, else an attribute.
func (e *Environment) Item(v, key values.Value) (values.Value, error) {
	switch c := v.(type) {
	case values.Undefined:
		return nil, fmt.Errorf("an item of what is undefined: %w", c.Err())
	case *values.Dict:
		value, ok, err := e.LookUp(c, key)
		if ok || err != nil {
			return value, err
		}
	case *values.List:
		if i, ok := e.Position(key, len(c.Items)); ok && c.Kind <= values.Range {
			return c.Items[i], nil
		}
	case texts.Text:
		if _, ok := values.Index(key); ok {
			n, err := e.Count(c)
			if err != nil {
				return nil, err
			}
			if i, ok := e.Position(key, n); ok {
				from, to, err := e.Meter.Window(c.String(), n, i, 1)
				if err != nil {
					return nil, err
				}
				return c.Slice(from, to), e.Take(texts.ValueBytes)
			}
		}
	}
	if name, ok := key.(texts.Text); ok {
		if err := e.Skim(len(name.String())); err != nil {
			return nil, err
		}
		value, ok, err := e.member(v, name.String())
		if ok || err != nil {
			return value, err
		}
	}
	return values.Missing("an item"), e.Take(texts.ValueBytes / 2)
}

// maxName is longer than any name of a filter or a test, in bytes.
const maxName = 256

// named reports whether a table knows a name.
func named(table map[string]*Builtin, v values.Value) bool {
	t, ok := v.(texts.Text)
	return ok && len(t.String()) <= maxName && table[t.String()] != nil
}
