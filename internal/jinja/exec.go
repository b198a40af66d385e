package jinja

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/jinja/syntax"
	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// Statements write to the evaluator's out and change its scope. exec returns how a statement ended: onward, or with a break or a continue,
// which ends the bodies around it up to the loop. For example
//
//	{% set greeting %}Hi {{ user }}{% endset %}
//
// runs the body with an out of its own (capture), and assigns the text, with the origin of each byte, to greeting.

// exec runs a statement.
func (e *evaluator) exec(x syntax.Statement) (flow, error) {
	switch x := x.(type) {
	case *syntax.Text:
		e.out.Add(x.Value)
		if e.out.Err == nil {
			e.out.Err = e.Spend(texts.NodeWork)
		}
		return onward, e.out.Err
	case *syntax.Output:
		return onward, e.execOutput(x)
	case *syntax.If:
		return e.execIf(x)
	case *syntax.For:
		return onward, e.execFor(x)
	case *syntax.Set:
		return onward, e.execSet(x)
	case syntax.Jump:
		if x.Stop {
			return breaking, e.Spend(texts.NodeWork)
		}
		return continuing, e.Spend(texts.NodeWork)
	case *syntax.With:
		return e.execWith(x)
	case *syntax.Scope:
		return e.inScope(x.Body)
	case *syntax.FilterBlock:
		return onward, e.execFilterBlock(x)
	case *syntax.Macro:
		return onward, e.set(x.Name, &macro{x, e.scope})
	case *syntax.CallBlock:
		return onward, e.execCallBlock(x)
	}
	return onward, fmt.Errorf("%w: a statement of type %T", errPanic, x)
}

// block runs statements in order.
func (e *evaluator) block(list []syntax.Statement) (flow, error) {
	for _, s := range list {
		if f, err := e.exec(s); err != nil || f != onward {
			return f, err
		}
	}
	return onward, nil
}

// capture returns what write writes.
func (e *evaluator) capture(write func() error) (Text, error) {
	old := e.out
	e.out = e.Builder()
	if err := e.Take(texts.ValueBytes); err != nil {
		return Text{}, err
	}
	if err := write(); err != nil {
		return Text{}, e.located(err)
	}
	t, err := e.out.Text()
	e.out = old
	return t, err
}

func (e *evaluator) execOutput(n *syntax.Output) error {
	if err := e.at(n.Line); err != nil {
		return err
	}
	v, err := e.eval(n.Of)
	if err != nil {
		return err
	}
	return e.print(v)
}

func (e *evaluator) execIf(n *syntax.If) (flow, error) {
	for i, test := range n.Tests {
		if err := e.at(n.Line); err != nil {
			return onward, err
		}
		v, err := e.eval(test)
		if err != nil {
			return onward, err
		}
		if values.IsTrue(v) {
			return e.block(n.Branches[i])
		}
	}
	if len(n.Branches) > len(n.Tests) {
		return e.block(n.Branches[len(n.Tests)])
	}
	return onward, nil
}

func (e *evaluator) execSet(n *syntax.Set) error {
	if err := e.at(n.Line); err != nil {
		return err
	}
	var v Value
	var err error
	if n.Value != nil {
		v, err = e.eval(n.Value)
	} else {
		v, err = e.captured(n.Body, n.Steps)
	}
	if err != nil {
		return err
	}
	return e.assign(n.Target, v)
}

// captured is what a body in a scope of its own writes, filtered.
func (e *evaluator) captured(body []syntax.Statement, steps []syntax.Step) (Value, error) {
	old, err := e.push(e.scope)
	if err != nil {
		return nil, err
	}
	t, err := e.capture(func() error {
		_, err := e.block(body)
		return err
	})
	e.scope = old
	if err != nil {
		return nil, err
	}
	return e.steps(steps, t)
}

func (e *evaluator) assign(to syntax.Target, v Value) error {
	if to.Several != nil {
		items, err := e.Items(v)
		if err != nil {
			return err
		}
		if len(items) != len(to.Several) {
			return fmt.Errorf("%d values for %d variables", len(items), len(to.Several))
		}
		for i, one := range to.Several {
			if err := e.assign(one, items[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if to.Attribute == "" {
		return e.set(to.Name, v)
	}
	of, err := e.lookUpVariable(to.Name, e.line)
	if err != nil {
		return err
	}
	n, ok := of.(*Namespace)
	if !ok {
		return fmt.Errorf("set %s.%s: %s is %s, not a namespace", to.Name, to.Attribute, to.Name, values.KindName(of))
	}
	return e.SetKey(&n.Values, texts.Own(to.Attribute), v)
}

func (e *evaluator) execWith(n *syntax.With) (flow, error) {
	if err := e.at(n.Line); err != nil {
		return onward, err
	}
	values := make([]Value, len(n.Values))
	for i, x := range n.Values {
		var err error
		if values[i], err = e.eval(x); err != nil {
			return onward, err
		}
	}
	old, err := e.push(e.scope)
	if err != nil {
		return onward, err
	}
	for i, to := range n.Targets {
		if err := e.assign(to, values[i]); err != nil {
			return onward, err
		}
	}
	f, err := e.block(n.Body)
	e.scope = old
	return f, err
}

// inScope runs statements in a scope of their own.
func (e *evaluator) inScope(body []syntax.Statement) (flow, error) {
	old, err := e.push(e.scope)
	if err != nil {
		return onward, err
	}
	f, err := e.block(body)
	e.scope = old
	return f, err
}

func (e *evaluator) execFilterBlock(n *syntax.FilterBlock) error {
	if err := e.at(n.Line); err != nil {
		return err
	}
	v, err := e.captured(n.Body, n.Steps)
	if err != nil {
		return err
	}
	return e.print(v)
}

// print writes str(v).
func (e *evaluator) print(v Value) error {
	t, err := e.Str(v)
	if err != nil {
		return err
	}
	e.out.Add(t)
	return e.out.Err
}

func (e *evaluator) execCallBlock(n *syntax.CallBlock) error {
	if err := e.at(n.Line); err != nil {
		return err
	}
	old, err := e.push(e.scope)
	if err != nil {
		return err
	}
	if err := e.set("caller", &macro{n.Caller, old}); err != nil {
		return err
	}
	v, err := e.eval(n.Of)
	e.scope = old
	if err != nil {
		return err
	}
	return e.print(v)
}

// flow says how a statement ended.
type flow uint8

const (
	onward flow = iota
	breaking
	continuing
)
