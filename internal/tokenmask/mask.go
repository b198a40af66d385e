package tokenmask

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// mask says which tokens may come where an expression is to be read.
//
// inside are the tokens that the expression can take as a whole, as a list or, where there are many, as a set of bits. past are the
// nodes of the trie at which a string of the expression may be complete and below which there are tokens: these may come where
// what follows the expression takes the rest of them. tail is what there is below all of past, put together once the mask has been
// asked for a few times.
//
// The mask of a counted repetition of which many tokens are a part is that of many instead, within bounds.
//
// A mask does not change but for tail and asked; masks share what is the same in them.
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
	references []regular.Expr // whose masks are sets of bits, the latest last
	followed   map[pair]bool  // whether an expression follows a reference
	loosened   map[regular.Expr]loosened
	completion map[regular.Expr]int // of expressions without bounds: see regular.Arena.Completion; -1: too many states
	size       int                  // bytes of own and counts
	path       [maxToken + 1]pair
	scratch    []uint64
}

// pair is where the walk for an expression is, and where the reference is after the same bytes.
type pair struct{ expr, reference regular.Expr }

// maxReferences is how many expressions are tried as references.
const maxReferences = 8

func newMasks(v *Vocabulary, arena *regular.Arena) *masks {
	m := &masks{vocabulary: v, arena: arena, own: map[regular.Expr]*mask{}, counts: map[regular.Expr]*counted{}, followed: map[pair]bool{},
		loosened: map[regular.Expr]loosened{}, completion: map[regular.Expr]int{}}
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
	v := m.vocabulary
	if e < v.own {
		v.mu.Lock()
		found = v.masks[e]
		v.mu.Unlock()
	}
	if found == nil {
		found = m.recall(e)
		if e < v.own && m.arena.Err() == nil { // two languages may find it at the same time: they find the same
			found.tail = newTails(v, found.past) // now: nothing changes in a mask that languages share
			v.mu.Lock()
			v.masks[e] = found
			v.mu.Unlock()
		}
	}
	m.own[e] = found
	if found.bits != nil && found.of == e && (len(m.references) < maxReferences || e < v.own) {
		m.references = append(m.references, e)
	}
	return found
}

// recall returns the mask of an expression that some language has found already, or finds it.
func (m *masks) recall(e regular.Expr) *mask {
	if e < m.vocabulary.own {
		return m.find(e)
	}
	if first := m.arena.First(e); first.Len() < broad {
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
		if m.resembles(e, r) || r < m.vocabulary.own && m.follows(e, r) {
			return m.adapt(e, r, m.own[r])
		}
	}
	return m.walk(e)
}

// longCount is from how many repetitions on it pays to make a mask for any number of them first.
const longCount = 4

// loosened is an expression without the bounds of its repetitions, and for how many bytes it goes on as the one with them does.
type loosened struct {
	expr  regular.Expr
	reach int
}

// maxCompletion is up to how many states are looked at to find out how soon a text can be completed.
const maxCompletion = 100

// shortReach is from which reach on the mask of the expression without bounds is made first.
const shortReach = 4

// loosen returns e without the bounds of its repetitions.
//
// A text that the loosened expression can take can be completed in it with no more than so many bytes (its completion). While the
// text and its completion together stay within the slack, no bound matters: e can take both of them.
func (m *masks) loosen(e regular.Expr) loosened {
	if l, ok := m.loosened[e]; ok {
		return l
	}
	expr, slack := m.arena.Loosen(e)
	l := loosened{expr, slack}
	if slack < regular.Unlimited {
		longest, ok := m.completion[expr]
		if !ok {
			longest = -1
			if n, ok := m.arena.Completion(expr, maxCompletion); ok {
				longest = n
			}
			m.completion[expr] = longest
		}
		if l.reach -= longest; longest < 0 {
			l.reach = -1
		}
	}
	m.loosened[e] = l
	return l
}

// alike tells whether all that can follow p.expr within height bytes is what can follow p.reference.
func (m *masks) alike(p pair, height uint8) bool {
	if p.expr == p.reference {
		return true
	}
	if p.expr == regular.None || p.reference == regular.None {
		return false
	}
	l := m.loosen(p.expr)
	return l.expr == p.reference && l.reach >= int(height)
}

// samples are bytes by which expressions are compared: of words, of signs, and the first of two in "é" and of three in "中".
const samples = "etZ .0(\xC3\xE4"

// resembles tells whether e and r go on alike after most of the samples.
func (m *masks) resembles(e, r regular.Expr) bool {
	alike := 0
	for _, b := range []byte(samples) {
		if d := m.arena.Next(e, b); d != regular.None && d == m.arena.Next(r, b) {
			alike++
		}
	}
	return 2*alike > len(samples)
}

// maxFollowed is up to how many pairs of states are looked at to find out whether an expression follows another.
const maxFollowed = 300

