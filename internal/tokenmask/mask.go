package tokenmask

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// mask says which tokens may come next if an expression is to be read.
//
// inside are the tokens that the expression can take as a whole: list or, if there are many, the set of bits. past are the nodes of the
// trie that end a string of the expression and have tokens below them: such a token may come if the symbols after the expression take the
// rest of it. tail are the ends below all of past, put together once the mask has been asked for a few times.
//
// If many tokens belong to a counted repetition, the mask is that of many, within the bounds least and most.
//
// A mask does not change but for tail and asked; masks share equal parts.
type mask struct {
	of   regular.Expr // the expression that it was made for; others may have the same
	list []int32
	bits []uint64 // nil: list
	past []int32  // in ascending order
	ends []int32  // past, and the nodes at which a string may be complete and below which there are no tokens

	tail  *tails
	asked int

	many        *counted
	least, most int
}

// manyTokens is from how many tokens on a mask is a set of bits.
const manyTokens = 512

// bytes returns about how much memory a mask takes that shares nothing.
func (m *mask) bytes() int {
	return 160 + 4*len(m.list) + 8*len(m.bits) + 4*len(m.past) + 4*len(m.ends) + m.tail.bytes()
}

// masks finds the masks of the expressions of an arena, and remembers them.
type masks struct {
	vocabulary *Vocabulary
	arena      *regular.Arena
	own        map[regular.Expr]*mask
	counts     map[regular.Expr]*counted
	references []regular.Expr // with masks that are sets of bits, the latest last
	followed   map[pair]bool  // whether an expression follows a reference
	loosened   map[regular.Expr]loosened
	size       int // bytes of own and counts
	path       [maxToken + 1]pair
	scratch    []uint64
}

// pair is an expression and its reference after the same bytes of a walk.
type pair struct{ expr, reference regular.Expr }

// maxReferences is how many expressions are tried as references.
const maxReferences = 8

func newMasks(v *Vocabulary, arena *regular.Arena) *masks {
	m := &masks{vocabulary: v, arena: arena, own: map[regular.Expr]*mask{}, counts: map[regular.Expr]*counted{}, followed: map[pair]bool{},
		loosened: map[regular.Expr]loosened{}}
	for _, e := range v.wide {
		m.of(e)
	}
	return m
}

// of returns the mask of an expression.
func (m *masks) of(e regular.Expr) *mask {
	found, ok := m.own[e]
	if ok {
		return found
	}
	shared := e < m.vocabulary.own
	if shared {
		found = m.shared(e)
	} else {
		found = m.recall(e)
	}
	m.own[e] = found
	if found.bits != nil && found.of == e && (len(m.references) < maxReferences || shared) {
		m.references = append(m.references, e)
	}
	return found
}

// shared returns the mask of an expression that all languages have.
func (m *masks) shared(e regular.Expr) *mask {
	v := m.vocabulary
	v.mu.Lock()
	found := v.masks[e]
	v.mu.Unlock()
	if found != nil {
		return found
	}
	found = m.find(e)
	if m.arena.Err() == nil { // two languages may find it at the same time: they find the same
		found.tail = newTails(v, found.past) // now: nothing changes in a mask that languages share
		v.mu.Lock()
		v.masks[e] = found
		v.mu.Unlock()
	}
	return found
}

// recall returns the mask of an expression of this language, which another one may have found already.
func (m *masks) recall(e regular.Expr) *mask {
	if m.arena.First(e).Len() < broad {
		return m.find(e)
	}
	print := m.arena.Fingerprint(e)
	if known := m.vocabulary.recall(e, print); known != nil {
		m.size += known.bytes()
		return known
	}
	found := m.find(e)
	if found.bits != nil && found.of == e && m.arena.Err() == nil {
		m.vocabulary.remember(print, found)
	}
	return found
}

// find makes the mask of an expression: as a part of many, or from the mask of one that it resembles, or by a walk over the whole
// trie.
func (m *masks) find(e regular.Expr) *mask {
	if least, most, ok := m.arena.Counted(e); ok && (most >= longCount || m.arena.Recount(e, 0, regular.Unbounded) < m.vocabulary.own) {
		if many := m.count(e); many.bits != nil {
			return &mask{of: e, many: many, least: least, most: most}
		}
	}
	if e < m.vocabulary.own {
		return m.walk(e) // what languages share depends on nothing that one of them has
	}
	if l := m.loosen(e); l.expr != e && l.reach >= shortReach {
		if known := m.of(l.expr); known.bits != nil {
			return m.adapt(e, l.expr, known)
		}
	}
	for _, r := range slices.Backward(m.references) {
		if m.sampleAlike(e, r) || r < m.vocabulary.own && m.goesOnAlike(e, r) {
			return m.adapt(e, r, m.own[r])
		}
	}
	return m.walk(e)
}

// longCount is from how many repetitions on it pays to make a mask for any number of them first.
const longCount = 4

// walk makes a mask by a walk over the trie.
func (m *masks) walk(e regular.Expr) *mask {
	v := m.vocabulary
	found := &mask{of: e}
	m.path[0].expr = e
	for i := int32(1); int(i) < len(v.labels); {
		depth := v.depths[i]
		s := m.arena.Next(m.path[depth-1].expr, v.labels[i])
		if s == regular.None {
			i = v.end[i]
			continue
		}
		m.path[depth].expr = s
		found.add(v, v.tokens(i))
		if m.arena.Nullable(s) {
			found.ends = append(found.ends, i)
			if v.end[i] > i+1 {
				found.past = append(found.past, i)
			}
		}
		i++
	}
	m.size += found.bytes()
	return found
}

// add puts tokens into a mask that is being made.
func (m *mask) add(v *Vocabulary, tokens []int32) {
	if m.bits == nil {
		if m.list = append(m.list, tokens...); len(m.list) < manyTokens {
			return
		}
		m.bits = make([]uint64, (v.size+63)/64)
		tokens, m.list = m.list, nil
	}
	for _, t := range tokens {
		m.bits[t/64] |= 1 << (t % 64)
	}
}
