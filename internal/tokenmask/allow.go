package tokenmask

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// allow adds to words the tokens that may come next if an expression with mask known is to be read, followed by what the states in then
// accept.
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

// oftenAsked returns after how many questions a mask's tails are built. Building them walks everything below past; afterwards a question
// takes about a hundredth of the time if many tokens are there.
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
