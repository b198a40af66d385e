package tokenmask

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/internal/grammar"
)

// The tails of a mask are the ends of its tokens behind the places at which the expression may be complete. They are put together as a
// trie: the same end of many tokens is one node. For example, in a string the tokens
//
//	a",    ",    ":    x",
//
// have the tails , and : and the former stands for three tokens.

// ends are the nodes of a trie at which an expression may be complete, with tokens below: all of past, in ascending order. Expressions, of
// any language, with the same nodes have the same ends. It is safe for concurrent use and does not change but for tails.
type ends struct {
	trie  *trie
	past  []int32
	asked atomic.Int32
	tails atomic.Pointer[tails]
}

// tails are the ends of tokens: those below the nodes in apart, and those that were put together.
type tails struct {
	apart    []int32
	together *trie
}

// Bounds of tails: more are not put together, and those below a node with many are not either: a walk over these takes no
// longer as they are. oftenAsked is with which question they are put together.
const (
	maxTails   = 40_000
	wideNode   = 1_000
	oftenAsked = 4
)

// ends returns the ends with these nodes of t.
func (v *Vocabulary) ends(t *trie, past []int32) *ends {
	var h maphash.Hash
	h.SetSeed(v.seed)
	var number [4]byte
	for _, n := range past {
		binary.LittleEndian.PutUint32(number[:], uint32(n))
		h.Write(number[:])
	}
	key := h.Sum64()
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.known.ends[key]; known != nil && known.trie == t && slices.Equal(known.past, past) {
		return known
	}
	e := &ends{trie: t, past: slices.Clone(past)}
	v.known.grow(endsBytes + 4*len(past))
	v.known.ends[key] = e
	return e
}

const endsBytes = 160

// get returns the tails.
func (e *ends) get(v *Vocabulary) (apart []int32, together *trie) {
	if t := e.tails.Load(); t != nil {
		return t.apart, t.together
	}
	if e.asked.Add(1) != oftenAsked {
		return e.past, nil
	}
	t := e.gather(v)
	e.tails.Store(t)
	v.mu.Lock()
	v.known.size += t.together.bytes() + 4*len(t.apart)
	v.mu.Unlock()
	return t.apart, t.together
}

// gather puts the tails together.
func (e *ends) gather(v *Vocabulary) *tails {
	t, count := e.trie, 0
	var few, wide []int32
	for _, n := range e.past {
		if below := t.first[t.end[n]] - t.first[n+1]; below >= wideNode {
			wide = append(wide, n)
		} else {
			few = append(few, n)
			count += int(below)
		}
	}
	if len(few) < 2 || count > maxTails {
		return &tails{apart: e.past}
	}
	entries := make([]entry, 0, count)
	for _, n := range few {
		for _, id := range t.order[t.first[n+1]:t.first[t.end[n]]] {
			entries = append(entries, newEntry(v.Bytes(id)[t.depths[n]:], id, 0))
		}
	}
	sortEntries(entries)
	return &tails{wide, newTrie(entries, false)}
}

// allow adds to words the tokens with ends that m takes in state s; if tokens have counts, only those with counts from least to most.
func (t *trie) allow(m *grammar.Machine, s grammar.State, words []uint64, least, most int) {
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
