package tokenmask

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// mask says which tokens may come next if an expression is to be read. It does not change.
//
// The tokens that the expression can take as a whole are those of slice, if there is one, and those of list or, if there are many, of bits.
// Tokens that go past the end of a string of the expression, in ends, may come if the symbols after the expression take the rest of them.
//
// If many tokens belong to a counted repetition, the mask is that of many, within the bounds least and most.
type mask struct {
	slice *slice
	list  []int32
	bits  []uint64 // nil: list
	ends  *ends    // nil: there are no such tokens

	many        *counted
	least, most int
}

// manyTokens is from how many tokens on a mask is a set of bits.
const manyTokens = 512

// bytes returns about how much memory a mask takes, without what several have.
func (m *mask) bytes() int { return 160 + 4*len(m.list) + 8*len(m.bits) }

// masks finds the masks of the expressions of an arena, and remembers them.
type masks struct {
	vocabulary *Vocabulary
	arena      *regular.Arena
	own        map[regular.Expr]*mask
	counts     map[regular.Expr]*counted
	freedoms   map[regular.Expr]freedom
	ends       map[*ends]bool // of own
	size       int            // bytes of all these
	tired      bool           // for this mask, only kinds of words are tried
	enough     int            // the arena's effort from which on no more freedoms are searched

	loops   map[regular.Expr]loops
	needs   map[need]int32
	roomy   map[inside]roomy
	chosen  []int32            // memory of limitedWalk.all
	visited map[visit]struct{} // memory of spread
	visits  [2][]arrival
	bytes   [256]byte
}

func newMasks(v *Vocabulary, arena *regular.Arena) *masks {
	return &masks{
		vocabulary: v, arena: arena, own: map[regular.Expr]*mask{}, counts: map[regular.Expr]*counted{},
		freedoms: map[regular.Expr]freedom{}, ends: map[*ends]bool{}, visited: map[visit]struct{}{},
		loops: map[regular.Expr]loops{}, needs: map[need]int32{}, roomy: map[inside]roomy{},
	}
}

// of returns the mask of an expression.
func (m *masks) of(e regular.Expr) *mask {
	found, ok := m.own[e]
	if ok {
		return found
	}
	if loose, reach := m.loosen(e); loose != e && reach >= int(m.vocabulary.whole.height[0]) {
		found = m.of(loose) // no token is long enough to make a difference
	} else {
		if m.arena.First(e).Len() < broad {
			found = m.find(e)
		} else {
			found = m.recall(e)
		}
		m.keep(found)
	}
	m.own[e] = found
	return found
}

// keep counts the memory of a mask.
func (m *masks) keep(found *mask) {
	m.size += found.bytes()
	if e := found.ends; e != nil && !m.ends[e] {
		m.ends[e] = true
		m.size += endsBytes + 4*len(e.past)
	}
}

// take takes the masks and the freedoms of the first expressions over from other masks. Their arena has the same numbers for these.
func (m *masks) take(from *masks, shared regular.Expr) {
	known := map[*mask]bool{}
	for e, found := range from.own {
		if e < shared {
			if m.own[e] = found; !known[found] {
				known[found] = true
				m.keep(found)
			}
		}
	}
	for e, f := range from.freedoms {
		if e < shared {
			m.setFree(e, f)
		}
	}
}

// recall returns the mask of an expression, which another language may have found already.
func (m *masks) recall(e regular.Expr) *mask {
	print := m.arena.Fingerprint(e)
	if known := m.vocabulary.recall(print); known != nil {
		return known
	}
	found := m.find(e)
	if m.arena.Err() == nil {
		m.vocabulary.remember(print, found)
	}
	return found
}

// find makes the mask of an expression: as a part of many, or by a walk.
func (m *masks) find(e regular.Expr) *mask {
	if least, most, ok := m.arena.Counted(e); ok && most >= longCount {
		if many := m.count(e); many.useful {
			return &mask{many: many, least: least, most: most}
		}
	}
	if found := m.limited(e); found != nil {
		return found
	}
	w := plainWalk{masks: m}
	w.path[0] = e
	return m.walk(&w)
}

// longCount is from how many repetitions on it pays to make a mask for any number of them first.
const longCount = 4

