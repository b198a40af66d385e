package emit

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/normal"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// emitter writes the rules of nodes.
type emitter struct {
	*sets.Algebra
	g        *grammar.Grammar
	doc      *document.Document
	anyOrder bool

	symbols         []symbol // by normal.Node.ID
	undefined       []definition
	writings        map[*document.Value]regular.Expr
	arrays, objects brackets
}

// brackets are the signs around an array or an object, with the white space inside; end is the sign without.
type brackets struct{ open, shut, end regular.Expr }

func (c *emitter) brackets(open, end string) brackets {
	r := c.Arena
	return brackets{r.Concat(r.Literal(open), c.Language.Space), r.Concat(c.Language.Space, r.Literal(end)), r.Literal(end)}
}

// symbol is the symbol of a node, if it is known.
type symbol struct {
	grammar.Symbol
	known bool
}

// definition is a rule that is still to be made: of the scalars and forms of a node.
type definition struct {
	rule  grammar.RuleID
	n     *normal.Node
	words regular.Expr
	forms []normal.Form
}

// symbol returns the grammar's symbol for the values of n.
func (c *emitter) symbol(n *normal.Node) grammar.Symbol {
	if more := n.ID + 1 - len(c.symbols); more > 0 {
		c.symbols = append(c.symbols, make([]symbol, more)...)
	}
	if s := c.symbols[n.ID]; s.known {
		return s.Symbol
	}
	words := c.ScalarExpr(n.Scalars)
	var forms []normal.Form
	for _, list := range n.Forms {
		for _, f := range list {
			if f.Settle() {
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
	c.symbols[n.ID] = symbol{s, true}
	return s
}

// append adds the symbol of n to a sequence that ends with an expression. The two stay apart, even if n is an expression: the inside of a
// string is then the same expression, with the same mask, wherever the string stands.
func (c *emitter) append(e regular.Expr, n *normal.Node) []grammar.Symbol {
	s := c.symbol(n)
	if e == regular.Empty {
		return []grammar.Symbol{s}
	}
	return []grammar.Symbol{grammar.Text(e), s}
}
