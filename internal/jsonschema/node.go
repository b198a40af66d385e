package jsonschema

import (
	"cmp"
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
	rule       grammar.RuleID // of symbol, if it calls one
	words      regular.Expr   // the scalars in rule
	settled    []form         // the forms in rule
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

// nodeSteps is how much work a new node is.
const nodeSteps = 16

// node returns the node of some lits.
func (c *compiler) node(lits ...lit) *node {
	truth := is(c.always)
	c.spend(2 + len(lits)/8)
	kept := make([]lit, 0, len(lits))
	var known map[lit]bool // kept, if there are many
	has := func(l lit) bool { return slices.Contains(kept, l) }
	if len(lits) > fewElements {
		known = make(map[lit]bool, len(lits))
		has = func(l lit) bool {
			if known[l] {
				return true
			}
			known[l] = true
			return false
		}
	}
	for _, l := range lits {
		if s := c.list[l>>1]; l != truth && !has(l) && !(l&1 == 0 && s.trivial) && !(l&1 != 0 && s.never) {
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
		c.tooComplex(c.first(kept), "allOf")
	}
	c.spend(nodeSteps)
	n := &node{lits: kept}
	c.nodes[string(c.key)] = n
	c.order = append(c.order, n)
	return n
}

// scalarsIn returns the values of n that are neither arrays nor objects.
func (c *compiler) scalarsIn(n *node) scalars {
	if !n.hasScalars {
		n.scalars, n.hasScalars = allScalars, true
		c.spend(len(n.lits))
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
	n.empty = begun
	c.from(n)
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
		c.deeper(cmp.Or(c.here, c.always))
		n.forms[of] = c.expand(n, of)
		c.shallower()
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

// candidate is a form that may be why a node has a value.
type candidate struct {
	n       *node
	f       form
	size    int  // nodes below
	waiting bool // it is to be asked
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
	n.rule, n.settled, n.words = c.g.Add(nil), forms, words
	n.symbol = grammar.Call(n.rule, 0)
	c.undefined = append(c.undefined, n)
	return n.symbol
}

// define makes the rules of the nodes that symbol was asked for.
func (c *compiler) define() {
	for len(c.undefined) > 0 {
		n := c.undefined[0]
		c.undefined = c.undefined[1:]
		c.from(n)
		var all grammar.Alternatives
		if n.words != regular.None {
			all = append(all, []grammar.Symbol{grammar.Text(n.words)})
		}
		for _, f := range n.settled {
			all = append(all, []grammar.Symbol{f.rule(c)})
		}
		c.g.Define(n.rule, all)
	}
}

// from notes that what is being compiled comes from the schemas of n.
func (c *compiler) from(n *node) {
	if len(n.lits) > 0 {
		c.here = c.first(n.lits)
	}
}

// first returns the schema of the first of some lits, or one that says nothing.
func (c *compiler) first(lits []lit) *schema {
	if len(lits) == 0 {
		return c.always
	}
	return c.list[lits[0]>>1]
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
