package tokenmask

import (
	"bytes"
	"slices"

	"github.com/antigravity-go/antigravity/internal/grammar"
)

// tails are the ends of tokens, as a trie: what is left of them behind a node at which an expression may be complete. The same end
// of many tokens is one node.
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

// newTails puts together what there is below these nodes; nil if there are none.
func newTails(v *Vocabulary, past []int32) *tails { return newCountedTails(v, past, nil) }

// newCountedTails is newTails, with a count for each node if there are any.
func newCountedTails(v *Vocabulary, past []int32, counts []uint8) *tails {
	if len(past) == 0 {
		return nil
	}
	type ending struct {
		text  []byte
		token int32
		count uint8
	}
	var all []ending
	for i, n := range past {
		count := uint8(0)
		if counts != nil {
			count = counts[i]
		}
		for _, t := range v.order[v.first[n+1]:v.first[v.end[n]]] {
			all = append(all, ending{v.text[t][v.depths[n]:], t, count})
		}
	}
	slices.SortFunc(all, func(a, b ending) int {
		if c := bytes.Compare(a.text, b.text); c != 0 {
			return c
		}
		return int(a.token) - int(b.token)
	})
	t := &tails{labels: []byte{0}, depths: []uint8{0}, end: []int32{0}, first: []int32{0}}
	path := []int32{0}
	for at, e := range all {
		common := 0
		for common < len(e.text) && common+1 < len(path) && t.labels[path[common+1]] == e.text[common] {
			common++
		}
		for len(path) > common+1 {
			t.end[path[len(path)-1]] = int32(len(t.labels))
			path = path[:len(path)-1]
		}
		for _, b := range e.text[common:] {
			path = append(path, int32(len(t.labels)))
			t.labels, t.depths, t.end = append(t.labels, b), append(t.depths, uint8(len(path)-1)), append(t.end, 0)
			t.first = append(t.first, int32(at))
		}
		t.order = append(t.order, e.token)
		if counts != nil {
			t.counts = append(t.counts, e.count)
		}
	}
	for _, n := range path {
		t.end[n] = int32(len(t.labels))
	}
	t.first = append(t.first, int32(len(t.order)))
	return t
}

// allow adds to words the tokens whose ends m takes in state s, of those with counts the ones from least to most.
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
