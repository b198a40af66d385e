package emit

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/normal"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
	"github.com/antigravity-go/antigravity/internal/regular"
)

func New(s *sets.Algebra, source *document.Document, g *grammar.Grammar, anyOrder bool) *Emitter {
	c := &Emitter{Algebra: s, g: g, source: source, anyOrder: anyOrder, writings: map[*document.Value]regular.Expr{}}
	c.arrays, c.objects = c.brackets("[", "]"), c.brackets("{", "}")
	return c
}

func (c *Emitter) brackets(open, end string) brackets {
	r := c.Arena
	return brackets{r.Concat(r.Literal(open), c.Language.Space), r.Concat(c.Language.Space, r.Literal(end)), r.Literal(end)}
}

// Emit adds the rules of root to the grammar.
func (c *Emitter) Emit(root *normal.Node) grammar.Symbol {
	symbol := c.symbol(root)
	c.define()
	return symbol
}

// define makes the rules of the nodes that symbol was asked for.
func (c *Emitter) define() {
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
func (c *Emitter) rule(f normal.Form) grammar.Symbol {
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
