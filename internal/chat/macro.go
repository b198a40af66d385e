package chat

import (
	"fmt"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// macroStatement is {% macro name(a, b=1) %} body {% endmacro %}. gonja's own recurses without end.
type macroStatement struct {
	location   *tokens.Token
	name       string
	parameters []*parameter
	body       *nodes.Wrapper
}

type parameter struct {
	name  string
	Value nodes.Expression // the default, or nil: undefined
}

func (m *macroStatement) Position() *tokens.Token { return m.location }

func (m *macroStatement) String() string { return "macro " + m.name }

func parseMacro(p, args *parser.Parser) (nodes.ControlStructure, error) {
	m := &macroStatement{location: p.Current()}
	name := args.Match(tokens.Name)
	if name == nil || args.Match(tokens.LeftParenthesis) == nil {
		return nil, fmt.Errorf("macro takes a name and parameters in brackets")
	}
	m.name = name.Val
	for args.Match(tokens.RightParenthesis) == nil {
		if len(m.parameters) > 0 && args.Match(tokens.Comma) == nil {
			return nil, fmt.Errorf("macro %s: parameters without a comma between", m.name)
		}
		t := args.Match(tokens.Name)
		if t == nil {
			return nil, fmt.Errorf("macro %s: a parameter that is no name", m.name)
		}
		q := &parameter{name: t.Val}
		if args.Match(tokens.Assign) != nil {
			value, err := args.ParseExpression()
			if err != nil {
				return nil, err
			}
			q.Value = value
		}
		m.parameters = append(m.parameters, q)
	}
	var err error
	m.body, _, err = p.WrapUntil("endmacro")
	return m, err
}

// Execute implements exec.ControlStructure: it defines the macro.
func (m *macroStatement) Execute(e *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	r, err := runOf(e.Environment.Context)
	if err != nil {
		return err
	}
	e.Environment.Context.Set(m.name, func(p *exec.VarArgs) *exec.Value {
		text, err := m.call(r, e.Inherit(), p)
		if err != nil {
			return r.fail(fmt.Errorf("macro %s: %w", m.name, rootCause(err)))
		}
		return exec.AsValue(text)
	})
	return nil
}

func (m *macroStatement) call(r *run, e *exec.Renderer, p *exec.VarArgs) (string, error) {
	if r.macros++; r.macros > maxMacros {
		return "", fmt.Errorf("calls nested deeper than %d", maxMacros)
	}
	defer func() { r.macros-- }()
	if err := r.spend(macroSteps); err != nil {
		return "", err
	}
	if len(p.Args) > len(m.parameters) {
		return "", fmt.Errorf("%d arguments for %d parameters", len(p.Args), len(m.parameters))
	}
	for i, q := range m.parameters {
		value := exec.AsValue(nil)
		if i < len(p.Args) {
			value = p.Args[i]
		} else if v, ok := p.KwArgs[q.name]; ok {
			value = v
		} else if q.Value != nil {
			value = e.Eval(q.Value)
		}
		if value.IsError() {
			return "", value
		}
		e.Environment.Context.Set(q.name, value.Interface())
	}
	return r.capture(e, m.body)
}
