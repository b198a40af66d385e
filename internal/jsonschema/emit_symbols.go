package jsonschema

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// emitter writes the rules of nodes.
type emitter struct {
	*sets
	g        *grammar.Grammar
	source   *source
	anyOrder bool

	symbols         map[*node]grammar.Symbol
	undefined       []definition
	writings        map[*value]regular.Expr
	arrays, objects brackets
}

// brackets are the signs around an array or an object, with the white space inside; end is the sign without.
type brackets struct{ open, shut, end regular.Expr }

// definition is a rule that is still to be made: of the scalars and forms of a node.
type definition struct {
	rule  grammar.RuleID
	n     *node
	words regular.Expr
	forms []form
}

// symbol returns what stands for the values of n in the grammar.
func (c *emitter) symbol(n *node) grammar.Symbol {
	if s, ok := c.symbols[n]; ok {
		return s
	}
	words := c.scalarExpr(n.scalars)
	var forms []form
	for _, list := range n.forms {
		for _, f := range list {
			if f.settle() {
				forms = append(forms, f)
			}
		}
	}
	s := grammar.Text(words)
	if len(forms) > 0 {
		rule := c.g.Add(nil)
		s = grammar.Call(rule, 0)
		c.undefined = append(c.undefined, definition{rule, n, words, forms})
	}
	c.symbols[n] = s
	return s
}

// append adds the symbol of n to a sequence that ends with an expression. The two stay apart, also where n is an expression: what is
// inside a string is then the same expression, with the same mask, wherever the string stands.
func (c *emitter) append(e regular.Expr, n *node) []grammar.Symbol {
	s := c.symbol(n)
	if e == regular.Empty {
		return []grammar.Symbol{s}
	}
	return []grammar.Symbol{grammar.Text(e), s}
}
