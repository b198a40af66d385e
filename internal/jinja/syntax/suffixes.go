package syntax

import (
	"slices"
)

// An operand and everything behind it is one node with a list of steps. For example, m["content"].strip()|length reads as
//
//	&Suffixed{Of: m, Steps: {subscript "content", method strip, filter length}}
//
// An attribute with arguments behind it becomes a method.

// suffixes reads the steps behind an operand: .name, [key], (arguments), and with filters | filter and "is" test.
func (p *parser) suffixes(of Expression, filters bool) (Expression, error) {
	n := &Suffixed{Of: of}
	for {
		var s Step
		var err error
		switch {
		case p.isOperator("."):
			s, err = p.dot()
		case p.isOperator("["):
			s, err = p.subscript()
		case p.isOperator("("):
			c := &Call{Line: p.token.line}
			if c.With, err = p.arguments(); err != nil {
				return nil, err
			}
			s = c
			if a, ok := last(n.Steps).(*Attribute); ok { // a method
				n.Steps = n.Steps[:len(n.Steps)-1]
				s = &Method{a.Name, c.With, a.Line}
			}
		case filters && p.isOperator("|"):
			s, err = p.filter()
		case filters && p.isName("is"):
			s, err = p.test()
		default:
			if n.Steps == nil {
				return of, nil
			}
			return n, nil
		}
		if err != nil {
			return nil, err
		}
		n.Steps = append(n.Steps, s)
	}
}

func (p *parser) dot() (Step, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	t := p.token
	switch t.kind {
	case name:
		p.uses[t.value] = true
		return &Attribute{t.value, t.line}, p.advance()
	case integerLiteral:
		v, err := p.integer(t)
		if err != nil {
			return nil, err
		}
		return &Item{Constant{v}, t.line}, p.advance()
	}
	return nil, p.unexpected("the name of an attribute")
}

func (p *parser) subscript() (Step, error) {
	line := p.token.line
	if err := p.advance(); err != nil {
		return nil, err
	}
	var parts [3]Expression
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
		return &Item{parts[0], line}, nil
	}
	return &Slice{parts[0], parts[1], parts[2], line}, nil
}

// arguments reads "(a, b=1, *c, **d)".
func (p *parser) arguments() (Arguments, error) {
	var a Arguments
	return a, p.items(")", func() error {
		if p.isOperator("*") || p.isOperator("**") {
			slot := &a.Star
			if p.token.value == "**" {
				slot = &a.Stars
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
				if slices.ContainsFunc(a.Named, func(n NamedExpression) bool { return n.Name == key }) || len(a.Named) == MaxNesting {
					return p.fail(p.token.line, "argument %s: there is one of that name, or more than %d", key, MaxNesting)
				}
				p.advance() // to "=", which has been read
				if err := p.advance(); err != nil {
					return err
				}
				value, err := p.expression()
				a.Named = append(a.Named, NamedExpression{key, value})
				return err
			}
		}
		if a.Named != nil || a.Star != nil || a.Stars != nil {
			return p.unexpected("arguments without a name before those with one")
		}
		value, err := p.expression()
		a.Values = append(a.Values, value)
		return err
	})
}

func (p *parser) filter() (Step, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	return p.namedFilter(p.token.line)
}

// namedFilter reads a filter from its name on.
func (p *parser) namedFilter(line int) (Step, error) {
	n, err := p.expect(name, "", "the name of a filter")
	if err != nil {
		return nil, err
	}
	f := &Filter{Name: n.value, Line: line}
	if !p.isFilter(n.value) {
		if err := p.unknown(p.fail(line, "no filter is named %s", n.value)); err != nil {
			return nil, err
		}
	}
	if p.isOperator("(") {
		f.With, err = p.arguments()
	}
	return f, err
}

// unknown handles an unknown filter or test: a mistake, unless it may never be reached, since templates ask "x is filter" first.
func (p *parser) unknown(err error) error {
	if !p.soft {
		return err
	}
	if p.firstUnknown == nil {
		p.firstUnknown = err
	}
	return nil
}

func (p *parser) test() (Step, error) {
	t := &Test{Line: p.token.line}
	if err := p.advance(); err != nil {
		return nil, err
	}
	var err error
	if t.Negated, err = p.skip(name, "not"); err != nil {
		return nil, err
	}
	n := p.token
	if n.kind != name {
		return nil, p.unexpected("the name of a test")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	t.Name = n.value
	if !p.isTest(t.Name) {
		if err := p.unknown(p.fail(t.Line, "no test is named %s", n.value)); err != nil {
			return nil, err
		}
	}
	switch {
	case p.isOperator("("):
		t.With, err = p.arguments()
	case p.isName("is"):
		return nil, p.unexpected("an end of the test, for tests do not chain")
	case p.isName("else", "or", "and"):
	case slices.Contains([]tokenKind{name, stringLiteral, integerLiteral, floatLiteral}, p.token.kind), p.isOperator("["), p.isOperator("{"):
		if p.isName("if", "in", "not", "recursive") {
			break
		}
		var operand Expression
		if operand, err = p.primary(); err == nil {
			operand, err = p.suffixes(operand, false)
		}
		t.With.Values = []Expression{operand}
	}
	return t, err
}
