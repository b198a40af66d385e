package syntax

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// Expressions are read by recursive descent, with a function for each level of operators, from the loosest to the tightest: a if b else c;
// or; and; not; comparisons; + and -; ~; *, /, // and %; **; signs; operands and their suffixes (suffixes.go).
//
// A chain of operators of one level is one node, so that long chains make no deep tree: 1 + 2 - x*3 becomes
//
//	Arithmetic{First: 1, Rest: {"+" 2}, {"-" Arithmetic{First: x, Rest: {"*" 3}}}}

// expression reads "a if b else c", the loosest form.
func (p *parser) expression() (Expression, error) { return p.conditional() }

// tuple reads expressions with commas between them, or a single one. A loop's sequence has no "a if b else c".
func (p *parser) tuple(loop bool) (Expression, error) {
	one := p.conditional
	if loop {
		one = p.or
	}
	ends := func() bool {
		return p.token.kind == variableEnd || p.token.kind == blockEnd || p.isOperator(")") || loop && p.isName("recursive", "if")
	}
	first, err := one()
	if err != nil || !p.isOperator(",") {
		return first, err
	}
	items := []Expression{first}
	for p.isOperator(",") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if ends() {
			break
		}
		next, err := one()
		if err != nil {
			return nil, err
		}
		items = append(items, next)
	}
	return &List{items, true}, nil
}

func (p *parser) conditional() (Expression, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	soft, unknown := p.soft, p.firstUnknown
	p.soft, p.firstUnknown = true, nil // value may turn out to be a branch
	value, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.isName("if") {
		c := &Conditional{Then: value}
		value = c
		err = p.condition(c)
		p.firstUnknown = nil
	} else if !soft {
		err = p.firstUnknown
	}
	if p.firstUnknown == nil {
		p.firstUnknown = unknown
	}
	p.soft = soft
	p.depth--
	return value, err
}

// condition reads "if b else c" into c.
func (p *parser) condition(c *Conditional) error {
	if err := p.advance(); err != nil {
		return err
	}
	var err error
	if c.Test, err = p.or(); err != nil {
		return err
	}
	if otherwise, err := p.skip(name, "else"); err != nil || !otherwise {
		return err
	}
	c.Otherwise, err = p.conditional()
	return err
}

func (p *parser) or() (Expression, error) { return p.logic("or", true, p.and) }

func (p *parser) and() (Expression, error) { return p.logic("and", false, p.not) }

func (p *parser) logic(word string, until bool, operand func() (Expression, error)) (Expression, error) {
	first, err := operand()
	if err != nil || !p.isName(word) {
		return first, err
	}
	terms := []Expression{first}
	for p.isName(word) {
		if err := p.advance(); err != nil {
			return nil, err
		}
		next, err := operand()
		if err != nil {
			return nil, err
		}
		terms = append(terms, next)
	}
	return &Logic{terms, until}, nil
}

