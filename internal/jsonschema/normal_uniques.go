package jsonschema

// maxUnique bounds the values that the elements of an array without equal elements may have: each is a bit of an argument.
const maxUnique = 60

// finishUnique adds the form of arrays whose elements differ. They must be words, or strings and numbers of an enumeration: what was
// written is remembered.
func (c *finisher) finishUnique(sh *shape, f *arrayForm, forms *[]form) {
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
		u.values = append(u.values, c.numberExpr(listed([]numeral{n}), false))
	}
	for _, s := range ss.texts {
		u.values = append(u.values, c.quoted(just(s)))
	}
	if u.most = min(u.most, len(u.values)); u.least <= u.most {
		*forms = append(*forms, u)
	}
}
