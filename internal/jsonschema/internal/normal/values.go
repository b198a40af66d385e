package normal

import (
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
)

// finite adds the values that sh lists to the form of all that are listed: thousands of alternatives with a value each are one form.
func (c *finisher) finite(n *Node, sh *shape, forms *[]Form) {
	f := &Values{listed: map[*document.Value]bool{}}
	if last := len(*forms) - 1; last >= 0 {
		if g, ok := (*forms)[last].(*Values); ok {
			f, *forms = g, (*forms)[:last]
		}
	}
	for _, v := range sh.values[0].Values {
		c.Spend(1)
		if read.TypeOf(v) == typesOf[sh.of] && !f.listed[v] && c.satisfies(n.lits, v) {
			f.listed[v] = true
			f.Values = append(f.Values, v)
		}
	}
	if len(f.Values) > 0 {
		*forms = append(*forms, f)
	}
}
