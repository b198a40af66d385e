package jinja

import "fmt"

// block runs statements in order.
func (e *evaluator) block(list []statement) (flow, error) {
	for _, s := range list {
		if f, err := s.exec(e); err != nil || f != onward {
			return f, err
		}
	}
	return onward, nil
}

// capture returns what write writes.
func (e *evaluator) capture(write func() error) (Text, error) {
	old := e.out
	e.out = &builder{m: &e.meter}
	if err := e.take(valueBytes); err != nil {
		return Text{}, err
	}
	if err := write(); err != nil {
		return Text{}, e.located(err)
	}
	t, err := e.out.text()
	e.out = old
	return t, err
}

func (n *text) exec(e *evaluator) (flow, error) {
	e.out.add(n.value)
	if e.out.err == nil {
		e.out.err = e.spend(nodeWork)
	}
	return onward, e.out.err
}

func (n *output) exec(e *evaluator) (flow, error) {
	if err := e.at(n.line); err != nil {
		return onward, err
	}
	v, err := n.of.eval(e)
	if err != nil {
		return onward, err
	}
	return onward, e.print(v)
}

func (n *ifNode) exec(e *evaluator) (flow, error) {
	for i, test := range n.tests {
		if err := e.at(n.line); err != nil {
			return onward, err
		}
		v, err := test.eval(e)
		if err != nil {
			return onward, err
		}
		if isTrue(v) {
			return e.block(n.branches[i])
		}
	}
	if len(n.branches) > len(n.tests) {
		return e.block(n.branches[len(n.tests)])
	}
	return onward, nil
}

func (j jump) exec(e *evaluator) (flow, error) { return j.how, e.spend(nodeWork) }

func (n *setNode) exec(e *evaluator) (flow, error) {
	if err := e.at(n.line); err != nil {
		return onward, err
	}
	var v Value
	var err error
	if n.value != nil {
		v, err = n.value.eval(e)
	} else {
		v, err = e.captured(n.body, n.steps)
	}
	if err != nil {
		return onward, err
	}
	return onward, e.assign(n.target, v)
}

// captured is what a body in a scope of its own writes, filtered.
func (e *evaluator) captured(body []statement, steps []step) (Value, error) {
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

func (e *evaluator) assign(to target, v Value) error {
	if to.several != nil {
		items, err := e.items(v)
		if err != nil {
			return err
		}
		if len(items) != len(to.several) {
			return fmt.Errorf("%d values for %d variables", len(items), len(to.several))
		}
		for i, one := range to.several {
			if err := e.assign(one, items[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if to.attribute == "" {
		return e.set(to.name, v)
	}
	of, err := variable{to.name, e.line}.eval(e)
	if err != nil {
		return err
	}
	n, ok := of.(*Namespace)
	if !ok {
		return fmt.Errorf("set %s.%s: %s is %s, not a namespace", to.name, to.attribute, to.name, kindName(of))
	}
	return e.setKey(&n.values, Text{s: to.attribute}, v)
}

func (n *withNode) exec(e *evaluator) (flow, error) {
	if err := e.at(n.line); err != nil {
		return onward, err
	}
	values := make([]Value, len(n.values))
	for i, x := range n.values {
		var err error
		if values[i], err = x.eval(e); err != nil {
			return onward, err
		}
	}
	old, err := e.push(e.scope)
	if err != nil {
		return onward, err
	}
	for i, to := range n.targets {
		if err := e.assign(to, values[i]); err != nil {
			return onward, err
		}
	}
	f, err := e.block(n.body)
	e.scope = old
	return f, err
}

func (n *scopeNode) exec(e *evaluator) (flow, error) {
	old, err := e.push(e.scope)
	if err != nil {
		return onward, err
	}
	f, err := e.block(n.body)
	e.scope = old
	return f, err
}

func (n *filterNode) exec(e *evaluator) (flow, error) {
	if err := e.at(n.line); err != nil {
		return onward, err
	}
	v, err := e.captured(n.body, n.steps)
	if err != nil {
		return onward, err
	}
	return onward, e.print(v)
}

// print writes str(v).
func (e *evaluator) print(v Value) error {
	t, err := e.str(v)
	if err != nil {
		return err
	}
	e.out.add(t)
	return e.out.err
}

func (n *macroNode) exec(e *evaluator) (flow, error) {
	return onward, e.set(n.name, &macro{n, e.scope})
}

func (n *callNode) exec(e *evaluator) (flow, error) {
	if err := e.at(n.line); err != nil {
		return onward, err
	}
	old, err := e.push(e.scope)
	if err != nil {
		return onward, err
	}
	if err := e.set("caller", &macro{n.caller, old}); err != nil {
		return onward, err
	}
	v, err := n.of.eval(e)
	e.scope = old
	if err != nil {
		return onward, err
	}
	return onward, e.print(v)
}
