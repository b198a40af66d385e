package jinja

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/jinja/builtins"
	"github.com/antigravity-go/antigravity/internal/jinja/syntax"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// apply applies a step behind an operand to the operand's value.
func (e *evaluator) apply(x syntax.Step, v Value) (Value, error) {
	switch x := x.(type) {
	case *syntax.Attribute:
		if err := e.at(x.Line); err != nil {
			return nil, err
		}
		return e.Attribute(v, x.Name)
	case *syntax.Item:
		key, err := e.eval(x.Key)
		if err != nil {
			return nil, err
		}
		if err := e.at(x.Line); err != nil {
			return nil, err
		}
		return e.Item(v, key)
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
	do := e.Filters[s.Name]
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
	return do.Call(e.Environment, s.Name, v, a)
}

func (e *evaluator) applyTest(s *syntax.Test, v Value) (Value, error) {
	do := e.Tests[s.Name]
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
	holds, err := do.Call(e.Environment, s.Name, v, a)
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
	if m, ok := builtins.MethodsOf(v)[s.Name]; ok {
		return m.Call(e.Environment, s.Name, v, a)
	}
	f, err := e.Attribute(v, s.Name)
	if err != nil {
		return nil, err
	}
	if _, missing := f.(Undefined); missing {
		return nil, fmt.Errorf("%s has no method %s", values.KindName(v), s.Name)
	}
	return e.call(f, a)
}
