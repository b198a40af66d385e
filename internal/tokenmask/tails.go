package tokenmask

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/grammar"
)

// tails are the ends of tokens, as a trie: the parts behind a node at which an expression may be complete. The same end of many tokens is
// one node.
//
// Its nodes are numbered as those of Vocabulary are. Invariants: tokens first[i] to first[i+1] of order end at node i; counts is empty or
// has, for each of order, how many repetitions of a counted expression stand before the end.
type tails struct {
	labels []byte
	depths []uint8
	end    []int32
	first  []int32
	order  []int32
	counts []uint8
}

// newTails returns the tails below the nodes in past, or nil if past is empty.
func newTails(v *Vocabulary, past []int32) *tails { return newCountedTails(v, past, nil) }

// newCountedTails is newTails, with a count for each node if there are any.
func newCountedTails(v *Vocabulary, past []int32, counts []uint8) *tails {
	if len(past) == 0 {
		return nil
	}
	g := tailsBuilder{v: v, tails: &tails{labels: []byte{0}, depths: []uint8{0}, end: []int32{0}, first: []int32{0}}, counted: counts != nil}
	for i, n := range past {
		p := tailRoot{node: n}
		if counts != nil {
			p.count = counts[i]
		}
		g.stack = append(g.stack, p)
	}
	g.grow(0, len(past), 1)
	g.end[0] = int32(len(g.labels))
	g.first = append(g.first, int32(len(g.order)))
	return g.tails
}

// tailRoot is a node of the vocabulary that is behind one of those at which an expression may be complete, and the count of that one.
type tailRoot struct {
	node  int32
	count uint8
}

// tailsBuilder are tails that are being put together.
type tailsBuilder struct {
	*tails
	v       *Vocabulary
	counted bool
	stack   []tailRoot // on the path to the node that is being made, the vocabulary's nodes that become one
	sorted  []tailRoot
}

// grow makes the trees below the nodes begin to end of stack one tree.
func (g *tailsBuilder) grow(begin, end int, depth uint8) {
	v, children := g.v, len(g.stack)
	if end-begin == 1 { // a copy
		p := g.stack[begin]
		shift := int32(len(g.labels)) - (p.node + 1)
		for n := p.node + 1; n < v.end[p.node]; n++ {
			g.labels, g.depths, g.tails.end = append(g.labels, v.labels[n]), append(g.depths, depth+v.depths[n]-v.depths[p.node]-1), append(g.tails.end, v.end[n]+shift)
			g.first = append(g.first, int32(len(g.order)))
			g.add(v.tokens(n), p.count)
		}
		return
	}
	for i := begin; i < end; i++ {
		p := g.stack[i]
		for n := p.node + 1; n < v.end[p.node]; n = v.end[n] {
			g.stack = append(g.stack, tailRoot{n, p.count})
		}
	}
	last := len(g.stack)
	g.sortLabels(g.stack[children:])
	for i := children; i < last; {
		label, from, id := v.labels[g.stack[i].node], i, len(g.labels)
		g.labels, g.depths, g.tails.end = append(g.labels, label), append(g.depths, depth), append(g.tails.end, 0)
		g.first = append(g.first, int32(len(g.order)))
		for ; i < last && v.labels[g.stack[i].node] == label; i++ {
			g.add(v.tokens(g.stack[i].node), g.stack[i].count)
		}
		g.grow(from, i, depth+1)
		g.tails.end[id] = int32(len(g.labels))
	}
	g.stack = g.stack[:children]
}

// add notes that tokens end at the node that was made last.
func (g *tailsBuilder) add(tokens []int32, count uint8) {
	g.order = append(g.order, tokens...)
	if g.counted {
		for range tokens {
			g.counts = append(g.counts, count)
		}
	}
}

// sortLabels sorts nodes by their labels.
func (g *tailsBuilder) sortLabels(nodes []tailRoot) {
	if len(nodes) < 64 {
		slices.SortFunc(nodes, func(a, b tailRoot) int { return int(g.v.labels[a.node]) - int(g.v.labels[b.node]) })
		return
	}
	var from [257]int
	for _, p := range nodes {
		from[int(g.v.labels[p.node])+1]++
	}
	for i := range 256 {
		from[i+1] += from[i]
	}
	g.sorted = append(g.sorted[:0], nodes...)
	for _, p := range g.sorted {
		at := &from[g.v.labels[p.node]]
		nodes[*at] = p
		*at++
	}
}

// allow adds to words the tokens with ends that m takes in state s; if tokens have counts, only those with counts from least to most.
func (t *tails) allow(m *grammar.Machine, s grammar.State, words []uint64, least, most int) {
	var path [maxToken + 1]grammar.State
	path[0] = s
	for i := int32(1); int(i) < len(t.labels); {
		depth := t.depths[i]
		next := m.Next(path[depth-1], t.labels[i])
		if next == grammar.Dead {
			i = t.end[i]
			continue
		}
		path[depth] = next
		for at := t.first[i]; at < t.first[i+1]; at++ {
			if t.counts != nil && (int(t.counts[at]) < least || int(t.counts[at]) > most) {
				continue
			}
			token := t.order[at]
			words[token/64] |= 1 << (token % 64)
		}
		i++
	}
}

// bytes returns about how much memory the tails take.
func (t *tails) bytes() int {
	if t == nil {
		return 0
	}
	return 128 + 10*len(t.labels) + 4*len(t.order)
}
