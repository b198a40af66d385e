// Package emit is the last step of a compilation: nodes become rules of a grammar.
//
// A node without forms is an expression: the texts of its scalars. Any other node is a rule with an alternative for its scalars and one for
// each of its forms. What a rule must remember of an array or object (how many elements there were, which properties came) is its argument.
package emit

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/normal"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// Rules adds the rules of root to g, which must use the algebra's arena, and returns the symbol of the values of root. With anyOrder, the
// properties of an object come in any order if there are not too many.
func Rules(root *normal.Node, algebra *sets.Algebra, doc *document.Document, g *grammar.Grammar, anyOrder bool) grammar.Symbol {
	c := &emitter{Algebra: algebra, g: g, doc: doc, anyOrder: anyOrder, writings: map[*document.Value]regular.Expr{}}
	c.arrays, c.objects = c.brackets("[", "]"), c.brackets("{", "}")
	s := c.symbol(root)
	c.define()
	return s
}

// define makes the rules of the nodes that symbol was asked for.
func (c *emitter) define() {
	for len(c.undefined) > 0 {
		d := c.undefined[0]
		c.undefined = c.undefined[1:]
		if d.n.About != nil {
			c.Here = d.n.About
		}
		var all grammar.Alternatives
		if d.words != regular.None {
			all = append(all, []grammar.Symbol{grammar.Text(d.words)})
		}
		for _, f := range d.forms {
			all = append(all, []grammar.Symbol{c.rule(f)})
		}
		c.g.Define(d.rule, all)
	}
}

// rule adds the rule of a form to the grammar.
func (c *emitter) rule(f normal.Form) grammar.Symbol {
	switch f := f.(type) {
	case *normal.Array:
		return c.array(f)
	case *normal.Matches:
		return c.matches(f)
	case *normal.Unique:
		return c.unique(f)
	case *normal.Object:
		return c.object(f)
	}
	return c.values(f.(*normal.Values))
}