// follows tells whether e goes on with the same bytes as r does, and so forth, until r may be complete: whether all that a pattern
// forbids is to end in its midst, and e is not complete before r either. Then a token that does not come to an end of r may come in e where it may in r.
func (m *masks) follows(e, r regular.Expr) bool {
	if m.arena.Nullable(r) || m.arena.Nullable(e) || e == r {
		return false
	}
	first := pair{e, r}
	if known, ok := m.followed[first]; ok {
		return known
	}
	seen, todo := map[pair]bool{first: true}, []pair{first}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for b := range 256 {
			next := pair{m.arena.Next(p.expr, byte(b)), m.arena.Next(p.reference, byte(b))}
			switch {
			case m.arena.Nullable(next.reference) || next.expr == next.reference || seen[next]:
				continue
			case next.expr == regular.None || next.reference == regular.None || m.arena.Nullable(next.expr) || len(seen) == maxFollowed || m.arena.Err() != nil:
				m.followed[first] = false
				return false
			}
			seen[next] = true
			todo = append(todo, next)
		}
	}
	for p := range seen {
		m.followed[p] = true
	}
	return true
}

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

// adapt makes the mask of e from known, which is that of reference and a set of bits. Where both come to the same expression, all
// tokens that go on from there are the same; where e follows the reference, those are that do not come to an end.
func (m *masks) adapt(e, reference regular.Expr, known *mask) *mask {
	v := m.vocabulary
	if m.alike(pair{e, reference}, v.height[0]) {
		return known
	}
	found := &mask{of: e, bits: slices.Clone(known.bits)}
	past, ends := known.past, known.ends // those not yet come to
	m.path[0] = pair{e, reference}
	for i := int32(1); int(i) < len(v.labels); {
		depth, label, next := v.depths[i], v.labels[i], v.end[i]
		above := m.path[depth-1]
		at := pair{regular.None, regular.None}
		if above.expr != regular.None {
			at.expr = m.arena.Next(above.expr, label)
		}
		if above.reference != regular.None {
			at.reference = m.arena.Next(above.reference, label)
		}
		switch {
		case m.alike(at, v.height[i]) || m.followed[at] && !holds(ends, i, next):
			found.past, past = moveBelow(next, found.past, past)
			found.ends, ends = moveBelow(next, found.ends, ends)
			i = next
		case at.expr == regular.None:
			for _, t := range v.within(i) {
				found.bits[t/64] &^= 1 << (t % 64)
			}
			past, ends = past[below(past, next):], ends[below(ends, next):]
			i = next
		default:
			past, ends = past[below(past, i+1):], ends[below(ends, i+1):]
			m.path[depth] = at
			if at.reference == regular.None {
				for _, t := range v.tokens(i) {
					found.bits[t/64] |= 1 << (t % 64)
				}
			}
			if m.arena.Nullable(at.expr) {
				found.ends = append(found.ends, i)
				if next > i+1 {
					found.past = append(found.past, i)
				}
			}
			i++
		}
	}
	if slices.Equal(found.past, known.past) {
		found.past, found.tail = known.past, known.tail
	}
	m.size += found.bytes()
	return found
}

// below returns how many numbers at the beginning of an ascending list are below limit.
func below(list []int32, limit int32) int {
	n := 0
	for n < len(list) && list[n] < limit {
		n++
	}
	return n
}

// moveBelow moves the numbers below limit from the beginning of from, which is ascending, to the end of to.
func moveBelow(limit int32, to, from []int32) (longer, rest []int32) {
	n := below(from, limit)
	return append(to, from[:n]...), from[n:]
}

// holds tells whether an ascending list has a number from low to below high.
func holds(list []int32, low, high int32) bool {
	at, _ := slices.BinarySearch(list, low)
	return at < len(list) && list[at] < high
}

// allow adds to words the tokens that may come where an expression with mask known is to be read, and then what after is the state
// of.
func (m *masks) allow(known *mask, machine *grammar.Machine, then grammar.Set, words []uint64) {
	v := m.vocabulary
	if known.many != nil {
		m.scratch = known.many.allow(v, known.least, known.most, machine, then, words, m.scratch)
		return
	}
	for _, id := range known.list {
		words[id/64] |= 1 << (id % 64)
	}
	for i, w := range known.bits {
		words[i] |= w
	}
	if len(known.past) == 0 {
		return
	}
	after := machine.After(then)
	first := machine.First(after)
	if first == (regular.Class{}) { // nothing follows
		return
	}
	if known.tail == nil {
		if known.asked++; known.asked < v.oftenAsked(known.past) {
			for _, n := range known.past {
				v.allow(n, machine, after, first, words)
			}
			return
		}
		known.tail = newTails(v, known.past)
		m.size += known.tail.bytes()
	}
	known.tail.allow(machine, after, words, 0, unlimited)
}

// oftenAsked returns how often a mask is asked for until its tails are put together: a walk below all of past takes some hundredth
// of the time where there are many tokens there.
func (v *Vocabulary) oftenAsked(past []int32) int {
	tokens := 0
	for _, n := range past {
		tokens += int(v.first[v.end[n]] - v.first[n+1])
	}
	return 4 + tokens/10_000
}

// allow adds to words the tokens below a node that m takes in state s, in which the bytes of first may come.
func (v *Vocabulary) allow(node int32, m *grammar.Machine, s grammar.State, first regular.Class, words []uint64) {
	var path [maxToken + 1]grammar.State
	depth0 := v.depths[node]
	path[depth0] = s
	for i := node + 1; i < v.end[node]; {
		depth := v.depths[i]
		if depth == depth0+1 && !first.Has(v.labels[i]) {
			i = v.end[i]
			continue
		}
		next := m.Next(path[depth-1], v.labels[i])
		if next == grammar.Dead {
			i = v.end[i]
			continue
		}
		path[depth] = next
		for _, t := range v.tokens(i) {
			words[t/64] |= 1 << (t % 64)
		}
		i++
	}
}
