// Package normal is the second step of a compilation: schemas become nodes, in which there is no allOf, anyOf, oneOf, not or if.
//
// A lit says that a value is of a schema, or that it is not. A Node is a set of lits that are all true of the node's values. Its scalars
// are a set that is computed exactly (facts). Its arrays and objects are a union of forms, which are found so:
//
//	shape     collects what the lits say, as far as nothing is to be chosen: allOf and $ref add their lits (demands.assume). anyOf, oneOf,
//	          if and whatever is under a not add a choice between alternatives.
//	branch    takes the choice with the fewest alternatives that are possible, and goes on with a copy of the shape for each.
//	finish    makes a form of a shape without choices. What elements and members are is a set of lits again: a node.
//
// Equal sets of lits are one node, which is how recursion ends. Whether an alternative is possible depends on whether nodes below have a value:
// nodes.expand is the one call that goes back from nodes to branch, for the node below.
//
// Nodes without a value are found at the end (findProductive), so that no rule begins a text that cannot be completed.
//
// Each file refers only to files before it: lits, set, facts, keys, verdicts, nodes, forms, shape, members, keywords, assume, unevaluated;
// arrays with matches and uniques, objects, values; branch, normal.
package normal

import (
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
)

// Normalise returns the node of the values that are of the schema top. Package limits carries the error if there is no such value.
func Normalise(top *read.Schema, schemas *read.Schemas, algebra *sets.Algebra, doc *document.Document) *Node {
	f := &facts{Meter: schemas.Meter, Schemas: schemas, Algebra: algebra, doc: doc, patterns: map[string]compiled{}}
	v := &verdicts{facts: f, given: map[question]verdict{}, listings: map[**read.Schema]map[int32][]*read.Schema{}}
	n := &nodes{verdicts: v, byLits: map[string]*Node{}}
	d := &demands{nodes: n, singles: map[*document.Value]*read.Schema{}}
	c := &brancher{&finisher{demands: d, places: map[*read.Schema]map[*read.Schema]int{}}}
	n.expand = c.expand
	root := c.node(is(top))
	c.reach(root)
	c.findProductive()
	if !root.Productive {
		limits.Fail(top.Path, NoValue)
	}
	return root
}

// NoValue is the reason of the MistakeError about a schema that no value satisfies.
const NoValue = "no value satisfies the schema"

// candidate is a form that may be why a node has a value.
type candidate struct {
	n       *Node
	f       Form
	size    int  // nodes below
	waiting bool // it is to be asked
}

// reach finds the forms of all nodes that root leads to.
func (c *brancher) reach(root *Node) {
	todo := []*Node{root}
	root.reached = true
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if set := c.scalarsIn(n).Strings; set.Excess != nil && c.SomeString(set) {
			c.refuseExcess(set)
		}
		for of := range n.Forms {
			for _, f := range c.formsOf(n, of) {
				f.below(func(m *Node) {
					if !m.reached {
						m.reached = true
						todo = append(todo, m)
					}
				})
			}
		}
	}
}

// findProductive marks the reached nodes that have a value. A node has a value if it has a scalar, or a form with values for all its
// necessary parts: the marked nodes are the smallest set with this property.
func (c *brancher) findProductive() {
	var forms []*candidate
	users := map[*Node][]*candidate{}
	for _, n := range c.order {
		if !n.reached {
			continue
		}
		c.from(n)
		if n.Productive = c.SomeScalar(n.Scalars); n.Productive {
			continue
		}
		for _, list := range n.Forms {
			for _, f := range list {
				u := &candidate{n: n, f: f, waiting: true}
				forms = append(forms, u)
				f.below(func(m *Node) {
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
		c.Spend(1 + u.size)
		if u.n.Productive || !u.f.Settle() {
			continue
		}
		u.n.Productive = true
		for _, v := range users[u.n] {
			if !v.waiting && !v.n.Productive {
				v.waiting = true
				forms = append(forms, v)
			}
		}
	}
}
