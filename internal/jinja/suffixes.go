package jinja

import "slices"

// suffixes reads what follows an operand: .name, [key], (arguments), and with filters | filter and "is" test.
func (p *parser) suffixes(of expression, filters bool) (expression, error) {
	n := &suffixed{of: of}
	for {
		var s step
		var err error
		switch {
		case p.isOperator("."):
			s, err = p.dot()
		case p.isOperator("["):
			s, err = p.subscript()
		case p.isOperator("("):
			c := &callStep{line: p.token.line}
			if c.with, err = p.arguments(); err != nil {
				return nil, err
			}
			s = c
			if a, ok := last(n.steps).(*attributeStep); ok { // a method
				n.steps = n.steps[:len(n.steps)-1]
				s = &methodStep{a.name, c.with, a.line}
			}
		case filters && p.isOperator("|"):
			s, err = p.filter()
		case filters && p.isName("is"):
			s, err = p.test()
		default:
			if n.steps == nil {
				return of, nil
			}
			return n, nil
		}
		if err != nil {
			return nil, err
		}
		n.steps = append(n.steps, s)
	}
}

func (p *parser) dot() (step, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	t := p.token
	switch t.kind {
	case name:
		p.uses[t.value] = true
		return &attributeStep{t.value, t.line}, p.advance()
	case integerLiteral:
		v, err := p.integer(t)
		if err != nil {
			return nil, err
		}
		return &itemStep{constant{v}, t.line}, p.advance()
	}
	return nil, p.unexpected("the name of an attribute")
}

func (p *parser) subscript() (step, error) {
	line := p.token.line
	if err := p.advance(); err != nil {
		return nil, err
	}
	var parts [3]expression
	colons := 0
	for !p.isOperator("]") {
		if p.isOperator(":") && colons < 2 {
			colons++
			if err := p.advance(); err != nil {
				return nil, err
			}
			continue
		}
		if parts[colons] != nil {
			return nil, p.unexpected("]")
		}
		var err error
		if parts[colons], err = p.expression(); err != nil {
			return nil, err
		}
	}
	if colons == 0 && parts[0] == nil {
		return nil, p.unexpected("a key")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if colons == 0 {
		return &itemStep{parts[0], line}, nil
	}
	return &sliceStep{parts[0], parts[1], parts[2], line}, nil
}

// arguments reads "(a, b=1, *c, **d)".
func (p *parser) arguments() (arguments, error) {
	var a arguments
	return a, p.items(")", func() error {
		if p.isOperator("*") || p.isOperator("**") {
			slot := &a.star
			if p.token.value == "**" {
				slot = &a.stars
			}
			if *slot != nil {
				return p.unexpected("a single * and **")
			}
			if err := p.advance(); err != nil {
				return err
			}
			var err error
			*slot, err = p.expression()
			return err
		}
		if p.token.kind == name {
			next, err := p.peek()
			if err != nil {
				return err
			}
			if next.kind == operator && next.value == "=" {
				key := p.token.value
				if slices.ContainsFunc(a.named, func(n namedExpression) bool { return n.name == key }) || len(a.named) == maxNesting {
					return p.fail(p.token.line, "argument %s: there is one of that name, or more than %d", key, maxNesting)
				}
				p.advance() // to "=", which has been read
				if err := p.advance(); err != nil {
					return err
				}
				value, err := p.expression()
				a.named = append(a.named, namedExpression{key, value})
				return err
			}
		}
		if a.named != nil || a.star != nil || a.stars != nil {
			return p.unexpected("arguments without a name before those with one")
		}
		value, err := p.expression()
		a.values = append(a.values, value)
		return err
	})
}

func (p *parser) filter() (step, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	return p.namedFilter(p.token.line)
}

// namedFilter reads a filter from its name on.
func (p *parser) namedFilter(line int) (step, error) {
	n, err := p.expect(name, "", "the name of a filter")
	if err != nil {
		return nil, err
	}
	f := &filterStep{name: n.value, do: filters[n.value], line: line}
	if f.do == nil {
		if err := p.unknown(p.fail(line, "no filter is named %s", n.value)); err != nil {
			return nil, err
		}
	}
	if p.isOperator("(") {
		f.with, err = p.arguments()
	}
	return f, err
}

// unknown handles an unknown filter or test: a mistake, unless it stands where it may never be reached, since templates
// ask "x is filter" first.
func (p *parser) unknown(err error) error {
	if !p.soft {
		return err
	}
	if p.firstUnknown == nil {
		p.firstUnknown = err
	}
	return nil
}

func (p *parser) test() (step, error) {
	t := &testStep{line: p.token.line}
	if err := p.advance(); err != nil {
		return nil, err
	}
	var err error
	if t.negated, err = p.skip(name, "not"); err != nil {
		return nil, err
	}
	n := p.token
	if n.kind != name {
		return nil, p.unexpected("the name of a test")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	t.name = n.value
	if t.do = tests[t.name]; t.do == nil {
		if err := p.unknown(p.fail(t.line, "no test is named %s", n.value)); err != nil {
			return nil, err
		}
	}
	switch {
	case p.isOperator("("):
		t.with, err = p.arguments()
	case p.isName("is"):
		return nil, p.unexpected("an end of the test, for tests do not chain")
	case p.isName("else", "or", "and"):
	case slices.Contains([]tokenKind{name, stringLiteral, integerLiteral, floatLiteral}, p.token.kind), p.isOperator("["), p.isOperator("{"):
		if p.isName("if", "in", "not", "recursive") {
			break
		}
		var operand expression
		if operand, err = p.primary(); err == nil {
			operand, err = p.suffixes(operand, false)
		}
		t.with.values = []expression{operand}
	}
	return t, err
}
