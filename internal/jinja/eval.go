package jinja

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/jinja/builtins"
	"github.com/antigravity-go/antigravity/internal/jinja/syntax"
	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// The evaluator computes an expression by the type of its node, and each node spends some of the rendering's budget. A variable is looked
// up in the scopes from the innermost outwards, then among the caller's variables, then among the functions that every template has. For
//
//	{% set x = 1 %}{{ x + y }}
//
// and a caller's y of 2, the sum finds x in the scope and y with the caller, and is 3. Without y it would be undefined.

// maxMacros bounds calls of macros within macros, and of loops within themselves.
const maxMacros = 64

// An evaluator is the state of one rendering.
type evaluator struct {
	*builtins.Environment
	scope     *scope           // the innermost
	out       *texts.Builder   // the output of statements
	line      int              // of the node that is being evaluated, for error messages
	macros    int              // calls of macros, and of loops within themselves, that have not returned
	variables map[string]Value // the caller's
}

func newEvaluator(ctx context.Context, variables map[string]Value) *evaluator {
	return &evaluator{
		Environment: builtins.NewEnvironment(ctx), scope: &scope{}, variables: variables, line: 1,
	}
}

// at notes the line of a node, and spends the work of evaluating it.
func (e *evaluator) at(line int) error {
	e.line = line
	return e.Spend(texts.NodeWork)
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
		return e.Spend(values.SmallDict)
	}
	if n := len(s.vars); n == cap(s.vars) {
		if err := e.Take(2 * (n + 1) * bindingBytes); err != nil {
			return err
		}
		s.vars = slices.Grow(s.vars, n+1)
	}
	s.vars = append(s.vars, binding{name, v})
	if len(s.vars) <= values.SmallDict {
		return nil
	}
	if s.index == nil {
		s.index = make(map[string]int, 2*values.SmallDict)
		for i, b := range s.vars {
			s.index[b.name] = i
		}
	}
	s.index[name] = len(s.vars) - 1
	return e.Take(texts.ValueBytes)
}

// push opens a scope inside of s.
func (e *evaluator) push(s *scope) (*scope, error) {
	old := e.scope
	e.scope = &scope{parent: s, vars: make([]binding, 0, 2)}
	return old, e.Take(texts.ValueBytes + bindingBytes)
}

// eval evaluates an expression.
func (e *evaluator) eval(x syntax.Expression) (Value, error) {
	switch x := x.(type) {
	case syntax.Constant:
		return x.Value, e.Spend(texts.NodeWork)
	case syntax.Variable:
		return e.lookUpVariable(x.Name, x.Line)
	case *syntax.Suffixed:
		v, err := e.eval(x.Of)
		if err != nil {
			return nil, err
		}
		return e.steps(x.Steps, v)
	case *syntax.List:
		return e.evalList(x)
	case *syntax.Dict:
		return e.evalDict(x)
	case *syntax.Conditional:
		return e.evalConditional(x)
	case *syntax.Logic:
		return e.evalLogic(x)
	case syntax.Not:
		v, err := e.eval(x.Of)
		return !values.IsTrue(v), err
	case *syntax.Comparison:
		return e.evalComparison(x)
	case *syntax.Concatenation:
		return e.evalConcatenation(x)
	case *syntax.Arithmetic:
		return e.evalArithmetic(x)
	case *syntax.Signed:
		return e.evalSigned(x)
	}
	return nil, fmt.Errorf("%w: an expression of type %T", errPanic, x)
}

// lookUpVariable returns the value of a variable, or of a function that every template has.
func (e *evaluator) lookUpVariable(name string, line int) (Value, error) {
	if err := e.at(line); err != nil {
		return nil, err
	}
	for s := e.scope; s != nil; s = s.parent {
		if err := e.Spend(values.SmallDict); err != nil {
			return nil, err
		}
		if i := s.find(name); i >= 0 {
			return s.vars[i].value, nil
		}
	}
	if value, ok := e.variables[name]; ok {
		return value, nil
	}
	if f, ok := builtins.Globals[name]; ok {
		return f, nil
	}
	return values.Missing(name), nil
}

