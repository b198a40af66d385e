package tokenmask

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// allow adds to words the tokens that may come next if an expression is to be read, followed by what the states in then accept.
func (m *masks) allow(e regular.Expr, machine *grammar.Machine, then grammar.Set, words []uint64) {
	m.enough, m.tired = m.arena.Effort()+mostEffort, false
	v, known := m.vocabulary, m.of(e)
	if known.many != nil {
		known.many.allow(v, known.least, known.most, machine, then, words)
		return
	}
	if known.slice != nil {
		addSet(words, known.slice.bits)
	}
	addTokens(words, known.list)
	addSet(words, known.bits)
	if known.ends == nil {
		return
	}
	after := machine.After(then)
	first := machine.First(after)
	if first == (regular.Class{}) { // nothing follows
		return
	}
	apart, together := known.ends.get(v)
	for _, n := range apart {
		m.below(known.ends.trie, n, machine, after, first, words)
	}
	if together != nil {
		together.allow(machine, after, words, 0, unlimited)
	}
}

// below adds to words the tokens below a node of t that a text in state s, in which the bytes of first may come, can go on with.
func (m *masks) below(t *trie, node int32, machine *grammar.Machine, s grammar.State, first regular.Class, words []uint64) {
	var path [maxToken + 1]grammar.State
	depth0 := t.depths[node]
	path[depth0] = s
	for i := node + 1; i < t.end[node]; {
		depth := t.depths[i]
		if depth == depth0+1 && !first.Has(t.labels[i]) {
			i = t.end[i]
			continue
		}
		next := machine.Next(path[depth-1], t.labels[i])
		if next == grammar.Dead {
			i = t.end[i]
			continue
		}
		path[depth] = next
		if t.large(i) && m.takes(t, i, machine, next) {
			addTokens(words, t.within(i))
			i = t.end[i]
			continue
		}
		addTokens(words, t.tokens(i))
		i++
	}
}

// takes reports whether a text in state s can go on with every text below a node.
func (m *masks) takes(t *trie, node int32, machine *grammar.Machine, s grammar.State) bool {
	for _, thread := range machine.Threads(s) {
		if m.free(thread.Rest).has(t, node) {
			return true
		}
	}
	return false
}
