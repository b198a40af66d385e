package jsonschema

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// valuesForm is arrays or objects that are listed: those of an enumeration that satisfy the rest of the schema.
type valuesForm struct{ values []*value }

// finite adds the form of the values that sh lists.
func (c *compiler) finite(n *node, sh *shape, forms *[]form) {
	f := &valuesForm{}
	for _, v := range sh.values[0] {
		if typeOf(v) == typesOf[sh.of] && !slices.Contains(f.values, v) && c.satisfies(n.lits, v) {
			f.values = append(f.values, v)
		}
	}
	if len(f.values) > 0 {
		*forms = append(*forms, f)
	}
}

func (f *valuesForm) below(func(*node)) {}
func (f *valuesForm) settle() bool      { return true }

func (f *valuesForm) rule(c *compiler) grammar.Symbol {
	var list []regular.Expr
	for _, v := range f.values {
		list = append(list, c.writing(v))
	}
	return grammar.Text(c.r.Or(list...))
}

// writing returns how a value is written: members in the order that the schema has.
func (c *compiler) writing(v *value) regular.Expr {
	switch v.kind {
	case number:
		list := []regular.Expr{c.r.Literal(v.text)}
		if r := rational(v); r != nil {
			list = append(list, c.numberExpr(numberSet{kind: setFinite, texts: []numeral{{r, v.text}}}, false))
		}
		return c.r.Or(list...)
	case text:
		return c.quoted(stringSet{kind: setFinite, texts: []string{v.text}})
	case array:
		parts := []regular.Expr{c.open[ofArrays]}
		for i, item := range v.items {
			if i > 0 {
				parts = append(parts, c.l.Comma)
			}
			parts = append(parts, c.writing(item))
		}
		if len(v.items) == 0 {
			return c.r.Concat(append(parts, c.r.Literal("]"))...)
		}
		return c.r.Concat(append(parts, c.shut[ofArrays])...)
	case object:
		parts := []regular.Expr{c.open[ofObjects]}
		for i, m := range v.members {
			if i > 0 {
				parts = append(parts, c.l.Comma)
			}
			parts = append(parts, c.quoted(stringSet{kind: setFinite, texts: []string{m.name}}), c.l.Colon, c.writing(m.value))
		}
		if len(v.members) == 0 {
			return c.r.Concat(append(parts, c.r.Literal("}"))...)
		}
		return c.r.Concat(append(parts, c.shut[ofObjects])...)
	}
	return c.scalarExpr(scalars{words: wordOf(v)})
}

// satisfies tells whether all lits are true of a value.
func (c *compiler) satisfies(lits []lit, v *value) bool {
	for _, l := range lits {
		s := c.list[l>>1]
		if l&1 == 0 && !c.valid(s, v) || l&1 != 0 && !c.isLoose(s, 0) && c.valid(s, v) {
			return false
		}
	}
	return true
}

// valid tells whether a value is of a schema.
func (c *compiler) valid(s *schema, v *value) bool {
	all := c.scalarsOf(s) // fails where a schema refers to itself without end
	switch v.kind {
	case null, boolean:
		return all.words&wordOf(v) != 0
	case number:
		r := rational(v)
		return r != nil && c.hasNumber(all.numbers, r)
	case text:
		return c.hasString(all.strings, v.text)
	}
	if s.never || s.types&typeOf(v) == 0 {
		return false
	}
	for _, list := range s.enums {
		if !slices.ContainsFunc(list, func(e *value) bool { return equal(e, v) }) {
			return false
		}
	}
	count := func(list []*schema) (n int) {
		for _, t := range list {
			if c.valid(t, v) {
				n++
			}
		}
		return n
	}
	if count(s.ref) < len(s.ref) || count(s.allOf) < len(s.allOf) || s.anyOf != nil && count(s.anyOf) == 0 || s.oneOf != nil && count(s.oneOf) != 1 ||
		s.not != nil && !c.isLoose(s.not, 0) && c.valid(s.not, v) {
		return false
	}
	if s.cond != nil {
		if c.valid(s.cond, v) {
			if s.then != nil && !c.valid(s.then, v) {
				return false
			}
		} else if s.otherwise != nil && !c.valid(s.otherwise, v) {
			return false
		}
	}
	if v.kind == array {
		return c.validArray(s, v)
	}
	return c.validObject(s, v)
}

func (c *compiler) validArray(s *schema, v *value) bool {
	if len(v.items) < s.minItems || len(v.items) > s.maxItems {
		return false
	}
	if s.restItems != nil {
		c.unsupported(s, "unevaluatedItems", "an array is listed")
	}
	matched := 0
	for i, item := range v.items {
		switch {
		case i < len(s.prefix):
			if !c.valid(s.prefix[i], item) {
				return false
			}
		case s.items != nil:
			if !c.valid(s.items, item) {
				return false
			}
		}
		if s.contains != nil && c.valid(s.contains, item) {
			matched++
		}
		if s.unique && slices.ContainsFunc(v.items[:i], func(other *value) bool { return equal(other, item) }) {
			return false
		}
	}
	return s.contains == nil || matched >= s.minMatches && matched <= s.maxMatches
}

func (c *compiler) validObject(s *schema, v *value) bool {
	if len(v.members) < s.minMembers || len(v.members) > s.maxMembers {
		return false
	}
	if s.restMembers != nil {
		c.unsupported(s, "unevaluatedProperties", "an object is listed")
	}
	for _, name := range s.required {
		if v.get(name) == nil {
			return false
		}
	}
	for _, n := range s.needs {
		if v.get(n.name) == nil {
			continue
		}
		for _, name := range n.names {
			if v.get(name) == nil {
				return false
			}
		}
		if n.is != nil && !c.valid(n.is, v) {
			return false
		}
	}
	for _, m := range v.members {
		is, ok := s.named[m.name]
		if ok && !c.valid(is, m.value) {
			return false
		}
		for _, p := range s.byPattern {
			if c.hasKey(keys{kind: keyPattern, pattern: p.pattern, of: s}, m.name) {
				if ok = true; !c.valid(p.is, m.value) {
					return false
				}
			}
		}
		if !ok && s.additional != nil && !c.valid(s.additional, m.value) {
			return false
		}
		if s.names != nil && !c.hasString(c.scalarsOf(s.names).strings, m.name) {
			return false
		}
	}
	return true
}
