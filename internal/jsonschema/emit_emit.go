package jsonschema

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

func newEmitter(s *sets, source *source, g *grammar.Grammar, anyOrder bool) *emitter {
	c := &emitter{sets: s, g: g, source: source, anyOrder: anyOrder, symbols: map[*node]grammar.Symbol{}, writings: map[*value]regular.Expr{}}
	c.arrays, c.objects = c.brackets("[", "]"), c.brackets("{", "}")
	return c
}

func (c *emitter) brackets(open, end string) brackets {
	r := c.r
	return brackets{r.Concat(r.Literal(open), c.l.Space), r.Concat(c.l.Space, r.Literal(end)), r.Literal(end)}
}

// emit adds the rules of root to the grammar.
func (c *emitter) emit(root *node) grammar.Symbol {
	symbol := c.symbol(root)
	c.define()
	return symbol
}

// define makes the rules of the nodes that symbol was asked for.
func (c *emitter) define() {
	for len(c.undefined) > 0 {
		d := c.undefined[0]
		c.undefined = c.undefined[1:]
		if d.n.about != nil {
			c.here = d.n.about
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
func (c *emitter) rule(f form) grammar.Symbol {
	switch f := f.(type) {
	case *arrayForm:
		return c.array(f)
	case *matchesForm:
		return c.matches(f)
	case *uniqueForm:
		return c.unique(f)
	case *objectForm:
		return c.object(f)
	}
	return c.values(f.(*valuesForm))
}
