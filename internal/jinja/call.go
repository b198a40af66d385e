package jinja

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/jinja/syntax"
	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// args are the values that a call passes.
type args struct {
	values []Value
	named  []namedValue
}

type namedValue struct {
	name  string
	value Value
}

// absent stands for an argument that was left out.
type absent struct{}

// arguments evaluates the arguments of a call.
func (e *evaluator) arguments(a *syntax.Arguments) (args, error) {
	var out args
	if n := len(a.Values) + 2*len(a.Named); n > 0 {
		if err := e.TakeValues(n / 2); err != nil {
			return out, err
		}
		out.values = make([]Value, 0, len(a.Values))
	}
	for _, x := range a.Values {
		v, err := e.eval(x)
		if err != nil {
			return out, err
		}
		out.values = append(out.values, v)
	}
	for _, x := range a.Named {
		v, err := e.eval(x.Value)
		if err != nil {
			return out, err
		}
		out.named = append(out.named, namedValue{x.Name, v})
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
		out.values = append(out.values, items...)
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
			if _, again := out.take(name.String()); again {
				return out, fmt.Errorf("argument %s is given twice", name.String())
			}
			out.named = append(out.named, namedValue{name.String(), x.Value})
		}
	}
	return out, nil
}

// take returns a named argument, and removes it.
func (a *args) take(name string) (Value, bool) {
	for i, n := range a.named {
		if n.name == name {
			a.named = slices.Concat(a.named[:i], a.named[i+1:])
			return n.value, true
		}
	}
	return nil, false
}

// A builtin is a filter, a test or a method. Unless rest is set, do gets one argument for each of names, in their order, of
// which the first need must be given, and the others are absent where the call left them out. If rest is set, do gets the
// arguments as the call wrote them.
type builtin struct {
	names []string // of the parameters
	need  int      // how many of the parameters have no default
	rest  bool     // do sorts the arguments itself
	do    func(e *evaluator, v Value, a args) (Value, error)
}

