package jsonschema

// finite adds the values that sh lists to the form of all that are listed: thousands of alternatives with a value each are one form.
func (c *finisher) finite(n *node, sh *shape, forms *[]form) {
	f := &valuesForm{listed: map[*value]bool{}}
	if last := len(*forms) - 1; last >= 0 {
		if g, ok := (*forms)[last].(*valuesForm); ok {
			f, *forms = g, (*forms)[:last]
		}
	}
	for _, v := range sh.values[0].values {
		c.spend(1)
		if typeOf(v) == typesOf[sh.of] && !f.listed[v] && c.satisfies(n.lits, v) {
			f.listed[v] = true
			f.values = append(f.values, v)
		}
	}
	if len(f.values) > 0 {
		*forms = append(*forms, f)
	}
}
