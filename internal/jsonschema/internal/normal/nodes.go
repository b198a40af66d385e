package normal

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
)

// Node is the set of the values for which all of some lits are true.
type Node struct {
	ID         int // nodes are numbered from 0
	Scalars    sets.Scalars
	Forms      [2][]Form    // of arrays and of objects
	Productive bool         // there is a value
	About      *read.Schema // of the first lit, for errors; nil: there are no lits

	lits       []lit // in the order in which they came up, which is the order of properties
	hasScalars bool
	known      [2]progress // of Forms
	empty      progress    // of isEmpty
	isEmpty    bool        // it is easy to see that there is no value
	reached    bool        // from the root
}

// Form is a set of arrays or objects, as a rule of a grammar can describe it.
type Form interface {
	// below calls yield with the nodes of the elements or members.
	below(yield func(*Node))
	// Settle reports whether there is a value, given which nodes are productive. It is called again when more nodes are.
	Settle() bool
}

// nodeSteps is how much work a new node is.
const nodeSteps = 16

// Bounds of a compilation.
const (
	maxWork  = 20_000 // alternatives of arrays and objects that are looked at
	maxNodes = 50_000
)

// nodes is all nodes of a compilation.
type nodes struct {
	*verdicts
	expand func(n *Node, of int) []Form // finds the forms of a node: brancher.expand
	byLits map[string]*Node
	order  []*Node // in the order in which they came into being
	key    []byte
	work   int
}

// branched counts an alternative that is looked at.
func (c *nodes) branched(s *read.Schema, keyword string) {
	if c.work++; c.work > maxWork {
		limits.TooComplex(s, keyword)
	}
}

// node returns the node of some lits.
func (c *nodes) node(lits ...lit) *Node {
	c.Spend(2 + len(lits)/8)
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
		if s := c.schema(l); l != anything && !has(l) && !(l.positive() && s.Trivial) && !(!l.positive() && s.Never) {
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
		c.key = document.AppendInt32(c.key, int32(l))
	}
	if n, ok := c.byLits[string(c.key)]; ok {
		return n
	}
	if len(c.order) >= maxNodes {
		limits.TooComplex(c.first(kept), "allOf")
	}
	c.Spend(nodeSteps)
	n := &Node{ID: len(c.order), lits: kept}
	if len(kept) > 0 {
		n.About = c.schema(kept[0])
	}
	c.byLits[string(c.key)] = n
	c.order = append(c.order, n)
	return n
}

// from notes that the schemas of n are being compiled, for errors.
func (c *nodes) from(n *Node) {
	if n.About != nil {
		c.Here = n.About
	}
}

// first returns the schema of the first of some lits, or one that says nothing.
func (c *nodes) first(lits []lit) *read.Schema {
	if len(lits) == 0 {
		return c.Always
	}
	return c.schema(lits[0])
}

// scalarsIn returns the values of n that are neither arrays nor objects.
func (c *nodes) scalarsIn(n *Node) sets.Scalars {
	if !n.hasScalars {
		n.Scalars, n.hasScalars = sets.AllScalars, true
		c.Spend(len(n.lits))
		for _, l := range n.lits {
			n.Scalars = c.And(n.Scalars, c.scalarsUnder(l))
		}
	}
	return n.Scalars
}

// sureEmpty reports whether it is easy to see that n has no value.
func (c *nodes) sureEmpty(n *Node) bool {
	switch n.empty {
	case done:
		return n.isEmpty
	case begun:
		return false
	}
	n.empty = begun
	c.from(n)
	n.isEmpty = !c.SomeScalar(c.scalarsIn(n)) && !c.someForm(n, ofObjects) && !c.someForm(n, ofArrays)
	n.empty = done
	return n.isEmpty
}

// someForm reports whether n may have arrays, or objects.
func (c *nodes) someForm(n *Node, of int) bool {
	return len(c.formsOf(n, of)) > 0 || n.known[of] == begun
}

// formsOf returns the forms of the arrays or objects of n; nil while they are being found.
func (c *nodes) formsOf(n *Node, of int) []Form {
	if n.known[of] == untouched {
		n.known[of] = begun
		c.Deeper(c.Here)
		n.Forms[of] = c.expand(n, of)
		c.Shallower()
		n.known[of] = done
	}
	return n.Forms[of]
}

// implied reports whether it is easy to see that l is true of all values for which lits are true.
func (c *nodes) implied(lits []lit, l lit) bool {
	c.Spend(1)
	return l == anything || slices.Contains(lits, l) || c.sureEmpty(c.node(append(slices.Clip(lits), l.opposite())...))
}
