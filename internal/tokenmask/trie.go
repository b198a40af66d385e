package tokenmask

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// trie is a set of texts with their tokens, in flat arrays of 15 bytes a node.
//
// The nodes are numbered in the order in which a walk comes to them, the root being 0, so that a node's descendants follow it: those
// before end. Tokens are in the order of their texts, so that those of a node and its descendants lie side by side. For example, the tokens
// 7 "a", 8 "ab" and 9 "b":
//
//	node    label   depth   end   first
//	0               0       4     0
//	1       a       1       3     0       order[0:1]: 7
//	2       b       2       3     1       order[1:2]: 8
//	3       b       1       4     2       order[2:3]: 9
//
// Invariants: the slices of nodes have the same length, first has one more; i < end[i]; tokens first[i] to first[i+1] of order end at
// node i; counts is empty or has a number for each of order.
type trie struct {
	labels []byte
	depths []uint8
	height []uint8 // bytes of the longest text below a node
	kinds  []kinds // of the characters below a node
	end    []int32
	first  []int32
	order  []int32
	counts []uint8 // repetitions of a counted expression that stand before the text
}

// entry is a text of a trie that is being made, of 1 to maxToken bytes, with its token.
type entry struct {
	key   uint64 // the first bytes of text: what most comparisons need
	text  []byte
	id    int32
	count uint8
}

// newEntry returns the entry of a text.
func newEntry(text []byte, id int32, count uint8) entry {
	var first [8]byte
	copy(first[:], text)
	return entry{binary.BigEndian.Uint64(first[:]), text, id, count}
}

// sortEntries sorts entries by their texts.
func sortEntries(entries []entry) {
	slices.SortFunc(entries, func(a, b entry) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		if c := bytes.Compare(a.text, b.text); c != 0 {
			return c
		}
		return int(a.id) - int(b.id)
	})
}

// newTrie returns the trie of sorted entries. counted says that it keeps their counts.
func newTrie(entries []entry, counted bool) *trie {
	nodes := 1
	for i := range entries {
		nodes += len(entries[i].text)
		if i > 0 {
			nodes -= common(entries[i-1].text, entries[i].text)
		}
	}
	t := &trie{
		labels: make([]byte, nodes), depths: make([]uint8, nodes), height: make([]uint8, nodes), kinds: make([]kinds, nodes),
		end: make([]int32, nodes), first: make([]int32, nodes+1), order: make([]int32, len(entries)),
	}
	if counted {
		t.counts = make([]uint8, len(entries))
	}
	var path [maxToken + 1]int32 // the nodes from the root to the last text
	var below [maxToken + 1]kinds
	length, last := 0, []byte(nil) // of the last text
	next := int32(1)
	for at := range entries {
		e := &entries[at]
		shared := common(last, e.text)
		for ; length > shared; length-- {
			t.end[path[length]] = next
		}
		for _, b := range e.text[shared:] {
			length++
			path[length] = next
			t.labels[next], t.depths[next], t.first[next] = b, uint8(length), int32(at) // tokens before this node's
			next++
		}
		kindsOf(e.text, below[:])
		for d := range length {
			n := path[d]
			t.height[n], t.kinds[n] = max(t.height[n], uint8(length-d)), t.kinds[n]|below[d]
		}
		t.order[at] = e.id
		if counted {
			t.counts[at] = e.count
		}
		last = e.text
	}
	for ; length >= 0; length-- {
		t.end[path[length]] = next
	}
	t.first[nodes] = int32(len(entries))
	return t
}

// common returns how many bytes two texts have in common at the beginning.
func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// tokens returns the tokens that end at a node; within returns those that end there or below.
func (t *trie) tokens(node int32) []int32 { return t.order[t.first[node]:t.first[node+1]] }

func (t *trie) within(node int32) []int32 { return t.order[t.first[node]:t.first[t.end[node]]] }

// child returns the node that a byte leads to, or 0.
func (t *trie) child(node int32, b byte) int32 {
	for i := node + 1; i < t.end[node]; i = t.end[i] {
		if t.labels[i] == b {
			return i
		}
	}
	return 0
}

// bytes returns about how much memory the trie takes.
func (t *trie) bytes() int {
	if t == nil {
		return 0
	}
	return 256 + 15*len(t.labels) + 4*len(t.order) + len(t.counts)
}
