package jsonschema

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// lit says that a value is of a schema, or that it is not: the schema's number times two, plus one for "not".
type lit int32

func is(s *schema) lit    { return lit(s.id) << 1 }
func isNot(s *schema) lit { return lit(s.id)<<1 | 1 }

// node is the set of the values for which all of some lits are true.
type node struct {
	lits       []lit // in the order in which they came up, which is the order of properties
	scalars    scalars
	hasScalars bool
	forms      [2][]form // of arrays and of objects
	known      [2]progress
	empty      progress // what is known about whether there is no value
	isEmpty    bool

	reached    bool
	productive bool
	emitted    bool
	symbol     grammar.Symbol
}

// form is a set of arrays or objects, as a rule of a grammar can describe it.
type form interface {
	// below calls yield with the nodes of the elements or members.
	below(yield func(*node))
	// settle tells whether there is a value, given which nodes are productive. Called again when more are.
	settle() bool
	// rule adds the form's rule to the grammar.
	rule(c *compiler) grammar.Symbol
}

// indices of node.forms
const (
	ofArrays = iota
	ofObjects
)

// node returns the node of some lits.
func (c *compiler) node(lits ...lit) *node {
	truth := is(c.always)
	kept := make([]lit, 0, len(lits))
	for _, l := range lits {
		if s := c.list[l>>1]; l != truth && !slices.Contains(kept, l) && !(l&1 == 0 && s.trivial) && !(l&1 != 0 && s.never) {
			kept = append(kept, l)
		}
	}
	sorted := kept
	if len(kept) > 1 {
		sorted = slices.Clone(kept)
		slices.Sort(sorted)
	}
	c.key = c.key[:0]
	for _, l := range sorted {
		c.key = number32(c.key, int32(l))
	}
	if n, ok := c.nodes[string(c.key)]; ok {
		return n
	}
	if len(c.order) >= maxNodes {
		c.tooComplex(c.list[kept[0]>>1], "allOf")
	}
	n := &node{lits: kept}
	c.nodes[string(c.key)] = n
	c.order = append(c.order, n)
	return n
}

// scalarsIn returns the values of n that are neither arrays nor objects.
func (c *compiler) scalarsIn(n *node) scalars {
	if !n.hasScalars {
		n.scalars, n.hasScalars = allScalars, true
		for _, l := range n.lits {
			n.scalars = c.and(n.scalars, c.scalarsUnder(l))
		}
	}
	return n.scalars
}

func (c *compiler) scalarsUnder(l lit) scalars {
	if s := c.list[l>>1]; l&1 == 0 {
		return c.scalarsOf(s)
	} else {
		return c.scalarsNot(s)
	}
}

// sureEmpty tells whether it is easy to see that n has no value.
func (c *compiler) sureEmpty(n *node) bool {
	switch n.empty {
	case done:
		return n.isEmpty
	case begun:
		return false
	}
	if n.empty = begun; len(n.lits) > 0 {
		c.here = c.list[n.lits[0]>>1]
	}
	n.isEmpty = !c.someScalar(c.scalarsIn(n)) && !c.someForm(n, ofObjects) && !c.someForm(n, ofArrays)
	n.empty = done
	return n.isEmpty
}

// someForm tells whether n may have arrays, or objects.
func (c *compiler) someForm(n *node, of int) bool {
	return len(c.formsOf(n, of)) > 0 || n.known[of] == begun
}

// formsOf returns the forms of the arrays or objects of n; none while they are being found.
func (c *compiler) formsOf(n *node, of int) []form {
	if n.known[of] == untouched {
		n.known[of] = begun
		n.forms[of] = c.expand(n, of)
		n.known[of] = done
	}
	return n.forms[of]
}

// reach finds the forms of all nodes that root leads to.
func (c *compiler) reach(root *node) {
	todo := []*node{root}
	root.reached = true
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if set := c.scalarsIn(n).strings; set.excess != nil && c.someString(set) {
			c.unsupported(set.excess, "format", "the strings that are not of the format %q are not known", set.excess.format)
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
func (c *compiler) findProductive() {
	type user struct {
		n *node
		f form
	}
	users := map[*node][]user{}
	var ready []*node
	settle := func(n *node, f form) {
		if !n.productive && f.settle() {
			n.productive = true
			ready = append(ready, n)
		}
	}
	for _, n := range c.order {
		if !n.reached {
			continue
		}
		if len(n.lits) > 0 {
			c.here = c.list[n.lits[0]>>1]
		}
		if c.someScalar(n.scalars) {
			n.productive = true
			ready = append(ready, n)
			continue
		}
		for _, forms := range n.forms {
			for _, f := range forms {
				f.below(func(m *node) { users[m] = append(users[m], user{n, f}) })
			}
		}
	}
	for _, n := range c.order {
		if n.reached && !n.productive {
			for _, forms := range n.forms {
				for _, f := range forms {
					settle(n, f)
				}
			}
		}
	}
	for len(ready) > 0 {
		n := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, u := range users[n] {
			settle(u.n, u.f)
		}
	}
}

// symbol returns what stands for the values of n in the grammar.
func (c *compiler) symbol(n *node) grammar.Symbol {
	if n.emitted {
		return n.symbol
	}
	n.emitted = true
	words := c.scalarExpr(n.scalars)
	var forms []form
	for _, list := range n.forms {
		for _, f := range list {
			if f.settle() {
				forms = append(forms, f)
			}
		}
	}
	if len(forms) == 0 {
		n.symbol = grammar.Text(words)
		return n.symbol
	}
	id := c.g.Add(nil)
	n.symbol = grammar.Call(id, 0)
	var all grammar.Alternatives
	if words != regular.None {
		all = append(all, []grammar.Symbol{grammar.Text(words)})
	}
	for _, f := range forms {
		all = append(all, []grammar.Symbol{f.rule(c)})
	}
	c.g.Define(id, all)
	return n.symbol
}

// append adds the symbol of n to a sequence that ends with an expression. The two stay apart, also where n is an expression: what is
// inside a string is then the same expression, with the same mask, wherever the string stands.
func (c *compiler) append(e regular.Expr, n *node) []grammar.Symbol {
	s := c.symbol(n)
	if e == regular.Empty {
		return []grammar.Symbol{s}
	}
	return []grammar.Symbol{grammar.Text(e), s}
}
