package jinja

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/jinja/builtins"
	"github.com/antigravity-go/antigravity/internal/jinja/syntax"
	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// arguments evaluates the arguments of a call.
func (e *evaluator) arguments(a *syntax.Arguments) (builtins.Args, error) {
	var out builtins.Args
	if n := len(a.Values) + 2*len(a.Named); n > 0 {
		if err := e.TakeValues(n / 2); err != nil {
			return out, err
		}
		out.Values = make([]Value, 0, len(a.Values))
	}
	for _, x := range a.Values {
		v, err := e.eval(x)
		if err != nil {
			return out, err
		}
		out.Values = append(out.Values, v)
	}
	for _, x := range a.Named {
		v, err := e.eval(x.Value)
		if err != nil {
			return out, err
		}
		out.Named = append(out.Named, builtins.NamedValue{Name: x.Name, Value: v})
	}
	if a.Star != nil {
		v, err := e.eval(a.Star)
		if err != nil {
			return out, err
		}
		items, err := e.Items(v)
		if err != nil {
			return out, err
		}
		if err := e.TakeValues(len(items)); err != nil {
			return out, err
		}
		out.Values = append(out.Values, items...)
	}
	if a.Stars != nil {
		v, err := e.eval(a.Stars)
		if err != nil {
			return out, err
		}
		d, ok := v.(*Dict)
		if !ok || len(d.Entries) > syntax.MaxNesting {
			return out, fmt.Errorf("** takes a dictionary of at most %d keys, not %s", syntax.MaxNesting, values.KindName(v))
		}
		for _, x := range d.Entries {
			name, ok := x.Key.(Text)
			if !ok {
				return out, fmt.Errorf("an argument named by %s", values.KindName(x.Key))
			}
			if _, again := out.Take(name.String()); again {
				return out, fmt.Errorf("argument %s is given twice", name.String())
			}
			out.Named = append(out.Named, builtins.NamedValue{Name: name.String(), Value: x.Value})
		}
	}
	return out, nil
}

// macro is a macro with the scope in which it was defined.
type macro struct {
	node  *syntax.Macro
	scope *scope
}

// Attribute is a macro's only one.
func (m *macro) Attribute(name string) (Value, bool, error) {
	if name == "name" {
		return texts.Own(m.node.Name), true, nil
	}
	return nil, false, nil
}

// call calls a function, a macro, a method, or a recursive loop.
func (e *evaluator) call(f Value, a builtins.Args) (Value, error) {
	switch f := f.(type) {
	case *Function:
		for _, n := range a.Named {
			a.Values = append(a.Values, n.Value)
		}
		v, err := f.Call(a.Values)
		if err != nil {
			return nil, &locatedError{error: err}
		}
		if t, ok := v.(Text); ok && err == nil {
			err = e.Take(texts.ValueBytes + t.Bytes())
		}
		return v, err
	case *builtins.Global:
		return f.Do(e.Environment, a)
	case *macro:
		return e.callMacro(f, a)
	case *builtins.Method:
		return f.Do.Call(e.Environment, f.Name, f.Of, a)
	case *loop:
		return f.again(a)
	case Undefined:
		return nil, fmt.Errorf("a call of what is undefined: %w", f.Err())
	}
	return nil, fmt.Errorf("%s cannot be called", values.KindName(f))
}

func (e *evaluator) enter() error {
	if e.macros++; e.macros > maxMacros {
		return &BudgetError{What: "macros within macros", Limit: maxMacros}
	}
	return e.Spend(8 * texts.NodeWork)
}

func (e *evaluator) callMacro(m *macro, a builtins.Args) (v Value, err error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	n := m.node
	old, err := e.push(m.scope)
	if err != nil {
		return nil, err
	}
	if err := e.bindMacro(n, a); err != nil {
		return nil, fmt.Errorf("macro %s: %w", n.Name, err)
	}
	v, err = e.capture(func() error {
		_, err := e.block(n.Body)
		return err
	})
	e.scope = old
	e.macros--
	return v, err
}

// bindMacro sets a macro's parameters in the current scope.
func (e *evaluator) bindMacro(n *syntax.Macro, a builtins.Args) error {
	for i, name := range n.Params {
		var v Value = values.Missing("parameter " + name)
		if i < len(a.Values) {
			v = a.Values[i]
		} else if given, ok := a.Take(name); ok {
			v = given
		} else if d := i - (len(n.Params) - len(n.Defaults)); d >= 0 {
			var err error
			if v, err = e.eval(n.Defaults[d]); err != nil {
				return err
			}
		}
		if err := e.set(name, v); err != nil {
			return err
		}
	}
	if n.Caller {
		caller, ok := a.Take("caller")
		if !ok {
			caller = values.Missing("caller")
		}
		if err := e.set("caller", caller); err != nil {
			return err
		}
	}
	extra := a.Values[min(len(a.Values), len(n.Params)):]
	if len(extra) > 0 && !n.Varargs {
		return fmt.Errorf("%d arguments; it takes %d", len(a.Values), len(n.Params))
	}
	if n.Varargs {
		if err := e.set("varargs", values.NewTuple(extra...)); err != nil {
			return err
		}
	}
	if len(a.Named) > 0 && !n.Kwargs {
		return fmt.Errorf("it takes no argument %s", a.Named[0].Name)
	}
	if n.Kwargs {
		d := NewDict()
		for _, x := range a.Named {
			if err := e.SetKey(d, texts.Own(x.Name), x.Value); err != nil {
				return err
			}
		}
		return e.set("kwargs", d)
	}
	return nil
}
