package normal

import (
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
)

// maxUnique bounds the values that the elements of an array without equal elements may have: each is a bit of an argument.
const maxUnique = 60

// finishUnique adds the form of arrays with elements that all differ. The elements must be words, or strings and numbers of an enumeration,
// because the grammar has to remember which of them were written.
func (c *finisher) finishUnique(sh *shape, f *Array, forms *[]Form) {
	refuse := func(reason string) {
		c.Unsupported(sh.unique, "uniqueItems", "%s", reason)
		*forms = append(*forms, f)
	}
	if len(f.Prefix) > 0 || len(sh.matches) > 0 {
		refuse("the elements have schemas of their own")
		return
	}
	if c.someForm(f.Rest, ofArrays) || c.someForm(f.Rest, ofObjects) {
		refuse("arrays and objects among the elements cannot be told apart")
		return
	}
	set := c.scalarsIn(f.Rest)
	u := &Unique{Least: f.Least, Most: f.most}
	for i, word := range [...]string{"null", "true", "false"} {
		if set.Words>>i&1 != 0 {
			u.Values = append(u.Values, c.Arena.Literal(word))
		}
	}
	ns, ss := set.Numbers, set.Strings
	if ns.Kind != sets.None && ns.Kind != sets.Finite && c.Alive(c.NumberExpr(ns, true)) || ss.Kind != sets.None && ss.Kind != sets.Finite && c.SomeString(ss) ||
		len(u.Values)+len(ns.Texts)+len(ss.Texts) > maxUnique {
		refuse("there are too many values that the elements may have: they must be among a few that are listed")
		return
	}
	for _, n := range ns.Texts {
		u.Values = append(u.Values, c.NumberExpr(sets.Listed([]sets.Numeral{n}), false))
	}
	for _, s := range ss.Texts {
		u.Values = append(u.Values, c.Quoted(sets.Just(s)))
	}
	if u.Most = min(u.Most, len(u.Values)); u.Least <= u.Most {
		*forms = append(*forms, u)
	}
}
