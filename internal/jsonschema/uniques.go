package jsonschema

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// maxUnique bounds the values that the elements of an array without equal elements may have: each is a bit of an argument.
const maxUnique = 60

// finishUnique adds the form of arrays whose elements differ. They must be words, or strings and numbers of an enumeration: what was
// written is remembered.
func (c *compiler) finishUnique(sh *shape, f *arrayForm, forms *[]form) {
	refuse := func(reason string) {
		c.unsupported(sh.unique, "uniqueItems", "%s", reason)
		*forms = append(*forms, f)
	}
	if len(f.prefix) > 0 || len(sh.matches) > 0 {
		refuse("the elements have schemas of their own")
		return
	}
	if c.someForm(f.rest, ofArrays) || c.someForm(f.rest, ofObjects) {
		refuse("arrays and objects among the elements cannot be told apart")
		return
	}
	set := c.scalarsIn(f.rest)
	u := &uniqueForm{least: f.least, most: f.most}
	for i, word := range [...]string{"null", "true", "false"} {
		if set.words>>i&1 != 0 {
			u.values = append(u.values, c.r.Literal(word))
		}
	}
	ns, ss := set.numbers, set.strings
	if ns.kind != setNone && ns.kind != setFinite && c.alive(c.numberExpr(ns, true)) || ss.kind != setNone && ss.kind != setFinite && c.someString(ss) ||
		len(u.values)+len(ns.texts)+len(ss.texts) > maxUnique {
		refuse("there are too many values that the elements may have: they must be among a few that are listed")
		return
	}
	for _, n := range ns.texts {
		u.values = append(u.values, c.numberExpr(numberSet{kind: setFinite, texts: []numeral{n}}, false))
	}
	for _, s := range ss.texts {
		u.values = append(u.values, c.quoted(stringSet{kind: setFinite, texts: []string{s}}))
	}
	if u.most = min(u.most, len(u.values)); u.least <= u.most {
		*forms = append(*forms, u)
	}
}

// uniqueForm is arrays of different values out of a few.
type uniqueForm struct {
	values      []regular.Expr
	least, most int
}

func (u *uniqueForm) below(func(*node)) {}
func (u *uniqueForm) settle() bool      { return true }

// uniqueRule is the rule of a uniqueForm. Its argument has a bit for each value that was written, and the place between the signs.
type uniqueRule struct {
	values      []grammar.Symbol
	least, most int
	id          grammar.RuleID

	open, comma, shut, close grammar.Symbol
}

func (u *uniqueForm) rule(c *compiler) grammar.Symbol {
	r := &uniqueRule{least: u.least, most: u.most, id: c.g.Add(nil)}
	c.g.Define(r.id, r)
	for _, v := range u.values {
		r.values = append(r.values, grammar.Text(v))
	}
	r.open, r.comma, r.shut = grammar.Text(c.open[ofArrays]), grammar.Text(c.l.Comma), grammar.Text(c.shut[ofArrays])
	r.close = grammar.Text(c.r.Literal("]"))
	return grammar.Call(r.id, atBegin)
}

// Expand gives what may follow.
func (r *uniqueRule) Expand(arg int64, yield func(...grammar.Symbol)) {
	written, place := arg/places, int(arg)%places
	count := popcount(uint64(written))
	switch place {
	case atBegin:
		yield(r.open, grammar.Call(r.id, atFirst))
		return
	case atEnd:
		if count < r.most {
			yield(r.comma, grammar.Call(r.id, written*places+atMember))
		}
	default:
		if count < r.most {
			for i, v := range r.values {
				if written>>i&1 == 0 {
					yield(v, grammar.Call(r.id, (written|1<<i)*places+atEnd))
				}
			}
		}
	}
	if place != atMember && count >= r.least {
		if place == atFirst {
			yield(r.close)
		} else {
			yield(r.shut)
		}
	}
}
