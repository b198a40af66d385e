package chat

import (
	"fmt"
	"strconv"
	"strings"

	controls "github.com/nikolalohinski/gonja/v2/builtins/control_structures"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// A hardener replaces, in gonja's syntax tree, everything that computes by a call of this package's operations: "a + b"
// by call("+", a, b), "x | trim" by call("|trim", x). It leaves to gonja the names, literals, "and", "or" and the flow
// of control. Thus the operations are Python's, know the fences, and are paid for from the budget.
type hardener struct {
	constants []string
	lines     lineTable
	size      int   // nodes seen so far
	err       error // the first error
}

func (h *hardener) fail(at *tokens.Token, format string, args ...any) {
	if h.err == nil {
		h.err = fmt.Errorf(format, args...)
		if at != nil {
			h.err = fmt.Errorf("line %d: %w", h.lines.line(at.Col), h.err)
		}
	}
}

// nodes hardens the statements of a block in place.
func (h *hardener) nodes(list []nodes.Node) {
	for _, n := range list {
		h.size++
		switch n := n.(type) {
		case *nodes.Output:
			n.Expression = h.printed(h.expression(n.Expression))
		case *nodes.ControlStructureBlock:
			h.statement(n.ControlStructure)
		case nil, *nodes.Data:
		default:
			h.fail(n.Position(), "unexpected %T", n)
		}
	}
}

func (h *hardener) wrapper(w *nodes.Wrapper) {
	if w != nil {
		h.nodes(w.Nodes)
	}
}

func (h *hardener) statement(s nodes.ControlStructure) {
	switch s := s.(type) {
	case *controls.IfControlStructure:
		for i := range s.Conditions {
			s.Conditions[i] = h.expression(s.Conditions[i])
		}
		for _, w := range s.Wrappers {
			h.wrapper(w)
		}
	case *controls.ForControlStructure:
		before := h.size
		s.IfCondition = h.expression(s.IfCondition)
		h.wrapper(s.BodyWrapper)
		weight := 1 + h.size - before
		s.ObjectEvaluator = h.call("iterate", h.expression(s.ObjectEvaluator), integer(weight))
		h.wrapper(s.EmptyWrapper)
	case *setStatement:
		s.value = h.expression(s.value)
		h.wrapper(s.body)
	case *macroStatement:
		for _, p := range s.parameters {
			p.Value = h.expression(p.Value)
		}
		h.wrapper(s.body)
	case *controls.BreakControlStructure, *controls.ContinueControlStructure:
	default:
		h.fail(s.Position(), "unexpected %T", s)
	}
}

// printed wraps the expression of {{ }}, unless it is plain text.
func (h *hardener) printed(e nodes.Expression) nodes.Expression {
	if _, text := e.(*nodes.String); text {
		return e
	}
	return h.call("print", e)
}

func (h *hardener) expressions(list []nodes.Expression) []nodes.Expression {
	for i := range list {
		list[i] = h.expression(list[i])
	}
	return list
}

func (h *hardener) named(m map[string]nodes.Expression) map[string]nodes.Expression {
	for k, e := range m {
		m[k] = h.expression(e)
	}
	return m
}

func (h *hardener) expression(e nodes.Expression) nodes.Expression {
	h.size++
	switch e := e.(type) {
	case nil:
		return nil
	case *nodes.Name:
		return h.name(e)
	case *nodes.None:
		return name("none")
	case *nodes.Bool, *nodes.Integer, *nodes.Float:
		return e
	case *nodes.List:
		return h.call("list", h.expressions(e.Val)...)
	case *nodes.Tuple:
		return h.call("list", h.expressions(e.Val)...)
	case *nodes.Dict:
		return h.dict(e)
	case *nodes.Negation:
		return h.call("not", h.expression(e.Term))
	case *nodes.UnaryExpression:
		return h.call("unary"+e.Operator.Val, h.expression(e.Term))
	case *nodes.BinaryExpression:
		return h.binary(e)
	case *nodes.FilteredExpression:
		return h.filtered(e)
	case *nodes.TestExpression:
		args := append([]nodes.Expression{h.expression(e.Expression)}, h.expressions(e.Test.Args)...)
		h.known(e.Test.Token, "is "+e.Test.Name)
		return h.call("is "+e.Test.Name, args...)
	case *nodes.GetAttribute:
		return h.call("attribute", h.expression(e.Node), h.attribute(e))
	case *nodes.GetItem:
		return h.call("item", h.expression(e.Node), h.expression(e.Arg))
	case *nodes.GetSlice:
		return h.call("slice", h.expression(e.Node), h.bound(e.Start), h.bound(e.End), h.bound(e.Step))
	case *nodes.Call:
		return h.function(e)
	}
	h.fail(nil, "unexpected %T", e)
	return e
}

// name resolves the constants that the scanner numbered.
func (h *hardener) name(n *nodes.Name) nodes.Expression {
	number, ours := strings.CutPrefix(n.Name.Val, reserved)
	if i, err := strconv.Atoi(number); ours && err == nil && i < len(h.constants) {
		return text(h.constants[i])
	}
	if n.Name.Val == "null" {
		return name("none")
	}
	return n
}

func (h *hardener) dict(d *nodes.Dict) nodes.Expression {
	var args []nodes.Expression
	for _, p := range d.Pairs {
		args = append(args, h.expression(p.Key), h.expression(p.Value))
	}
	return h.call("dict", args...)
}

func (h *hardener) binary(e *nodes.BinaryExpression) nodes.Expression {
	left, right := h.expression(e.Left), h.expression(e.Right)
	switch op := e.Operator.Token; op.Type {
	case tokens.And, tokens.Or: // gonja's evaluate the right side only when needed
		e.Left, e.Right = left, right
		return e
	default:
		h.known(op, op.Val)
		if first, ok := left.(*nodes.Call); ok && (op.Type == tokens.Addition || op.Type == tokens.Tilde) && isCall(first, op.Val) {
			first.Args = append(first.Args, right) // a + b + c in one call
			return first
		}
		return h.call(op.Val, left, right)
	}
}

func (h *hardener) filtered(e *nodes.FilteredExpression) nodes.Expression {
	value := h.expression(e.Expression)
	for _, f := range e.Filters {
		h.known(f.Token, "|"+f.Name)
		call := h.call("|"+f.Name, append([]nodes.Expression{value}, h.expressions(f.Args)...)...)
		call.Kwargs = h.named(f.Kwargs)
		value = call
	}
	return value
}

func (h *hardener) attribute(e *nodes.GetAttribute) nodes.Expression {
	if e.Attribute != "" {
		return text(e.Attribute)
	}
	return integer(e.Index)
}

func (h *hardener) bound(e nodes.Node) nodes.Expression {
	if e == nil {
		return name("none")
	}
	return h.expression(e)
}

// function hardens a call: of a method, of strftime_now, which works without a date, or of a name.
func (h *hardener) function(c *nodes.Call) nodes.Expression {
	args, named := h.expressions(c.Args), h.named(c.Kwargs)
	var call *nodes.Call
	switch f := c.Func.(type) {
	case *nodes.GetAttribute:
		call = h.call("method", append([]nodes.Expression{h.expression(f.Node), h.attribute(f)}, args...)...)
	case *nodes.Name:
		if f.Name.Val == "strftime_now" {
			call = h.call("strftime_now", args...)
			break
		}
		call = &nodes.Call{Location: token(f.Name.Val), Func: f, Args: args}
	default:
		h.fail(nil, "call of something that is neither a name nor a method")
		return c
	}
	call.Kwargs = named
	return call
}

// known makes sure that an operation of the template exists.
func (h *hardener) known(at *tokens.Token, operation string) {
	if _, ok := operations[operation]; !ok {
		h.fail(at, "%q is not supported in a chat template", operation)
	}
}

// call returns the call of an operation.
func (h *hardener) call(operation string, args ...nodes.Expression) *nodes.Call {
	return &nodes.Call{Location: token(operation), Func: name(callName), Args: append([]nodes.Expression{text(operation)}, args...)}
}

// isCall reports whether c calls an operation.
func isCall(c *nodes.Call, operation string) bool {
	f, ok := c.Func.(*nodes.Name)
	if !ok || f.Name.Val != callName {
		return false
	}
	which, ok := c.Args[0].(*nodes.String)
	return ok && which.Val == operation
}

func token(s string) *tokens.Token { return &tokens.Token{Type: tokens.Name, Val: s} }

func name(s string) *nodes.Name { return &nodes.Name{Name: token(s)} }

func text(s string) *nodes.String { return &nodes.String{Location: token(s), Val: s} }

func integer(i int) *nodes.Integer { return &nodes.Integer{Location: token(strconv.Itoa(i)), Val: i} }
