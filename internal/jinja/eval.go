package jinja

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Bounds on what a rendering nests.
const (
	maxMacros = 64  // calls of macros within macros, and of loops within themselves
	maxDepth  = 100 // lists within lists, where they are printed or compared
)

// An evaluator is the state of one rendering.
type evaluator struct {
	meter
	scope     *scope              // the innermost
	out       *builder            // where statements write
	line      int                 // of the node that is being evaluated, for error messages
	macros    int                 // calls of macros, and of loops within themselves, that have not returned
	variables map[string]Value    // the caller's
	matched   map[Origin]bool     // Rendering.Matched
	filters   map[string]*builtin // for filters that take another filter's name, as map does
	tests     map[string]*builtin // for filters that take a test's name, as select does
}

func newEvaluator(ctx context.Context, variables map[string]Value) *evaluator {
	return &evaluator{
		meter: newMeter(ctx), scope: &scope{}, variables: variables, matched: map[Origin]bool{}, filters: filters, tests: tests, line: 1,
	}
}

// locatedError is an error with the template's line where it arose.
type locatedError struct {
	line int // 0: a function of the caller's failed, which says in its own words why
	error
}

func (e *locatedError) Error() string {
	if e.line == 0 {
		return e.error.Error()
	}
	return fmt.Sprintf("line %d: %v", e.line, e.error)
}

func (e *locatedError) Unwrap() error { return e.error }

// located adds the current line to an error that has none.
func (e *evaluator) located(err error) error {
	var l *locatedError
	if err == nil || errors.As(err, &l) {
		return err
	}
	return &locatedError{e.line, err}
}

// at notes the line of a node, and spends the work of evaluating it.
func (e *evaluator) at(line int) error {
	e.line = line
	return e.spend(nodeWork)
}

// A scope holds the variables of a block. Loops, macros and some other blocks have one of their own.
type scope struct {
	parent *scope
	vars   []binding
	index  map[string]int // from a name to its index in vars; nil while there are few
}

// binding is a variable.
type binding struct {
	name  string
	value Value
}

// bindingBytes is the memory of a binding that a scope pays for.
const bindingBytes = 32