func (b *builtin) call(e *evaluator, name string, v Value, a args) (Value, error) {
	if !b.rest {
		if err := e.TakeValues(len(b.names) / 4); err != nil {
			return nil, err
		}
		var err error
		if a, err = bind(a, b.names, b.need); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	out, err := b.do(e, v, a)
	if _, located := err.(*locatedError); err != nil && !located {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, err
}

// bind puts arguments in the order of names.
func bind(a args, names []string, need int) (args, error) {
	if len(a.values) > len(names) {
		return a, fmt.Errorf("%d arguments; it takes %d", len(a.values), len(names))
	}
	out := args{values: make([]Value, len(names))}
	copy(out.values, a.values)
	for i := len(a.values); i < len(names); i++ {
		v, ok := a.take(names[i])
		if !ok {
			if i < need {
				return a, fmt.Errorf("the argument %s is missing", names[i])
			}
			v = absent{}
		}
		out.values[i] = v
	}
	if len(a.named) > 0 {
		return a, fmt.Errorf("it takes no argument %s, or that one is given twice", a.named[0].name)
	}
	return out, nil
}

// or returns argument i, or otherwise where it is absent.
func (a args) or(i int, otherwise Value) Value {
	if i >= len(a.values) {
		return otherwise
	}
	if _, missing := a.values[i].(absent); missing {
		return otherwise
	}
	return a.values[i]
}

// integer returns argument i as an integer that counts something.
func (a args) integer(i, otherwise int) (int, error) {
	v := a.or(i, int64(otherwise))
	n, ok := values.Index(v)
	if !ok {
		return 0, fmt.Errorf("argument %d is %s, not an integer", i+1, values.KindName(v))
	}
	return n, nil
}

// text returns argument i as a string.
func (a args) text(i int) (Text, error) {
	t, ok := a.or(i, nil).(Text)
	if !ok {
		return t, fmt.Errorf("argument %d is %s, not a string", i+1, values.KindName(a.or(i, nil)))
	}
	return t, nil
}

// method is a method of a value, not called yet.
type method struct {
	of   Value
	name string
	do   *builtin
}

// macro is a macro where it was defined.
type macro struct {
	node  *syntax.Macro
	scope *scope
}

// call calls a function, a macro, a method, or a recursive loop.
func (e *evaluator) call(f Value, a args) (Value, error) {
	switch f := f.(type) {
	case *Function:
		for _, n := range a.named {
			a.values = append(a.values, n.value)
		}
		v, err := f.Call(a.values)
		if err != nil {
			return nil, &locatedError{error: err}
		}
		if t, ok := v.(Text); ok && err == nil {
			err = e.Take(texts.ValueBytes + t.Bytes())
		}
		return v, err
	case *global:
		return f.do(e, a)
	case *macro:
		return e.callMacro(f, a)
	case *method:
		return f.do.call(e, f.name, f.of, a)
	case *loop:
		return f.again(e, a)
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

func (e *evaluator) callMacro(m *macro, a args) (v Value, err error) {
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
func (e *evaluator) bindMacro(n *syntax.Macro, a args) error {
	for i, name := range n.Params {
		var v Value = values.Missing("parameter " + name)
		if i < len(a.values) {
			v = a.values[i]
		} else if given, ok := a.take(name); ok {
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
		caller, ok := a.take("caller")
		if !ok {
			caller = values.Missing("caller")
		}
		if err := e.set("caller", caller); err != nil {
			return err
		}
	}
	extra := a.values[min(len(a.values), len(n.Params)):]
	if len(extra) > 0 && !n.Varargs {
		return fmt.Errorf("%d arguments; it takes %d", len(a.values), len(n.Params))
	}
	if n.Varargs {
		if err := e.set("varargs", values.NewTuple(extra...)); err != nil {
			return err
		}
	}
	if len(a.named) > 0 && !n.Kwargs {
		return fmt.Errorf("it takes no argument %s", a.named[0].name)
	}
	if n.Kwargs {
		d := NewDict()
		for _, x := range a.named {
			if err := e.SetKey(d, texts.Own(x.name), x.value); err != nil {
				return err
			}
		}
		return e.set("kwargs", d)
	}
	return nil
}

// global is a function that every template has.
type global struct {
	do func(e *evaluator, a args) (Value, error)
}

var globals = map[string]*global{
	"range": {makeRange}, "namespace": {makeNamespace}, "dict": {makeDict}, "cycler": {unsupported("cycler")},
	"joiner": {unsupported("joiner")}, "lipsum": {unsupported("lipsum")},
}

func unsupported(name string) func(*evaluator, args) (Value, error) {
	return func(*evaluator, args) (Value, error) {
		return nil, fmt.Errorf("%s() is not supported in a chat template", name)
	}
}

// maxRange is the sandbox's bound on range().
const maxRange = 100000

func makeRange(e *evaluator, a args) (Value, error) {
	if len(a.named) > 0 || len(a.values) == 0 || len(a.values) > 3 {
		return nil, fmt.Errorf("range takes one to three integers")
	}
	bounds := [3]int{0, 0, 1}
	for i := range a.values {
		n, err := a.integer(i, 0)
		if err != nil {
			return nil, fmt.Errorf("range: %w", err)
		}
		bounds[i] = n
	}
	if len(a.values) == 1 {
		bounds[0], bounds[1] = 0, bounds[0]
	}
	from, to, by := bounds[0], bounds[1], bounds[2]
	n := 0
	switch {
	case by == 0:
		return nil, fmt.Errorf("range by 0")
	case by > 0 && to > from:
		n = (to-from-1)/by + 1
	case by < 0 && to < from:
		n = (from-to-1)/-by + 1
	}
	if n > maxRange {
		return nil, fmt.Errorf("a range of %d integers; at most %d are allowed", n, maxRange)
	}
	if err := e.TakeValues(n / 4); err != nil {
		return nil, err
	}
	l := values.ListOf(values.Range, make([]Value, n))
	for i := range l.Items {
		l.Items[i] = int64(from + i*by)
	}
	return l, nil
}

func makeNamespace(e *evaluator, a args) (Value, error) {
	d, err := makeDict(e, a)
	if err != nil {
		return nil, err
	}
	return &Namespace{Values: *d.(*Dict)}, nil
}

func makeDict(e *evaluator, a args) (Value, error) {
	d := NewDict()
	if len(a.values) > 1 {
		return nil, fmt.Errorf("dict and namespace take one dictionary, and named values")
	}
	for _, v := range a.values {
		if from, ok := v.(*Dict); ok {
			for _, x := range from.Entries {
				if err := e.SetKey(d, x.Key, x.Value); err != nil {
					return nil, err
				}
			}
			continue
		}
		pairs, err := e.Items(v)
		if err != nil {
			return nil, err
		}
		for _, pair := range pairs {
			p, ok := pair.(*List)
			if !ok || len(p.Items) != 2 {
				return nil, fmt.Errorf("dict takes pairs, not %s", values.KindName(pair))
			}
			if err := e.SetKey(d, p.Items[0], p.Items[1]); err != nil {
				return nil, err
			}
		}
	}
	for _, x := range a.named {
		if err := e.SetKey(d, texts.Own(x.name), x.value); err != nil {
			return nil, err
		}
	}
	return d, e.Take(texts.ValueBytes)
}
