package jsonschema

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// writing returns how a value is written: members in the order that the schema has.
func (c *emitter) writing(v *value) regular.Expr {
	e, ok := c.writings[v]
	if !ok {
		e = c.r.Concat(c.write(nil, v)...)
		c.writings[v] = e
	}
	return e
}

// write appends the parts of a value as it is written.
func (c *emitter) write(parts []regular.Expr, v *value) []regular.Expr {
	c.spend(8 + len(v.text)/longText)
	switch v.kind {
	case number:
		list := []regular.Expr{c.r.Literal(v.text)}
		if n, ok := numeralOf(c.source, v); ok {
			list = append(list, c.numberExpr(listed([]numeral{n}), false))
		}
		return append(parts, c.r.Or(list...))
	case text:
		return append(parts, c.quoted(just(v.text)))
	case array:
		parts = append(parts, c.arrays.open)
		for i, item := range v.items {
			if i > 0 {
				parts = append(parts, c.l.Comma)
			}
			parts = c.write(parts, item)
		}
		return append(parts, c.arrays.closing(len(v.items)))
	case object:
		parts = append(parts, c.objects.open)
		for i, m := range v.members {
			if i > 0 {
				parts = append(parts, c.l.Comma)
			}
			parts = append(parts, c.quoted(just(m.name)), c.l.Colon)
			parts = c.write(parts, m.value)
		}
		return append(parts, c.objects.closing(len(v.members)))
	}
	return append(parts, c.scalarExpr(scalars{words: wordOf(v)}))
}

// closing returns the end of an array or object with some parts. One without has its white space behind the sign that opens it.
func (b brackets) closing(parts int) regular.Expr {
	if parts > 0 {
		return b.shut
	}
	return b.end
}

func (c *emitter) values(f *valuesForm) grammar.Symbol {
	var list []regular.Expr
	for _, v := range f.values {
		list = append(list, c.writing(v))
	}
	return grammar.Text(c.r.Or(list...))
}
