package chat

import (
	"fmt"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// setStatement is {% set x = value %}, {% set ns.x = value %}, and {% set x %} body {% endset %}. gonja's own captures a
// body of any length.
type setStatement struct {
	location  *tokens.Token
	name      string // the variable
	attribute string // of the namespace that the variable is, or ""
	value     nodes.Expression
	body      *nodes.Wrapper
}

func (s *setStatement) Position() *tokens.Token { return s.location }

func (s *setStatement) String() string { return "set " + s.name }

func parseSet(p, args *parser.Parser) (nodes.ControlStructure, error) {
	s := &setStatement{location: p.Current()}
	target := args.Match(tokens.Name)
	if target == nil {
		return nil, fmt.Errorf("set takes the name of a variable")
	}
	s.name = target.Val
	if args.Match(tokens.Dot) != nil {
		attribute := args.Match(tokens.Name)
		if attribute == nil {
			return nil, fmt.Errorf("set %s. takes the name of an attribute", s.name)
		}
		s.attribute = attribute.Val
	}
	var err error
	if args.Match(tokens.Assign) != nil {
		s.value, err = args.ParseExpression()
	} else {
		s.body, _, err = p.WrapUntil("endset")
	}
	if err == nil && !args.End() {
		err = fmt.Errorf("set %s: unexpected %q", s.name, args.Current().Val)
	}
	return s, err
}

// Execute implements exec.ControlStructure.
func (s *setStatement) Execute(e *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	r, err := runOf(e.Environment.Context)
	if err != nil {
		return err
	}
	var value any
	if s.body != nil {
		value, err = r.capture(e.Inherit(), s.body)
	} else if v := e.Eval(s.value); v.IsError() {
		err = v
	} else {
		value = v.Interface()
	}
	if err != nil {
		return err
	}
	if s.attribute == "" {
		e.Environment.Context.Set(s.name, value)
		return nil
	}
	target, _ := e.Environment.Context.Get(s.name)
	n, ok := target.(*namespace)
	if !ok {
		return r.fail(fmt.Errorf("set %s.%s: %s is no namespace()", s.name, s.attribute, s.name))
	}
	n.values[s.attribute] = value
	return nil
}

// capture renders a block to a string.
func (r *run) capture(e *exec.Renderer, body *nodes.Wrapper) (string, error) {
	out := &output{run: r}
	e.Output = out
	if err := e.ExecuteWrapper(body); err != nil {
		return "", err
	}
	return out.String(), nil
}
