package tokenmask

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// mask says which tokens may come where an expression is to be read.
//
// inside are the tokens that the expression can take as a whole, as a list or, where there are many, as a set of bits. past are the
// nodes of the trie at which a string of the expression may be complete and below which there are tokens: these may come where
// what follows the expression takes the rest of them. tails is what there is below all of past, put together.
//
// A mask is immutable; masks share what is the same in them.
type mask struct {
	list []int32
	bits []uint64 // nil: list
	past []int32  // in ascending order
	tail *tails   // nil where past is empty
}

// manyTokens is from how many tokens on a mask is a set of bits.
const manyTokens = 512

// bytes returns about how much memory a mask takes that shares nothing.
func (m *mask) bytes() int {
	return 64 + 4*len(m.list) + 8*len(m.bits) + 4*len(m.past) + m.tail.bytes()
}

// masks finds the masks of the expressions of an arena, and remembers them.
type masks struct {
	vocabulary *Vocabulary
	arena      *regular.Arena
	own        map[regular.Expr]*mask
	references []regular.Expr // whose masks are sets of bits, the latest last
	unbound    map[regular.Expr]unbounded
	size       int // bytes of own
	path       [maxToken + 1]pair
}

// unbounded is what Arena.Unbound returned.
type unbounded struct {
	expr        regular.Expr
	least, most int
}

// pair is where the walk for an expression is, and where the reference is after the same bytes.
type pair struct{ expr, reference regular.Expr }

// maxReferences is how many expressions are tried as references.
const maxReferences = 8

func newMasks(v *Vocabulary, arena *regular.Arena) *masks {
	m := &masks{vocabulary: v, arena: arena, own: map[regular.Expr]*mask{}, unbound: map[regular.Expr]unbounded{}}
	for _, e := range v.wide {
		m.of(e)
	}
	return m
}

// of returns the mask of an expression.
func (m *masks) of(e regular.Expr) *mask {
	if found, ok := m.own[e]; ok {
		return found
	}
	v := m.vocabulary
	if e < v.own {
		v.mu.Lock()
		defer v.mu.Unlock()
		if found, ok := v.masks[e]; ok {
			m.own[e] = found
			m.refer(e, found)
			return found
		}
	}
	found := m.find(e)
	if m.arena.Err() != nil {
		return found
	}
	if e < v.own {
		v.masks[e] = found
	} else {
		m.size += found.bytes()
	}
	m.own[e] = found
	m.refer(e, found)
	return found
}

// refer makes e a reference if its mask is one of many tokens and none like it is there.
func (m *masks) refer(e regular.Expr, found *mask) {
	if found.bits == nil || len(m.references) >= maxReferences && e >= m.vocabulary.own {
		return
	}
	if _, _, _, counted := m.arena.Unbound(e); counted {
		return
	}
	m.references = append(m.references, e)
}

// find makes the mask of an expression: from the mask of one that it resembles, or by a walk over the whole trie.
func (m *masks) find(e regular.Expr) *mask {
	if u := m.loosen(e); u.expr != e && u.most >= longCount {
		known, ok := m.own[u.expr]
		if !ok && u.expr >= m.vocabulary.own {
			known = m.walk(u.expr)
			m.own[u.expr] = known
			m.size += known.bytes()
			m.refer(u.expr, known)
		} else if !ok {
			known = nil // it is shared, and the shared masks may be locked: m.of would take the lock again
		}
		if known != nil && known.bits != nil {
			return m.adapt(e, u.expr, known)
		}
	}
	for _, r := range slices.Backward(m.references) {
		if m.resembles(e, r) {
			return m.adapt(e, r, m.own[r])
		}
	}
	return m.walk(e)
}

// longCount is from how many repetitions on it pays to make a mask for any number of them first.
const longCount = 4

// loosen is Arena.Unbound, remembered.
func (m *masks) loosen(e regular.Expr) unbounded {
	if u, ok := m.unbound[e]; ok {
		return u
	}
	expr, least, most, ok := m.arena.Unbound(e)
	if !ok {
		expr = e
	}
	u := unbounded{expr, least, most}
	m.unbound[e] = u
	return u
}

// samples are bytes by which expressions are compared: of words, of signs, and the first of two in "é" and of three in "中".
const samples = "etZ .0(\xC3\xE4"

// resembles tells whether e and r go on alike after most of the samples.
func (m *masks) resembles(e, r regular.Expr) bool {
	alike := 0
	for _, b := range []byte(samples) {
		if d := m.arena.Next(e, b); d != regular.None && m.loosen(d).expr == m.loosen(m.arena.Next(r, b)).expr {
			alike++
		}
	}
	return 2*alike > len(samples)
}

// walk makes a mask by a walk over the trie.
func (m *masks) walk(e regular.Expr) *mask {
	v := m.vocabulary
	found := &mask{}
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
		if v.end[i] > i+1 && m.arena.Nullable(s) {
			found.past = append(found.past, i)
		}
		i++
	}
	found.tail = newTails(v, found.past)
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

// adapt makes the mask of e from known, which is that of reference and a set of bits. Where both come to the same expression, or to
// expressions that differ in a count that no token reaches, all tokens that go on from there are the same.
func (m *masks) adapt(e, reference regular.Expr, known *mask) *mask {
	v := m.vocabulary
	if m.alike(e, reference, 0, known) {
		return known
	}
	found := &mask{bits: known.bits}
	own := func() []uint64 { // the bits, to be changed
		if &found.bits[0] == &known.bits[0] {
			found.bits = slices.Clone(known.bits)
		}
		return found.bits
	}
	past := known.past // those not yet come to
	m.path[0] = pair{e, reference}
	for i := int32(1); int(i) < len(v.labels); {
		depth, label := v.depths[i], v.labels[i]
		above := m.path[depth-1]
		at := pair{regular.None, regular.None}
		if above.expr != regular.None {
			at.expr = m.arena.Next(above.expr, label)
		}
		if above.reference != regular.None {
			at.reference = m.arena.Next(above.reference, label)
		}
		if at.expr == at.reference || m.alike(at.expr, at.reference, i, known) {
			for i = v.end[i]; len(past) > 0 && past[0] < i; past = past[1:] {
				found.past = append(found.past, past[0])
			}
			continue
		}
		for len(past) > 0 && past[0] <= i {
			past = past[1:]
		}
		if at.expr == regular.None {
			for _, t := range v.within(i) {
				own()[t/64] &^= 1 << (t % 64)
			}
			for i = v.end[i]; len(past) > 0 && past[0] < i; {
				past = past[1:]
			}
			continue
		}
		m.path[depth] = at
		if at.reference == regular.None {
			for _, t := range v.tokens(i) {
				own()[t/64] |= 1 << (t % 64)
			}
		}
		if v.end[i] > i+1 && m.arena.Nullable(at.expr) {
			found.past = append(found.past, i)
		}
		i++
	}
	if slices.Equal(found.past, known.past) {
		found.past, found.tail = known.past, known.tail
	} else {
		found.tail = newTails(v, found.past)
	}
	return found
}

// alike tells whether all tokens below a node go on in e as they do in the reference, and are complete at the same places.
func (m *masks) alike(e, reference regular.Expr, node int32, known *mask) bool {
	if e == regular.None || reference == regular.None {
		return false
	}
	u := m.loosen(e)
	if u.expr != reference || u.most < int(m.vocabulary.height[node]) {
		return false
	}
	if u.least == 0 {
		return true
	}
	at, _ := slices.BinarySearch(known.past, node)
	return at == len(known.past) || known.past[at] >= m.vocabulary.end[node]
}
