package jsonschema

// normalise returns the normal form of what is of the schema top.
func normalise(top *schema, schemas *schemas, sets *sets, source *source) *node {
	f := &facts{meter: schemas.meter, schemas: schemas, sets: sets, source: source, patterns: map[string]compiled{}}
	v := &verdicts{facts: f, given: map[question]verdict{}, listings: map[**schema]map[int32][]*schema{}}
	n := &nodes{verdicts: v, byLits: map[string]*node{}}
	d := &demands{nodes: n, singles: map[*value]*schema{}}
	c := &brancher{&finisher{demands: d, places: map[*schema]map[*schema]int{}}}
	n.expand = c.expand
	root := c.node(is(top))
	c.reach(root)
	c.findProductive()
	if !root.productive {
		fail("no value satisfies the schema")
	}
	return root
}

// candidate is a form that may be why a node has a value.
type candidate struct {
	n       *node
	f       form
	size    int  // nodes below
	waiting bool // it is to be asked
}

// reach finds the forms of all nodes that root leads to.
func (c *brancher) reach(root *node) {
	todo := []*node{root}
	root.reached = true
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if set := c.scalarsIn(n).strings; set.excess != nil && c.someString(set) {
			c.refuseExcess(set)
		}
		for of := range n.forms {
			for _, f := range c.formsOf(n, of) {
				f.below(func(m *node) {
					if !m.reached {
						m.reached = true
						todo = append(todo, m)
					}
				})
			}
		}
	}
}

// findProductive finds out which of the reached nodes have a value. A node has one if it has a scalar, or a form whose necessary
// parts have values: the smallest set of nodes for which that is true.
func (c *brancher) findProductive() {
	var forms []*candidate
	users := map[*node][]*candidate{}
	for _, n := range c.order {
		if !n.reached {
			continue
		}
		c.from(n)
		if n.productive = c.someScalar(n.scalars); n.productive {
			continue
		}
		for _, list := range n.forms {
			for _, f := range list {
				u := &candidate{n: n, f: f, waiting: true}
				forms = append(forms, u)
				f.below(func(m *node) {
					u.size++
					users[m] = append(users[m], u)
				})
			}
		}
	}
	// A form is asked again when a node that it has, and that had no value, has one; however many did meanwhile, it is asked once.
	for len(forms) > 0 {
		u := forms[0]
		forms, u.waiting = forms[1:], false
		c.from(u.n)
		c.spend(1 + u.size)
		if u.n.productive || !u.f.settle() {
			continue
		}
		u.n.productive = true
		for _, v := range users[u.n] {
			if !v.waiting && !v.n.productive {
				v.waiting = true
				forms = append(forms, v)
			}
		}
	}
}
