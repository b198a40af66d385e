package emit

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/normal"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// writing returns how a value is written: members in the order that the schema has.
func (c *emitter) writing(v *document.Value) regular.Expr {
	e, ok := c.writings[v]
	if !ok {
		e = c.Arena.Concat(c.write(nil, v)...)
		c.writings[v] = e
	}
	return e
}

// write appends the parts of a value as it is written.
func (c *emitter) write(parts []regular.Expr, v *document.Value) []regular.Expr {
	c.Spend(8 + len(v.Text)/limits.LongText)
	switch v.Kind {
	case document.Number:
		list := []regular.Expr{c.Arena.Literal(v.Text)}
		if n, ok := sets.NumeralOf(c.doc, v); ok {
			list = append(list, c.NumberExpr(sets.Listed([]sets.Numeral{n}), false))
		}
		return append(parts, c.Arena.Or(list...))
	case document.Text:
		return append(parts, c.Quoted(sets.Just(v.Text)))
	case document.Array:
		parts = append(parts, c.arrays.open)
		for i, item := range v.Items {
			if i > 0 {
				parts = append(parts, c.Language.Comma)
			}
			parts = c.write(parts, item)
		}
		return append(parts, c.arrays.closing(len(v.Items)))
	case document.Object:
		parts = append(parts, c.objects.open)
		for i, m := range v.Members {
			if i > 0 {
				parts = append(parts, c.Language.Comma)
			}
			parts = append(parts, c.Language.Name(m.Name), c.Language.Colon)
			parts = c.write(parts, m.Value)
		}
		return append(parts, c.objects.closing(len(v.Members)))
	}
	return append(parts, c.ScalarExpr(sets.Scalars{Words: sets.WordOf(v)}))
}

// closing returns the end of an array or object with some parts. One without has its white space behind the sign that opens it.
func (b brackets) closing(parts int) regular.Expr {
	if parts > 0 {
		return b.shut
	}
	return b.end
}

func (c *emitter) values(f *normal.Values) grammar.Symbol {
	var list []regular.Expr
	for _, v := range f.Values {
		list = append(list, c.writing(v))
	}
	return grammar.Text(c.Arena.Or(list...))
}
