// Package regular computes with regular languages over bytes: sets of byte strings given by expressions, with union, intersection,
// complement, concatenation and counted repetition.
//
// An expression is a number in an Arena, which holds each expression once: equal numbers are equal expressions. The language of the texts
// that may follow after a byte is an expression again, its derivative (Brzozowski 1964; Owens, Reppy and Turon, "Regular-expression
// derivatives re-examined", 2009). So an expression is also a state of a deterministic automaton, and its states come into being as they
// are reached. Intersection, complement and bounds on repetitions cost nothing until they are walked through.
package regular

import (
	"errors"
	"hash/maphash"
	"maps"
	"slices"
)

// A node that is built is looked up in the table by its kind and its operands. If it is there, its number is the result; if not, it gets
// the next number. For example, in a new arena
//
//	Literal("ab")           3    literal, text[0:2]
//	Literal("cd")           4    literal, text[2:4]
//	Or(3, 4)                5    or, lists[0:2] = 3, 4
//	Or(4, 3)                5    operands are sorted, so it is there
//	Literal("ab")           3    it is there, and its bytes are taken off text again
//	Or(5, None)             5    None adds nothing to a union
//
// 0, 1 and 2 are None, Empty and All. So equal expressions have equal numbers, and to compare them costs nothing.

// Expr is an expression of an Arena.
type Expr int32

// The expressions that every arena has.
const (
	None  Expr = iota // no string at all
	Empty             // the empty string alone
	All               // all strings
)

// Unbounded is the upper bound of a repetition without one.
const Unbounded = -1

// ErrTooComplex says that an expression, or the states that are reached from it, need more than an arena holds.
var ErrTooComplex = errors.New("the pattern is too complex")

// kind is the operation at the top of an expression.
type kind uint8

const (
	none    kind = iota
	empty        // ε
	class        // one byte of classes[a]
	literal      // text[a:a+b], two bytes or more
	concat       // a, then b
	or           // one of lists[a:a+b]
	and          // each of lists[a:a+b]
	not          // all strings but those of a
	repeat       // a, from b to c times
	whole        // Multiples, packed
	places       // MultiplesFraction, packed; its More is some
)

// node is an expression. nullable reports whether the empty string belongs to it. plain reports that it contains no intersection and no
// complement: then it has at least one string unless it is None.
type node struct {
	kind            kind
	nullable, plain bool
	alive           liveness
	a, b, c         int32
	row             int32 // 1 + the place of its transitions in rows; 0: not yet asked for
	part            int32 // 1 + its partition of the bytes; 0: not yet asked for
	loose, slack    int32 // Loosen's results; loose is 0, None, if it was not yet asked
}

// liveness says whether an expression is known to have a string, known to have no string, or has not been searched.
type liveness uint8

const (
	unknown liveness = iota
	has
	hasNot
)

// Arena holds expressions. Its functions simplify what they build, so that two expressions for the same language are often the
// same one, though not always. One goroutine at a time uses an arena.
//
// The functions never fail. If they meet more than the arena may hold, Err returns an error from then on, and the expressions that they
// returned since must not be used.
//
// Invariants: operands of an or and an and are in ascending order, without duplicates, at most one of them a class; the left part of
// a concat is not a concat; table holds each expression once, at a place that its hash says.
type Arena struct {
	nodes   []node
	lists   []Expr
	text    []byte
	classes []Class
	table   []int32 // open addressing: 1 + the expression; 0: free. Its length is a power of two
	seed    maphash.Seed
	other   maphash.Seed  // of fingerprints, with seed
	prints  []Fingerprint // of the first expressions; zero: not yet asked for

	parts       []*partition         // they do not change: copies of the arena share them
	inherited   int                  // how many of these the arena that this one is a copy of had
	partIDs     map[[256]uint8]int32 // 1 + the number of a partition
	commons     map[[2]int32]int32   // of two of these: see common
	completions map[Expr]int32       // see Completion; -1: too many states
	rows        []Expr               // notYet, or the expression after a byte of the part

	scratch []Expr
	stack   []Expr // of Alive
	effort  int    // expressions that were looked at so far
	enough  int    // the effort at which the present search is too hard
	bounds  Bounds
	err     error
}

// Bounds limit an arena.
type Bounds struct {
	Nodes    int // expressions
	Operands int // of one union or intersection
	Search   int // states that are looked at to find out whether an expression has any string
	Effort   int // expressions that are looked at to find a derivative, or whether there is a string
	Work     int // expressions that are looked at in all
	Bytes    int // of memory, about
}

// defaultBounds keep an arena below some 100 MB. A sane arena has less than one.
var defaultBounds = Bounds{Nodes: 400_000, Operands: 20_000, Search: 50_000, Effort: 1_000_000, Work: 20_000_000, Bytes: 64 << 20}

// New returns an arena with None, Empty and All.
func New() *Arena {
	r := &Arena{seed: maphash.MakeSeed(), other: maphash.MakeSeed(), table: make([]int32, 256), partIDs: map[[256]uint8]int32{}, commons: map[[2]int32]int32{}, completions: map[Expr]int32{}, bounds: defaultBounds}
	r.intern(node{kind: none, plain: true, alive: hasNot})
	r.intern(node{kind: empty, nullable: true, plain: true, alive: has})
	r.intern(node{kind: not, nullable: true, alive: has})
	return r
}

