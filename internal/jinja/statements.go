package jinja

import "slices"

// statementParsers are the blocks that a template may use. A parser of one is called behind the block's name, t, and leaves
// the end of the last tag as the current token.
func statementParsers() map[string]func(p *parser, t token) (statement, error) {
	return map[string]func(p *parser, t token) (statement, error){
		"if": parseIf, "for": parseFor, "set": parseSet, "with": parseWith, "macro": parseMacro, "call": parseCall,
		"filter": parseFilterBlock, "break": parseJump, "continue": parseJump, "generation": parseGeneration,
	}
}

func parseIf(p *parser, t token) (statement, error) {
	n := &ifNode{line: t.line}
	for {
		test, err := p.tuple(false)
		if err != nil {
			return nil, err
		}
		body, err := p.body(t, "elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		n.tests, n.branches = append(n.tests, test), append(n.branches, body)
		end := p.token.value
		if err := p.advance(); err != nil {
			return nil, err
		}
		switch end {
		case "elif":
			continue
		case "else":
			body, err := p.wholeBody(t, "endif")
			n.branches = append(n.branches, body)
			return n, err
		}
		return n, nil
	}
}

func parseFor(p *parser, t token) (statement, error) {
	n := &forNode{line: t.line}
	var err error
	if n.target, err = p.target(false); err != nil {
		return nil, err
	}
	if _, err = p.expect(name, "in", "in"); err != nil {
		return nil, err
	}
	if n.over, err = p.tuple(true); err != nil {
		return nil, err
	}
	if filtered, err := p.skip(name, "if"); err != nil {
		return nil, err
	} else if filtered {
		if n.filter, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if n.recursive, err = p.skip(name, "recursive"); err != nil {
		return nil, err
	}
	p.loops++
	n.body, err = p.body(t, "else", "endfor")
	p.loops--
	if err != nil {
		return nil, err
	}
	end := p.token.value
	if err := p.advance(); err != nil {
		return nil, err
	}
	if end == "else" {
		n.otherwise, err = p.wholeBody(t, "endfor")
	}
	return n, err
}

func parseJump(p *parser, t token) (statement, error) {
	if p.loops == 0 {
		return nil, p.fail(t.line, "{%% %s %%} outside of a loop", t.value)
	}
	if t.value == "break" {
		return jump{breaking}, nil
	}
	return jump{continuing}, nil
}

func parseSet(p *parser, t token) (statement, error) {
	n := &setNode{line: t.line}
	var err error
	if n.target, err = p.target(true); err != nil {
		return nil, err
	}
	if assigned, err := p.skip(operator, "="); err != nil {
		return nil, err
	} else if assigned {
		n.value, err = p.tuple(false)
		return n, err
	}
	if n.steps, err = p.filters(); err != nil {
		return nil, err
	}
	n.body, err = p.detached(t, "endset")
	return n, err
}

// detached reads a body that loops around it do not reach into.
func (p *parser) detached(t token, end string) ([]statement, error) {
	loops := p.loops
	p.loops = 0
	body, err := p.wholeBody(t, end)
	p.loops = loops
	return body, err
}

// filters reads "| name | name(…)" … .
func (p *parser) filters() ([]step, error) {
	var steps []step
	for p.isOperator("|") {
		s, err := p.filter()
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func parseFilterBlock(p *parser, t token) (statement, error) {
	n := &filterNode{line: t.line}
	first, err := p.namedFilter(p.token.line)
	if err != nil {
		return nil, err
	}
	rest, err := p.filters()
	if err != nil {
		return nil, err
	}
	n.steps = append([]step{first}, rest...)
	n.body, err = p.detached(t, "endfilter")
	return n, err
}

func parseWith(p *parser, t token) (statement, error) {
	n := &withNode{line: t.line}
	for p.token.kind != blockEnd {
		if len(n.targets) > 0 {
			if _, err := p.expect(operator, ",", ","); err != nil {
				return nil, err
			}
		}
		to, err := p.target(false)
		if err != nil {
			return nil, err
		}
		if _, err := p.expect(operator, "=", "="); err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		n.targets, n.values = append(n.targets, to), append(n.values, value)
	}
	var err error
	n.body, err = p.wholeBody(t, "endwith")
	return n, err
}

// parseGeneration reads a stretch that only training treats differently. It has a scope of its own.
func parseGeneration(p *parser, t token) (statement, error) {
	body, err := p.wholeBody(t, "endgeneration")
	return &scopeNode{body}, err
}

func parseMacro(p *parser, t token) (statement, error) {
	head, err := p.expect(name, "", "the name of a macro")
	if err != nil {
		return nil, err
	}
	n := &macroNode{name: head.value, line: t.line}
	if err := p.parameters(n); err != nil {
		return nil, err
	}
	return n, p.macroBody(n, t, "endmacro")
}

// parseCall reads {% call(parameters) macro(…) %} body {% endcall %}.
func parseCall(p *parser, t token) (statement, error) {
	n := &callNode{caller: &macroNode{name: "caller", line: t.line}, line: t.line}
	if p.isOperator("(") {
		if err := p.parameters(n.caller); err != nil {
			return nil, err
		}
	}
	var err error
	if n.of, err = p.expression(); err != nil {
		return nil, err
	}
	steps := []step(nil)
	if s, ok := n.of.(*suffixed); ok {
		steps = s.steps
	}
	switch last := last(steps).(type) {
	case *callStep:
		last.with.named = append(last.with.named, namedExpression{"caller", variable{"caller", t.line}})
	case *methodStep:
		last.with.named = append(last.with.named, namedExpression{"caller", variable{"caller", t.line}})
	default:
		return nil, p.fail(t.line, "{%% call %%} takes a call of a macro")
	}
	return n, p.macroBody(n.caller, t, "endcall")
}

func last(steps []step) step {
	if len(steps) == 0 {
		return nil
	}
	return steps[len(steps)-1]
}

func (p *parser) macroBody(n *macroNode, t token, end string) error {
	p.captured = append(p.captured, map[string]bool{})
	var err error
	n.body, err = p.detached(t, end)
	used := p.captured[len(p.captured)-1]
	p.captured = p.captured[:len(p.captured)-1]
	isOwn := func(name string) bool { return used[name] && !slices.Contains(n.params, name) }
	n.varargs, n.kwargs, n.caller = isOwn("varargs"), isOwn("kwargs"), isOwn("caller")
	return err
}

// parameters reads "(a, b=1)".
func (p *parser) parameters(n *macroNode) error {
	if _, err := p.expect(operator, "(", "("); err != nil {
		return err
	}
	for !p.isOperator(")") {
		if len(n.params) > 0 {
			if _, err := p.expect(operator, ",", ","); err != nil {
				return err
			}
		}
		t, err := p.expect(name, "", "the name of a parameter")
		if err != nil {
			return err
		}
		if slices.Contains(n.params, t.value) || len(n.params) == maxNesting {
			return p.fail(t.line, "parameter %s: there is one of that name, or more than %d", t.value, maxNesting)
		}
		n.params = append(n.params, t.value)
		if given, err := p.skip(operator, "="); err != nil {
			return err
		} else if given {
			value, err := p.expression()
			if err != nil {
				return err
			}
			n.defaults = append(n.defaults, value)
		} else if len(n.defaults) > 0 {
			return p.fail(t.line, "parameter %s has no default, and one before it has", t.value)
		}
	}
	return p.advance()
}

// target reads what is assigned to: names, with commas and brackets, or in a set a namespace's attribute.
func (p *parser) target(attributes bool) (target, error) {
	one, err := p.oneTarget(attributes)
	if err != nil || !p.isOperator(",") {
		return one, err
	}
	all := target{several: []target{one}}
	for p.isOperator(",") {
		if err := p.advance(); err != nil {
			return all, err
		}
		if p.token.kind != name && !p.isOperator("(") || p.isName("in") {
			break
		}
		if one, err = p.oneTarget(false); err != nil {
			return all, err
		}
		all.several = append(all.several, one)
	}
	return all, nil
}

func (p *parser) oneTarget(attributes bool) (target, error) {
	if p.isOperator("(") {
		if err := p.enter(); err != nil {
			return target{}, err
		}
		if err := p.advance(); err != nil {
			return target{}, err
		}
		inner, err := p.target(false)
		if err != nil {
			return inner, err
		}
		p.depth--
		_, err = p.expect(operator, ")", ")")
		return inner, err
	}
	t, err := p.expect(name, "", "the name of a variable")
	if err != nil {
		return target{}, err
	}
	if slices.Contains(constants, t.value) {
		return target{}, p.fail(t.line, "%s cannot be assigned to", t.value)
	}
	to := target{name: t.value}
	if dot, err := p.skip(operator, "."); err != nil || !dot || !attributes {
		if dot && err == nil {
			err = p.fail(t.line, "%s.…: only {%% set %%} assigns to an attribute", t.value)
		}
		return to, err
	}
	p.refer(t.value)
	attribute, err := p.expect(name, "", "the name of an attribute")
	to.attribute = attribute.value
	return to, err
}

// constants are names with a meaning of their own.
var constants = []string{"true", "false", "none", "True", "False", "None"}