func (e *evaluator) evalList(n *syntax.List) (Value, error) {
	if err := e.TakeValues(len(n.Items)); err != nil {
		return nil, err
	}
	l := &List{Items: make([]Value, len(n.Items))}
	if n.Tuple {
		l.Kind = values.Tuple
	}
	var err error
	for i, item := range n.Items {
		if l.Items[i], err = e.eval(item); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (e *evaluator) evalDict(n *syntax.Dict) (Value, error) {
	d := NewDict()
	for i, k := range n.Keys {
		key, err := e.eval(k)
		if err != nil {
			return nil, err
		}
		value, err := e.eval(n.Values[i])
		if err != nil {
			return nil, err
		}
		if err := e.SetKey(d, key, value); err != nil {
			return nil, err
		}
	}
	return d, e.Take(texts.ValueBytes)
}

func (e *evaluator) evalConditional(n *syntax.Conditional) (Value, error) {
	for {
		test, err := e.eval(n.Test)
		if err != nil {
			return nil, err
		}
		if values.IsTrue(test) {
			return e.eval(n.Then)
		}
		if n.Otherwise == nil {
			return values.Missing("a conditional expression without else"), nil
		}
		next, ok := n.Otherwise.(*syntax.Conditional)
		if !ok {
			return e.eval(n.Otherwise)
		}
		n = next
	}
}

func (e *evaluator) evalLogic(n *syntax.Logic) (v Value, err error) {
	for _, term := range n.Terms {
		if v, err = e.eval(term); err != nil || values.IsTrue(v) == n.Until {
			return v, err
		}
	}
	return v, nil
}

func (e *evaluator) evalComparison(n *syntax.Comparison) (Value, error) {
	a, err := e.eval(n.First)
	if err != nil {
		return nil, err
	}
	for _, o := range n.Rest {
		b, err := e.eval(o.Operand)
		if err != nil {
			return nil, err
		}
		if err := e.at(n.Line); err != nil {
			return nil, err
		}
		holds, err := e.Holds(o.Operator, a, b)
		if err != nil || !holds {
			return false, err
		}
		a = b
	}
	return true, nil
}

func (e *evaluator) evalConcatenation(n *syntax.Concatenation) (Value, error) {
	b := e.Builder()
	for _, term := range n.Terms {
		v, err := e.eval(term)
		if err != nil {
			return nil, err
		}
		if err := e.at(n.Line); err != nil {
			return nil, err
		}
		t, err := e.Str(v)
		if err != nil {
			return nil, err
		}
		b.Add(t)
		if b.Err != nil {
			return nil, b.Err
		}
	}
	return b.Text()
}

func (e *evaluator) evalArithmetic(n *syntax.Arithmetic) (Value, error) {
	v, err := e.eval(n.First)
	if err != nil {
		return nil, err
	}
	var sum *texts.Builder // of texts, so that a sum of many copies each once
	for i, o := range n.Rest {
		operand, err := e.eval(o.Operand)
		if err != nil {
			return nil, err
		}
		if err := e.at(n.Line); err != nil {
			return nil, err
		}
		a, isText := v.(Text)
		b, isSame := operand.(Text)
		if o.Operator == "+" && isText && isSame && len(n.Rest) > 1 {
			if sum == nil {
				sum = e.Builder()
				sum.Add(a)
			}
			sum.Add(b)
			if i < len(n.Rest)-1 && sum.Err == nil {
				continue
			}
			v, err = sum.Text()
			sum = nil
		} else {
			if sum != nil {
				if v, err = sum.Text(); err != nil {
					return nil, err
				}
				sum = nil
			}
			v, err = e.Arithmetic(o.Operator, v, operand)
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (e *evaluator) evalSigned(n *syntax.Signed) (Value, error) {
	v, err := e.eval(n.Of)
	if err != nil {
		return nil, err
	}
	if err := e.at(n.Line); err != nil {
		return nil, err
	}
	x, ok := values.NumberOf(v)
	switch {
	case !ok:
		return nil, fmt.Errorf("a sign before %s", values.KindName(v))
	case x.IsFloat && n.Minus:
		return -x.Float, nil
	case n.Minus:
		return e.Compute("-", values.Number{}, x)
	}
	return x.Value(), nil
}

// steps applies the steps behind an operand.
func (e *evaluator) steps(steps []syntax.Step, v Value) (Value, error) {
	var err error
	for _, s := range steps {
		if v, err = e.apply(s, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// located adds the current line to an error that has no line yet.
func (e *evaluator) located(err error) error {
	var l *locatedError
	if err == nil || errors.As(err, &l) {
		return err
	}
	return &locatedError{e.line, err}
}