func (p *parser) not() (Expression, error) {
	nots := 0
	for p.isName("not") {
		nots++
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	e, err := p.comparison()
	if err != nil || nots == 0 {
		return e, err
	}
	if e = (Not{e}); nots%2 == 0 {
		e = Not{e}
	}
	return e, nil
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) comparison() (Expression, error) {
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
	c := &Comparison{First: first, Line: p.token.line}
	for {
		op := ""
		switch {
		case p.token.kind == operator && slices.Contains(comparisons, p.token.value):
			op = p.token.value
		case p.isName("in"):
			op = "in"
		case p.isName("not"):
			next, err := p.peek()
			if err != nil {
				return nil, err
			}
			if next.kind == name && next.value == "in" {
				op = "not in"
				if err := p.advance(); err != nil {
					return nil, err
				}
			}
		}
		if op == "" {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		operand, err := p.sum()
		if err != nil {
			return nil, err
		}
		c.Rest = append(c.Rest, Operation{op, operand})
	}
	if c.Rest == nil {
		return first, nil
	}
	return c, nil
}

func (p *parser) sum() (Expression, error) { return p.chain(p.concatenation, "+", "-") }

func (p *parser) concatenation() (Expression, error) {
	first, err := p.product()
	if err != nil || !p.isOperator("~") {
		return first, err
	}
	c := &Concatenation{Terms: []Expression{first}, Line: p.token.line}
	for p.isOperator("~") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		next, err := p.product()
		if err != nil {
			return nil, err
		}
		c.Terms = append(c.Terms, next)
	}
	return c, nil
}

func (p *parser) product() (Expression, error) { return p.chain(p.power, "*", "/", "//", "%") }

func (p *parser) power() (Expression, error) {
	return p.chain(func() (Expression, error) { return p.unary(true) }, "**")
}

func (p *parser) chain(operand func() (Expression, error), operators ...string) (Expression, error) {
	first, err := operand()
	if err != nil {
		return nil, err
	}
	a := &Arithmetic{First: first, Line: p.token.line}
	for p.token.kind == operator && slices.Contains(operators, p.token.value) {
		op := p.token.value
		if err := p.advance(); err != nil {
			return nil, err
		}
		next, err := operand()
		if err != nil {
			return nil, err
		}
		a.Rest = append(a.Rest, Operation{op, next})
	}
	if a.Rest == nil {
		return first, nil
	}
	return a, nil
}

// unary reads an operand with its sign and the steps behind it. As in Jinja, a filter behind a sign takes the signed value.
func (p *parser) unary(filters bool) (Expression, error) {
	var e Expression
	var err error
	if p.isOperator("-") || p.isOperator("+") {
		if err := p.enter(); err != nil {
			return nil, err
		}
		minus, line := p.token.value == "-", p.token.line
		if err := p.advance(); err != nil {
			return nil, err
		}
		of, err := p.unary(false)
		if err != nil {
			return nil, err
		}
		p.depth--
		e = &Signed{of, line, minus}
	} else if e, err = p.primary(); err != nil {
		return nil, err
	}
	return p.suffixes(e, filters)
}

func (p *parser) primary() (Expression, error) {
	t := p.token
	switch t.kind {
	case name:
		if err := p.advance(); err != nil {
			return nil, err
		}
		switch t.value {
		case "true", "True":
			return Constant{true}, nil
		case "false", "False":
			return Constant{false}, nil
		case "none", "None":
			return Constant{nil}, nil
		}
		p.refer(t.value)
		return Variable{t.value, t.line}, nil
	case stringLiteral:
		p.uses[t.value] = true
		return Constant{texts.Own(t.value)}, p.advance()
	case integerLiteral:
		v, err := p.integer(t)
		if err != nil {
			return nil, err
		}
		return Constant{v}, p.advance()
	case floatLiteral:
		f, _ := strconv.ParseFloat(t.value, 64) // beyond its range it is infinite, as in Python
		return Constant{f}, p.advance()
	case operator:
		switch t.value {
		case "(":
			return p.parenthesis()
		case "[":
			return p.list()
		case "{":
			return p.dict()
		}
	}
	return nil, p.unexpected("an expression")
}

func (p *parser) integer(t token) (values.Value, error) {
	base := 10
	if len(t.value) > 1 && t.value[0] == '0' && strings.IndexByte("xXoObB", t.value[1]) >= 0 {
		base = 0
	} else if len(t.value) > values.MaxDigits {
		return nil, p.fail(t.line, "the integer %.20s… has more than %d digits", t.value, values.MaxDigits)
	}
	n, ok := new(big.Int).SetString(t.value, base)
	if !ok || n.BitLen() > values.MaxBits {
		return nil, p.fail(t.line, "%.20s is no integer of at most %d bits", t.value, values.MaxBits)
	}
	return values.Small(n), nil
}

func (p *parser) parenthesis() (Expression, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	var e Expression = &List{Tuple: true}
	if !p.isOperator(")") {
		var err error
		if e, err = p.tuple(false); err != nil {
			return nil, err
		}
	}
	_, err := p.expect(operator, ")", ")")
	return e, err
}

func (p *parser) list() (Expression, error) {
	n := &List{}
	return n, p.items("]", func() error {
		item, err := p.expression()
		n.Items = append(n.Items, item)
		return err
	})
}

func (p *parser) dict() (Expression, error) {
	n := &Dict{}
	return n, p.items("}", func() error {
		key, err := p.expression()
		if err != nil {
			return err
		}
		if _, err := p.expect(operator, ":", ":"); err != nil {
			return err
		}
		value, err := p.expression()
		n.Keys, n.Values = append(n.Keys, key), append(n.Values, value)
		return err
	})
}

// items reads from the opening bracket, which is the current token, to the closing one.
func (p *parser) items(closer string, item func() error) error {
	if err := p.advance(); err != nil {
		return err
	}
	for !p.isOperator(closer) {
		if err := item(); err != nil {
			return err
		}
		if !p.isOperator(closer) {
			if _, err := p.expect(operator, ",", "a comma or "+closer); err != nil {
				return err
			}
		}
	}
	return p.advance()
}
