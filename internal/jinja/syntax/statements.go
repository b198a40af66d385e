package syntax

import (
	"slices"
)

// A statement is read by the parser of its name in statementParsers. Its body is read up to one of the words that may end it. For
//
//	{% if a %}x{% elif b %}y{% else %}z{% endif %}
//
// parseIf reads the test a and the body up to "elif", the test b and the body up to "else", and the body up to "endif": an If with two
// Tests and three Branches.

// statementParsers are the blocks that a template may use. A parser of one is called behind the block's name, t, and leaves
// the end of the last tag as the current token.
func statementParsers() map[string]func(p *parser, t token) (Statement, error) {
	return map[string]func(p *parser, t token) (Statement, error){
		"if": parseIf, "for": parseFor, "set": parseSet, "with": parseWith, "macro": parseMacro, "call": parseCall,
		"filter": parseFilterBlock, "break": parseJump, "continue": parseJump, "generation": parseGeneration,
	}
}

func parseIf(p *parser, t token) (Statement, error) {
	n := &If{Line: t.line}
	for {
		test, err := p.tuple(false)
		if err != nil {
			return nil, err
		}
		body, err := p.body(t, "elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		n.Tests, n.Branches = append(n.Tests, test), append(n.Branches, body)
		end := p.token.value
		if err := p.advance(); err != nil {
			return nil, err
		}
		switch end {
		case "elif":
			continue
		case "else":
			body, err := p.wholeBody(t, "endif")
			n.Branches = append(n.Branches, body)
			return n, err
		}
		return n, nil
	}
}

func parseFor(p *parser, t token) (Statement, error) {
	n := &For{Line: t.line}
	var err error
	if n.Target, err = p.target(false); err != nil {
		return nil, err
	}
	if _, err = p.expect(name, "in", "in"); err != nil {
		return nil, err
	}
	if n.Over, err = p.tuple(true); err != nil {
		return nil, err
	}
	if filtered, err := p.skip(name, "if"); err != nil {
		return nil, err
	} else if filtered {
		if n.Filter, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if n.Recursive, err = p.skip(name, "recursive"); err != nil {
		return nil, err
	}
	p.loops++
	n.Body, err = p.body(t, "else", "endfor")
	p.loops--
	if err != nil {
		return nil, err
	}
	end := p.token.value
	if err := p.advance(); err != nil {
		return nil, err
	}
	if end == "else" {
		n.Otherwise, err = p.wholeBody(t, "endfor")
	}
	return n, err
}

func parseJump(p *parser, t token) (Statement, error) {
	if p.loops == 0 {
		return nil, p.fail(t.line, "{%% %s %%} outside of a loop", t.value)
	}
	return Jump{t.value == "break"}, nil
}

func parseSet(p *parser, t token) (Statement, error) {
	n := &Set{Line: t.line}
	var err error
	if n.Target, err = p.target(true); err != nil {
		return nil, err
	}
	if assigned, err := p.skip(operator, "="); err != nil {
		return nil, err
	} else if assigned {
		n.Value, err = p.tuple(false)
		return n, err
	}
	if n.Steps, err = p.filters(); err != nil {
		return nil, err
	}
	n.Body, err = p.detached(t, "endset")
	return n, err
}

// detached reads a body that loops around it do not reach into.
func (p *parser) detached(t token, end string) ([]Statement, error) {
	loops := p.loops
	p.loops = 0
	body, err := p.wholeBody(t, end)
	p.loops = loops
	return body, err
}

// filters reads "| name | name(…)" … .
func (p *parser) filters() ([]Step, error) {
	var steps []Step
	for p.isOperator("|") {
		s, err := p.filter()
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func parseFilterBlock(p *parser, t token) (Statement, error) {
	n := &FilterBlock{Line: t.line}
	first, err := p.namedFilter(p.token.line)
	if err != nil {
		return nil, err
	}
	rest, err := p.filters()
	if err != nil {
		return nil, err
	}
	n.Steps = append([]Step{first}, rest...)
	n.Body, err = p.detached(t, "endfilter")
	return n, err
}

func parseWith(p *parser, t token) (Statement, error) {
	n := &With{Line: t.line}
	for p.token.kind != blockEnd {
		if len(n.Targets) > 0 {
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
		n.Targets, n.Values = append(n.Targets, to), append(n.Values, value)
	}
	var err error
	n.Body, err = p.wholeBody(t, "endwith")
	return n, err
}

// parseGeneration reads a stretch that only training treats differently. It has a scope of its own.
func parseGeneration(p *parser, t token) (Statement, error) {
	body, err := p.wholeBody(t, "endgeneration")
	return &Scope{body}, err
}

func parseMacro(p *parser, t token) (Statement, error) {
	head, err := p.expect(name, "", "the name of a macro")
	if err != nil {
		return nil, err
	}
	n := &Macro{Name: head.value}
	if err := p.parameters(n); err != nil {
		return nil, err
	}
	return n, p.macroBody(n, t, "endmacro")
}

// parseCall reads {% call(parameters) macro(…) %} body {% endcall %}.
func parseCall(p *parser, t token) (Statement, error) {
	n := &CallBlock{Caller: &Macro{Name: "caller"}, Line: t.line}
	if p.isOperator("(") {
		if err := p.parameters(n.Caller); err != nil {
			return nil, err
		}
	}
	var err error
	if n.Of, err = p.expression(); err != nil {
		return nil, err
	}
	steps := []Step(nil)
	if s, ok := n.Of.(*Suffixed); ok {
		steps = s.Steps
	}
	switch last := last(steps).(type) {
	case *Call:
		last.With.Named = append(last.With.Named, NamedExpression{"caller", Variable{"caller", t.line}})
	case *Method:
		last.With.Named = append(last.With.Named, NamedExpression{"caller", Variable{"caller", t.line}})
	default:
		return nil, p.fail(t.line, "{%% call %%} takes a call of a macro")
	}
	return n, p.macroBody(n.Caller, t, "endcall")
}

func last(steps []Step) Step {
	if len(steps) == 0 {
		return nil
	}
	return steps[len(steps)-1]
}

func (p *parser) macroBody(n *Macro, t token, end string) error {
	p.captured = append(p.captured, map[string]bool{})
	var err error
	n.Body, err = p.detached(t, end)
	used := p.captured[len(p.captured)-1]
	p.captured = p.captured[:len(p.captured)-1]
	isOwn := func(name string) bool { return used[name] && !slices.Contains(n.Params, name) }
	n.Varargs, n.Kwargs, n.Caller = isOwn("varargs"), isOwn("kwargs"), isOwn("caller")
	return err
}

// parameters reads "(a, b=1)".
func (p *parser) parameters(n *Macro) error {
	if _, err := p.expect(operator, "(", "("); err != nil {
		return err
	}
	for !p.isOperator(")") {
		if len(n.Params) > 0 {
			if _, err := p.expect(operator, ",", ","); err != nil {
				return err
			}
		}
		t, err := p.expect(name, "", "the name of a parameter")
		if err != nil {
			return err
		}
		if slices.Contains(n.Params, t.value) || len(n.Params) == MaxNesting {
			return p.fail(t.line, "parameter %s: there is one of that name, or more than %d", t.value, MaxNesting)
		}
		n.Params = append(n.Params, t.value)
		if given, err := p.skip(operator, "="); err != nil {
			return err
		} else if given {
			value, err := p.expression()
			if err != nil {
				return err
			}
			n.Defaults = append(n.Defaults, value)
		} else if len(n.Defaults) > 0 {
			return p.fail(t.line, "parameter %s has no default, and one before it has", t.value)
		}
	}
	return p.advance()
}

// target reads the left side of an assignment: names, with commas and brackets, or, in a set, a namespace's attribute.
func (p *parser) target(attributes bool) (Target, error) {
	one, err := p.oneTarget(attributes)
	if err != nil || !p.isOperator(",") {
		return one, err
	}
	all := Target{Several: []Target{one}}
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
		all.Several = append(all.Several, one)
	}
	return all, nil
}

func (p *parser) oneTarget(attributes bool) (Target, error) {
	if p.isOperator("(") {
		if err := p.enter(); err != nil {
			return Target{}, err
		}
		if err := p.advance(); err != nil {
			return Target{}, err
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
		return Target{}, err
	}
	if slices.Contains(constants, t.value) {
		return Target{}, p.fail(t.line, "%s cannot be assigned to", t.value)
	}
	to := Target{Name: t.value}
	if dot, err := p.skip(operator, "."); err != nil || !dot || !attributes {
		if dot && err == nil {
			err = p.fail(t.line, "%s.…: only {%% set %%} assigns to an attribute", t.value)
		}
		return to, err
	}
	p.refer(t.value)
	attribute, err := p.expect(name, "", "the name of an attribute")
	to.Attribute = attribute.value
	return to, err
}

// constants are names with a meaning of their own.
var constants = []string{"true", "false", "none", "True", "False", "None"}