// walker is what a walk over a trie asks: it knows the state of the text above each node that the walk is at. The text at depth 0 is empty.
type walker interface {
	// slice returns a slice of the vocabulary that may come as a whole, or nil.
	slice() *slice
	// step reports whether the text above, at depth-1, can go on with a byte, and then notes the state at depth.
	step(depth uint8, b byte) bool
	// only returns the byte that the text at depth must go on with, if only one can.
	only(depth uint8) (b byte, ok bool)
	// complete reports whether the text at depth may be complete.
	complete(depth uint8) bool
	// all returns those tokens at and below a node with the text at depth that may come, if it knows them without a walk. They are valid until
	// the next call.
	all(depth uint8, t *trie, node int32) (tokens []int32, ok bool)
}

// walk makes a mask by a walk over the trie of the tokens that no slice has.
func (m *masks) walk(w walker) *mask {
	found, t := &mask{}, m.vocabulary.whole
	if found.slice = w.slice(); found.slice != nil {
		t = found.slice.rest
	}
	var past []int32   // the nodes at which a string may be complete, with tokens below that are not taken
	taken := 0         // tokens
	type open struct { // a node at which a string may be complete
		node int32
		more int // what taken is if all tokens below are taken
	}
	var opened []open
	close := func(next int32) {
		for len(opened) > 0 && t.end[opened[len(opened)-1].node] <= next {
			if o := opened[len(opened)-1]; taken < o.more {
				past = append(past, o.node)
			}
			opened = opened[:len(opened)-1]
		}
	}
	var above [maxToken + 1]int32 // the nodes on the way to the present one
	for i := int32(1); int(i) < len(t.labels); {
		close(i)
		depth := t.depths[i]
		if b, ok := w.only(depth - 1); ok && t.labels[i] > b { // nodes side by side are in the order of their labels
			i = t.end[above[depth-1]]
			continue
		}
		if !w.step(depth, t.labels[i]) {
			i = t.end[i]
			continue
		}
		above[depth] = i
		tokens := t.tokens(i)
		next := i + 1
		if next < t.end[i] {
			if all, ok := w.all(depth, t, i); ok {
				tokens, next = all, t.end[i]
			}
		}
		found.add(m.vocabulary, tokens)
		taken += len(tokens)
		if next < t.end[i] && w.complete(depth) {
			opened = append(opened, open{i, taken + len(t.within(i)) - len(tokens)})
		}
		i = next
	}
	close(int32(len(t.labels)))
	if len(past) > 0 {
		slices.Sort(past)
		found.ends = m.vocabulary.ends(t, past)
	}
	return found
}

// plainWalk is a walk with expressions as states.
type plainWalk struct {
	*masks
	path [maxToken + 1]regular.Expr

	last     regular.Expr // the state that lastFree is the freedom of
	lastFree freedom
}

func (w *plainWalk) slice() *slice { return w.vocabulary.slice(w.free(w.path[0])) }

func (w *plainWalk) step(depth uint8, b byte) bool {
	s := w.arena.Next(w.path[depth-1], b)
	w.path[depth] = s
	return s != regular.None
}

func (w *plainWalk) only(depth uint8) (b byte, ok bool) { return w.arena.Single(w.path[depth]) }

func (w *plainWalk) complete(depth uint8) bool { return w.arena.Nullable(w.path[depth]) }

func (w *plainWalk) all(depth uint8, t *trie, node int32) ([]int32, bool) {
	s := w.path[depth]
	if s != w.last { // long words seldom change the state, so that it pays to ask for the smallest trees as well
		if !t.large(node) {
			return nil, false
		}
		if w.keeps(s, t.kinds[node]) {
			return t.within(node), true
		}
		w.last, w.lastFree = s, w.free(s)
	}
	if w.lastFree.has(t, node) || t.large(node) && w.keeps(s, t.kinds[node]) {
		return t.within(node), true
	}
	return nil, false
}

// add puts tokens into a mask that is being made.
func (m *mask) add(v *Vocabulary, tokens []int32) {
	if m.bits == nil {
		if m.list = append(m.list, tokens...); len(m.list) < manyTokens {
			return
		}
		m.bits = make([]uint64, v.words())
		tokens, m.list = m.list, nil
	}
	addTokens(m.bits, tokens)
}
