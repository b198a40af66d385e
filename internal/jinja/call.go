package jinja

import (
	"fmt"
	"slices"
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

// eval evaluates the arguments of a call.
func (a *arguments) eval(e *evaluator) (args, error) {
	var out args
	if n := len(a.values) + 2*len(a.named); n > 0 {
		if err := e.takeValues(n / 2); err != nil {
			return out, err
		}
		out.values = make([]Value, 0, len(a.values))
	}
	for _, x := range a.values {
		v, err := x.eval(e)
		if err != nil {
			return out, err
		}
		out.values = append(out.values, v)
	}
	for _, x := range a.named {
		v, err := x.eval(e)
		if err != nil {
			return out, err
		}
		out.named = append(out.named, namedValue{x.name, v})
	}
	if a.star != nil {
		v, err := a.star.eval(e)
		if err != nil {
			return out, err
		}
		items, err := e.items(v)
		if err != nil {
			return out, err
		}
		if err := e.takeValues(len(items)); err != nil {
			return out, err
		}
		out.values = append(out.values, items...)
	}
	if a.stars != nil {
		v, err := a.stars.eval(e)
		if err != nil {
			return out, err
		}
		d, ok := v.(*Dict)
		if !ok || len(d.entries) > maxNesting {
			return out, fmt.Errorf("** takes a dictionary of at most %d keys, not %s", maxNesting, kindName(v))
		}
		for _, x := range d.entries {
			name, ok := x.key.(Text)
			if !ok {
				return out, fmt.Errorf("an argument named by %s", kindName(x.key))
			}
			if _, again := out.take(name.s); again {
				return out, fmt.Errorf("argument %s is given twice", name.s)
			}
			out.named = append(out.named, namedValue{name.s, x.value})
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
		if err := e.takeValues(len(b.names) / 4); err != nil {
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
	n, ok := index(v)
	if !ok {
		return 0, fmt.Errorf("argument %d is %s, not an integer", i+1, kindName(v))
	}
	return n, nil
}

// text returns argument i as a string.
func (a args) text(i int) (Text, error) {
	t, ok := a.or(i, nil).(Text)
	if !ok {
		return t, fmt.Errorf("argument %d is %s, not a string", i+1, kindName(a.or(i, nil)))
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
	node  *macroNode
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
			err = e.take(valueBytes + t.bytes())
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
		return nil, fmt.Errorf("a call of what is undefined: %w", f.err())
	}
	return nil, fmt.Errorf("%s cannot be called", kindName(f))
}

func (e *evaluator) enter() error {
	if e.macros++; e.macros > maxMacros {
		return &BudgetError{"macros within macros", maxMacros}
	}
	return e.spend(8 * nodeWork)
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
		return nil, fmt.Errorf("macro %s: %w", n.name, err)
	}
	v, err = e.capture(func() error {
		_, err := e.block(n.body)
		return err
	})
	e.scope = old
	e.macros--
	return v, err
}

// bindMacro sets a macro's parameters in the current scope.
func (e *evaluator) bindMacro(n *macroNode, a args) error {
	for i, name := range n.params {
		var v Value = Undefined{"parameter " + name}
		if i < len(a.values) {
			v = a.values[i]
		} else if given, ok := a.take(name); ok {
			v = given
		} else if d := i - (len(n.params) - len(n.defaults)); d >= 0 {
			var err error
			if v, err = n.defaults[d].eval(e); err != nil {
				return err
			}
		}
		if err := e.set(name, v); err != nil {
			return err
		}
	}
	if n.caller {
		caller, ok := a.take("caller")
		if !ok {
			caller = Undefined{"caller"}
		}
		if err := e.set("caller", caller); err != nil {
			return err
		}
	}
	extra := a.values[min(len(a.values), len(n.params)):]
	if len(extra) > 0 && !n.varargs {
		return fmt.Errorf("%d arguments; it takes %d", len(a.values), len(n.params))
	}
	if n.varargs {
		if err := e.set("varargs", tuple(extra...)); err != nil {
			return err
		}
	}
	if len(a.named) > 0 && !n.kwargs {
		return fmt.Errorf("it takes no argument %s", a.named[0].name)
	}
	if n.kwargs {
		d := NewDict()
		for _, x := range a.named {
			if err := e.setKey(d, Text{s: x.name}, x.value); err != nil {
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
	if err := e.takeValues(n / 4); err != nil {
		return nil, err
	}
	l := &List{make([]Value, n), aRange}
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
	return &Namespace{*d.(*Dict)}, nil
}

func makeDict(e *evaluator, a args) (Value, error) {
	d := NewDict()
	if len(a.values) > 1 {
		return nil, fmt.Errorf("dict and namespace take one dictionary, and named values")
	}
	for _, v := range a.values {
		if from, ok := v.(*Dict); ok {
			for _, x := range from.entries {
				if err := e.setKey(d, x.key, x.value); err != nil {
					return nil, err
				}
			}
			continue
		}
		pairs, err := e.items(v)
		if err != nil {
			return nil, err
		}
		for _, pair := range pairs {
			p, ok := pair.(*List)
			if !ok || len(p.Items) != 2 {
				return nil, fmt.Errorf("dict takes pairs, not %s", kindName(pair))
			}
			if err := e.setKey(d, p.Items[0], p.Items[1]); err != nil {
				return nil, err
			}
		}
	}
	for _, x := range a.named {
		if err := e.setKey(d, Text{s: x.name}, x.value); err != nil {
			return nil, err
		}
	}
	return d, e.take(valueBytes)
}