func (s *scope) find(name string) int {
	if s.index != nil {
		if i, ok := s.index[name]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(s.vars, func(b binding) bool { return b.name == name })
}

// set assigns a variable of the current scope.
func (e *evaluator) set(name string, v Value) error {
	s := e.scope
	if i := s.find(name); i >= 0 {
		s.vars[i].value = v
		return e.spend(smallDict)
	}
	if n := len(s.vars); n == cap(s.vars) {
		if err := e.take(2 * (n + 1) * bindingBytes); err != nil {
			return err
		}
		s.vars = slices.Grow(s.vars, n+1)
	}
	s.vars = append(s.vars, binding{name, v})
	if len(s.vars) <= smallDict {
		return nil
	}
	if s.index == nil {
		s.index = make(map[string]int, 2*smallDict)
		for i, b := range s.vars {
			s.index[b.name] = i
		}
	}
	s.index[name] = len(s.vars) - 1
	return e.take(valueBytes)
}

// push opens a scope inside of s.
func (e *evaluator) push(s *scope) (*scope, error) {
	old := e.scope
	e.scope = &scope{parent: s, vars: make([]binding, 0, 2)}
	return old, e.take(valueBytes + bindingBytes)
}

func (v variable) eval(e *evaluator) (Value, error) {
	if err := e.at(v.line); err != nil {
		return nil, err
	}
	for s := e.scope; s != nil; s = s.parent {
		if err := e.spend(smallDict); err != nil {
			return nil, err
		}
		if i := s.find(v.name); i >= 0 {
			return s.vars[i].value, nil
		}
	}
	if value, ok := e.variables[v.name]; ok {
		return value, nil
	}
	if f, ok := globals[v.name]; ok {
		return f, nil
	}
	return Undefined{v.name}, nil
}

func (c constant) eval(e *evaluator) (Value, error) { return c.value, e.spend(nodeWork) }

func (n *listNode) eval(e *evaluator) (Value, error) {
	if err := e.takeValues(len(n.items)); err != nil {
		return nil, err
	}
	l := &List{Items: make([]Value, len(n.items))}
	if n.tuple {
		l.kind = aTuple
	}
	var err error
	for i, item := range n.items {
		if l.Items[i], err = item.eval(e); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (n *dictNode) eval(e *evaluator) (Value, error) {
	d := NewDict()
	for i, k := range n.keys {
		key, err := k.eval(e)
		if err != nil {
			return nil, err
		}
		value, err := n.values[i].eval(e)
		if err != nil {
			return nil, err
		}
		if err := e.setKey(d, key, value); err != nil {
			return nil, err
		}
	}
	return d, e.take(valueBytes)
}

// setKey sets a dictionary's key within the budget.
func (e *evaluator) setKey(d *Dict, key, value Value) error {
	if _, ok := identity(key); !ok {
		return fmt.Errorf("%s cannot be a key", kindName(key))
	}
	if t, ok := key.(Text); ok {
		if err := e.skim(smallDict * len(t.s)); err != nil {
			return err
		}
	}
	if err := e.take(3 * valueBytes); err != nil {
		return err
	}
	d.Set(key, value)
	return nil
}

func (n *conditional) eval(e *evaluator) (Value, error) {
	for {
		test, err := n.test.eval(e)
		if err != nil {
			return nil, err
		}
		if isTrue(test) {
			return n.then.eval(e)
		}
		if n.otherwise == nil {
			return Undefined{"a conditional expression without else"}, nil
		}
		next, ok := n.otherwise.(*conditional)
		if !ok {
			return n.otherwise.eval(e)
		}
		n = next
	}
}

func (n *logic) eval(e *evaluator) (v Value, err error) {
	for _, term := range n.terms {
		if v, err = term.eval(e); err != nil || isTrue(v) == n.until {
			return v, err
		}
	}
	return v, nil
}

func (n negation) eval(e *evaluator) (Value, error) {
	v, err := n.of.eval(e)
	return !isTrue(v), err
}

func (n *comparison) eval(e *evaluator) (Value, error) {
	a, err := n.first.eval(e)
	if err != nil {
		return nil, err
	}
	for _, o := range n.rest {
		b, err := o.operand.eval(e)
		if err != nil {
			return nil, err
		}
		if err := e.at(n.line); err != nil {
			return nil, err
		}
		holds, err := e.holds(o.operator, a, b)
		if err != nil || !holds {
			return false, err
		}
		a = b
	}
	return true, nil
}

func (n *concatenation) eval(e *evaluator) (Value, error) {
	b := builder{m: &e.meter}
	for _, term := range n.terms {
		v, err := term.eval(e)
		if err != nil {
			return nil, err
		}
		if err := e.at(n.line); err != nil {
			return nil, err
		}
		t, err := e.str(v)
		if err != nil {
			return nil, err
		}
		b.add(t)
		if b.err != nil {
			return nil, b.err
		}
	}
	return b.text()
}

func (n *arithmetic) eval(e *evaluator) (Value, error) {
	v, err := n.first.eval(e)
	if err != nil {
		return nil, err
	}
	var sum *builder // of texts, so that a sum of many copies each once
	for i, o := range n.rest {
		operand, err := o.operand.eval(e)
		if err != nil {
			return nil, err
		}
		if err := e.at(n.line); err != nil {
			return nil, err
		}
		a, isText := v.(Text)
		b, isSame := operand.(Text)
		if o.operator == "+" && isText && isSame && len(n.rest) > 1 {
			if sum == nil {
				sum = &builder{m: &e.meter}
				sum.add(a)
			}
			sum.add(b)
			if i < len(n.rest)-1 && sum.err == nil {
				continue
			}
			v, err = sum.text()
			sum = nil
		} else {
			if sum != nil {
				if v, err = sum.text(); err != nil {
					return nil, err
				}
				sum = nil
			}
			v, err = e.arithmetic(o.operator, v, operand)
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (n *signed) eval(e *evaluator) (Value, error) {
	v, err := n.of.eval(e)
	if err != nil {
		return nil, err
	}
	if err := e.at(n.line); err != nil {
		return nil, err
	}
	x, ok := number(v)
	switch {
	case !ok:
		return nil, fmt.Errorf("a sign before %s", kindName(v))
	case x.float && n.minus:
		return -x.f, nil
	case n.minus:
		return e.compute("-", numeric{}, x)
	}
	return x.value(), nil
}

func (n *suffixed) eval(e *evaluator) (Value, error) {
	v, err := n.of.eval(e)
	if err != nil {
		return nil, err
	}
	return e.steps(n.steps, v)
}

func (e *evaluator) steps(steps []step, v Value) (Value, error) {
	var err error
	for _, s := range steps {
		if v, err = s.apply(e, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}
