package jinja

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/jinja/syntax"
	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// apply applies what follows an operand to the operand's value.
func (e *evaluator) apply(x syntax.Step, v Value) (Value, error) {
	switch x := x.(type) {
	case *syntax.Attribute:
		if err := e.at(x.Line); err != nil {
			return nil, err
		}
		return e.attribute(v, x.Name)
	case *syntax.Item:
		key, err := e.eval(x.Key)
		if err != nil {
			return nil, err
		}
		if err := e.at(x.Line); err != nil {
			return nil, err
		}
		return e.item(v, key)
	case *syntax.Slice:
		return e.applySlice(x, v)
	case *syntax.Filter:
		return e.applyFilter(x, v)
	case *syntax.Test:
		return e.applyTest(x, v)
	case *syntax.Call:
		return e.applyCall(x, v)
	case *syntax.Method:
		return e.applyMethod(x, v)
	}
	return nil, fmt.Errorf("%w: a step of type %T", errPanic, x)
}

// attribute is v.name: a method, else an item.
func (e *evaluator) attribute(v Value, name string) (Value, error) {
	if u, ok := v.(Undefined); ok {
		return nil, fmt.Errorf("%s of what is undefined: %w", name, u.Err())
	}
	if value, ok, err := e.member(v, name); ok || err != nil {
		return value, err
	}
	if d, ok := v.(*Dict); ok {
		if value, ok := d.Get(name); ok {
			return value, nil
		}
	}
	return values.Missing(name), e.Take(texts.ValueBytes / 2)
}

// member is an attribute that is no item: a method, or what a namespace or a loop has.
func (e *evaluator) member(v Value, name string) (Value, bool, error) {
	switch v := v.(type) {
	case *Namespace:
		value, ok := v.Values.Get(name)
		return value, ok, nil
	case *loop:
		return v.attribute(e, name)
	case *macro:
		if name == "name" {
			return texts.Own(v.node.Name), true, nil
		}
		return nil, false, nil
	}
	if m, ok := methodsOf(v)[name]; ok {
		return &method{v, name, m}, true, e.Take(texts.ValueBytes)
	}
	return nil, false, nil
}

// item is v[key]: an item, else an attribute.
func (e *evaluator) item(v, key Value) (Value, error) {
	switch c := v.(type) {
	case Undefined:
		return nil, fmt.Errorf("an item of what is undefined: %w", c.Err())
	case *Dict:
		value, ok, err := e.LookUp(c, key)
		if ok || err != nil {
			return value, err
		}
	case *List:
		if i, ok := e.Position(key, len(c.Items)); ok && c.Kind <= values.Range {
			return c.Items[i], nil
		}
	case Text:
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
	if name, ok := key.(Text); ok {
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

func (e *evaluator) applySlice(s *syntax.Slice, v Value) (Value, error) {
	var bounds [3]Value
	for i, x := range [...]syntax.Expression{s.From, s.To, s.By} {
		if x == nil {
			continue
		}
		var err error
		if bounds[i], err = e.eval(x); err != nil {
			return nil, err
		}
		if _, ok := values.Index(bounds[i]); !ok && bounds[i] != nil {
			return nil, fmt.Errorf("a slice from, to or by %s", values.KindName(bounds[i]))
		}
	}
	if err := e.at(s.Line); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case Text:
		return e.SliceText(v, bounds)
	case *List:
		if v.Kind > values.Range {
			break
		}
		from, n, by, err := values.SliceBounds(bounds, len(v.Items))
		if err != nil {
			return nil, err
		}
		if err := e.TakeValues(n / 4); err != nil { // the values themselves are shared
			return nil, err
		}
		out := values.ListOf(v.Kind, make([]Value, n))
		for i := range out.Items {
			out.Items[i] = v.Items[from+i*by]
		}
		return out, nil
	case Undefined:
		return nil, fmt.Errorf("a slice of what is undefined: %w", v.Err())
	}
	return nil, fmt.Errorf("a slice of %s", values.KindName(v))
}

func (e *evaluator) applyFilter(s *syntax.Filter, v Value) (Value, error) {
	do := e.filters[s.Name]
	if do == nil {
		return nil, fmt.Errorf("no filter is named %s", s.Name)
	}
	a, err := e.arguments(&s.With)
	if err != nil {
		return nil, err
	}
	if err := e.at(s.Line); err != nil {
		return nil, err
	}
	return do.call(e, s.Name, v, a)
}

func (e *evaluator) applyTest(s *syntax.Test, v Value) (Value, error) {
	do := e.tests[s.Name]
	if do == nil {
		return nil, fmt.Errorf("no test is named %s", s.Name)
	}
	a, err := e.arguments(&s.With)
	if err != nil {
		return nil, err
	}
	if err := e.at(s.Line); err != nil {
		return nil, err
	}
	holds, err := do.call(e, s.Name, v, a)
	return values.IsTrue(holds) != s.Negated, err
}

func (e *evaluator) applyCall(s *syntax.Call, f Value) (Value, error) {
	a, err := e.arguments(&s.With)
	if err != nil {
		return nil, err
	}
	if err := e.at(s.Line); err != nil {
		return nil, err
	}
	return e.call(f, a)
}

func (e *evaluator) applyMethod(s *syntax.Method, v Value) (Value, error) {
	a, err := e.arguments(&s.With)
	if err != nil {
		return nil, err
	}
	if err := e.at(s.Line); err != nil {
		return nil, err
	}
	if m, ok := methodsOf(v)[s.Name]; ok {
		return m.call(e, s.Name, v, a)
	}
	f, err := e.attribute(v, s.Name)
	if err != nil {
		return nil, err
	}
	if _, missing := f.(Undefined); missing {
		return nil, fmt.Errorf("%s has no method %s", values.KindName(v), s.Name)
	}
	return e.call(f, a)
}