// Clone returns a copy of the arena, in which each expression has the same number.
func (r *Arena) Clone() *Arena {
	c := *r
	c.nodes, c.lists, c.text, c.classes = slices.Clone(r.nodes), slices.Clone(r.lists), slices.Clone(r.text), slices.Clone(r.classes)
	c.table, c.parts, c.rows, c.prints = slices.Clone(r.table), slices.Clone(r.parts), slices.Clone(r.rows), slices.Clone(r.prints)
	c.partIDs, c.commons, c.completions = maps.Clone(r.partIDs), maps.Clone(r.commons), maps.Clone(r.completions)
	c.scratch, c.stack, c.effort, c.inherited = nil, nil, 0, len(r.parts)
	return &c
}

// Err returns ErrTooComplex if the arena met more than it may hold, and nil otherwise.
func (r *Arena) Err() error { return r.err }

// Effort returns how many expressions were looked at so far: about how much work was done, in units of some 20 ns.
func (r *Arena) Effort() int { return r.effort }

// Allow bounds the work from now on, until Allow is called again, in the units of Effort.
func (r *Arena) Allow(effort int) { r.bounds.Work = r.effort + effort }

// Len returns how many expressions there are.
func (r *Arena) Len() int { return len(r.nodes) }

// Bytes returns about how much memory the arena takes.
func (r *Arena) Bytes() int {
	const nodeBytes, partBytes, inheritedBytes, entryBytes = 32, 1200, 32, 24 // of a partition with its entry in partIDs
	return cap(r.nodes)*nodeBytes + cap(r.lists)*4 + cap(r.text) + cap(r.classes)*32 + cap(r.table)*4 + cap(r.rows)*4 + cap(r.prints)*16 +
		r.inherited*inheritedBytes + (len(r.parts)-r.inherited)*partBytes + (len(r.commons)+len(r.completions))*entryBytes
}

// Nullable reports whether the empty string belongs to e.
func (r *Arena) Nullable(e Expr) bool { return r.nodes[e].nullable }

// fail notes that the arena met more than it may hold.
func (r *Arena) fail() Expr {
	r.err = ErrTooComplex
	return None
}

// startEffort begins a search that may take at most bounds.Effort steps.
func (r *Arena) startEffort() { r.enough = min(r.effort+r.bounds.Effort, r.bounds.Work) }

// overEffort counts an expression that is looked at, and reports whether there were more than enough.
func (r *Arena) overEffort() bool {
	if r.effort++; r.effort > r.enough {
		r.fail()
		return true
	}
	return false
}

// intern returns the expression for node n. If n has operands in lists or bytes in text, they are the last ones there; intern removes them
// again if the expression exists already.
func (r *Arena) intern(n node) Expr {
	if len(r.nodes) >= r.bounds.Nodes || r.Bytes() > r.bounds.Bytes {
		return r.fail()
	}
	if 2*len(r.nodes) >= len(r.table) {
		r.grow()
	}
	mask := uint64(len(r.table) - 1)
	at := r.hash(&n) & mask
	for ; r.table[at] != 0; at = (at + 1) & mask {
		if e := r.table[at] - 1; r.same(&r.nodes[e], &n) {
			return Expr(e)
		}
	}
	r.nodes = append(r.nodes, n)
	r.table[at] = int32(len(r.nodes))
	return Expr(len(r.nodes) - 1)
}

// grow doubles the table.
func (r *Arena) grow() {
	r.table = make([]int32, 2*len(r.table))
	mask := uint64(len(r.table) - 1)
	for e := range r.nodes {
		at := r.hash(&r.nodes[e]) & mask
		for r.table[at] != 0 {
			at = (at + 1) & mask
		}
		r.table[at] = int32(e + 1)
	}
}

// longText is how many bytes of a literal make its hash.
const longText = 4096

// hash returns a number that is the same for the same expression.
func (r *Arena) hash(n *node) uint64 {
	mix := func(h, v uint64) uint64 { h = (h ^ v) * 0x9E3779B97F4A7C15; return h ^ h>>29 }
	h := mix(0, uint64(n.kind))
	switch n.kind {
	case class:
		for _, w := range r.classes[n.a] {
			h = mix(h, w)
		}
	case literal:
		text := r.text[n.a : n.a+n.b]
		h = mix(h, uint64(len(text)))
		if len(text) > longText { // each of its many tails is a literal too
			text = text[:longText]
		}
		h = mix(h, maphash.Bytes(r.seed, text))
	case or, and:
		for _, e := range r.lists[n.a : n.a+n.b] {
			h = mix(h, uint64(e))
		}
	default:
		h = mix(mix(mix(h, uint64(uint32(n.a))), uint64(uint32(n.b))), uint64(uint32(n.c)))
	}
	return h
}

// same reports whether two nodes are the same expression.
func (r *Arena) same(m, n *node) bool {
	if m.kind != n.kind {
		return false
	}
	switch m.kind {
	case class:
		return r.classes[m.a] == r.classes[n.a]
	case literal:
		return m.b == n.b && (m.a == n.a || string(r.text[m.a:m.a+m.b]) == string(r.text[n.a:n.a+n.b]))
	case or, and:
		return slices.Equal(r.lists[m.a:m.a+m.b], r.lists[n.a:n.a+n.b])
	}
	return m.a == n.a && m.b == n.b && m.c == n.c
}
