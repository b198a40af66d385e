// Package trie finds strings by their beginnings, byte by byte, in little memory: nine bytes for each node.
package trie

import (
	"bytes"
	"fmt"
)

// A Trie holds a set of keys. It is immutable.
//
// Its nodes are numbered from the root, 0, level by level, so that the children of a node lie side by side, in the order of
// their labels, and those of the next node follow them.
type Trie struct {
	labels []byte   // the byte that leads to each node; the root's is not used
	first  []uint32 // the first child of each node; the last one stands before the next node's first
	keys   []int32  // the index of the key that ends at each node, or -1
}

// New returns the trie of keys, which must be in strictly ascending order. The trie knows keys by their indices.
func New(keys []string) (*Trie, error) {
	nodes := 1
	for i, key := range keys {
		if i > 0 && keys[i-1] >= key {
			return nil, fmt.Errorf("trie: %.40q comes after %.40q", key, keys[i-1])
		}
		nodes += len(key)
		if i > 0 {
			nodes -= common(keys[i-1], key)
		}
	}
	t := &Trie{labels: make([]byte, 1, nodes), first: make([]uint32, 0, nodes+1), keys: make([]int32, 0, nodes)}
	type group struct{ low, high int32 }                        // the keys that go through a node
	level, next := []group{{0, int32(len(keys))}}, []group(nil) // of the nodes at a depth, and of those below them
	for depth := 0; len(level) > 0; depth++ {
		next = next[:0]
		for _, g := range level {
			t.first = append(t.first, uint32(len(t.labels)))
			end := int32(-1)
			if g.low < g.high && len(keys[g.low]) == depth {
				end = g.low
				g.low++
			}
			t.keys = append(t.keys, end)
			for g.low < g.high {
				c, low := keys[g.low][depth], g.low
				for g.low < g.high && keys[g.low][depth] == c {
					g.low++
				}
				t.labels = append(t.labels, c)
				next = append(next, group{low, g.low})
			}
		}
		level, next = next, level
	}
	t.first = append(t.first, uint32(len(t.labels)))
	return t, nil
}

// common returns the length of the longest common prefix.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Len returns the number of nodes.
func (t *Trie) Len() int { return len(t.labels) }

// fewLabels is up to how many labels a loop finds a label faster than a call of bytes.IndexByte.
const fewLabels = 4

// Child returns the node that byte c leads to from a node, or 0 if there is no such node.
func (t *Trie) Child(node uint32, c byte) uint32 {
	first, end := t.first[node], t.first[node+1]
	labels := t.labels[first:end]
	if len(labels) <= fewLabels {
		for i, label := range labels {
			if label == c {
				return first + uint32(i)
			}
		}
		return 0
	}
	if i := bytes.IndexByte(labels, c); i >= 0 {
		return first + uint32(i)
	}
	return 0
}

// Children returns the nodes below a node, first to end, and the bytes that lead to them.
func (t *Trie) Children(node uint32) (first, end uint32, labels []byte) {
	first, end = t.first[node], t.first[node+1]
	return first, end, t.labels[first:end]
}

// Key returns the index of the key that ends at a node, or -1 if no key ends there.
func (t *Trie) Key(node uint32) int32 { return t.keys[node] }
