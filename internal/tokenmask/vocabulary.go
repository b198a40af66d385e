// Package tokenmask finds the tokens of a vocabulary that may come next in a text that follows a grammar, and the tokens of a text that has
// no alternative.
//
// A grammar reads bytes, a token is a few of them, and there are a hundred thousand tokens: trying each would take milliseconds. So the
// vocabulary is a trie, and a beginning that is not allowed is dropped with all tokens that begin so. Most of the work does not depend on
// the text so far: which tokens lie inside a string, say, depends on the regular expression of the string alone. So the tokens that stay
// inside an expression are found once for each expression (a mask), and only those that go past its end are tried at each place.
// Expressions of JSON that every schema has are searched once a vocabulary. Expressions that differ from a known one in a few words or in a
// count alone (any key but these three; at most 20 characters) take its mask, and only the differences are walked.
package tokenmask

import (
	"bytes"
	"slices"
	"sync"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// Vocabulary is the tokens of a tokenizer as a trie of their bytes. It is immutable but for masks that it remembers, and safe for
// concurrent use.
//
// The nodes of the trie are numbered in the order in which a walk comes to them, the root being 0, so that a node's descendants
// follow it: those before end. Tokens are in the order of their bytes, so that those of a node and its descendants lie side by side.
//
// Invariants: the slices of nodes have the same length; i < end[i]; tokens first[i] to first[i+1] of order end at node i.
type Vocabulary struct {
	size   int // entries, tokens that are no text included
	labels []byte
	depths []uint8
	end    []int32
	first  []int32 // one more than there are nodes
	order  []int32
	height []uint8 // bytes of the longest token below a node

	text   [][]byte // of each entry, as a grammar sees it; nil: never allowed
	encode func(text string) []int32

	own  regular.Expr   // expressions from this number on are a language's own
	wide []regular.Expr // shared expressions that take most tokens

	mu     sync.Mutex
	masks  map[regular.Expr]*mask    // of expressions that the arenas of all languages have
	counts map[regular.Expr]*counted // by the expression with a repetition that has no bounds
	known  maskCache
}

// maxToken is the longest token, in bytes, that may be generated. The longest of Llama 3's has 128.
const maxToken = 255

// Marker begins the bytes that stand in a grammar for a token that is no text: see Mark. No UTF-8 text has this byte.
const Marker = 0xFF

// Mark returns the bytes that stand in a grammar for an added token, such as "<|python_tag|>": Marker, and the token's number.
func Mark(id int32) string {
	return string([]byte{Marker, byte(id >> 16), byte(id >> 8), byte(id)})
}

// New returns the trie of a vocabulary with size entries. text returns the bytes of an entry that is text, and nil for one that is not;
// added reports whether an entry stands in grammars as Mark says. encode turns text into the tokens that the tokenizer writes it with, in
// the midst of a text. Every language begins with the expressions of the arena shared. wide are those of them that most tokens can go on
// with, as the inside of a string.
func New(size int, text func(id int32) []byte, added func(id int32) bool, encode func(text string) []int32, shared *regular.Arena, wide ...regular.Expr) *Vocabulary {
	v := &Vocabulary{
		size: size, encode: encode, text: make([][]byte, size),
		own: regular.Expr(shared.Len()), wide: wide,
		masks: map[regular.Expr]*mask{}, counts: map[regular.Expr]*counted{},
	}
	for id := range int32(size) {
		t := text(id)
		switch {
		case t == nil && added(id):
			t = []byte(Mark(id))
		case len(t) == 0 || len(t) > maxToken || bytes.IndexByte(t, Marker) >= 0:
			continue
		}
		v.text[id] = t
		v.order = append(v.order, id)
	}
	slices.SortFunc(v.order, func(a, b int32) int {
		if c := bytes.Compare(v.text[a], v.text[b]); c != 0 {
			return c
		}
		return int(a) - int(b)
	})
	v.build()
	return v
}

// build makes the trie of the tokens in order.
func (v *Vocabulary) build() {
	v.labels, v.depths, v.end, v.first, v.height = []byte{0}, []uint8{0}, []int32{0}, []int32{0}, []uint8{0}
	path := []int32{0} // the nodes from the root to the last token
	for at, id := range v.order {
		t := v.text[id]
		common := 0
		for common < len(t) && common+1 < len(path) && v.labels[path[common+1]] == t[common] {
			common++
		}
		for len(path) > common+1 {
			v.end[path[len(path)-1]] = int32(len(v.labels))
			path = path[:len(path)-1]
		}
		for _, b := range t[common:] {
			path = append(path, int32(len(v.labels)))
			v.labels, v.depths, v.end, v.height = append(v.labels, b), append(v.depths, uint8(len(path)-1)), append(v.end, 0), append(v.height, 0)
			v.first = append(v.first, int32(at)) // tokens before this node's
		}
		for i, n := range path {
			v.height[n] = max(v.height[n], uint8(len(t)-i))
		}
	}
	for _, n := range path {
		v.end[n] = int32(len(v.labels))
	}
	v.first = append(v.first, int32(len(v.order)))
}

// Prepare finds the masks of the shared expressions that many tokens go on with, and the counted masks of bounded: expressions that begin
// with a counted repetition. arena began as the shared arena. All other masks are found when they are needed.
func (v *Vocabulary) Prepare(arena *regular.Arena, bounded ...regular.Expr) {
	m := newMasks(v, arena)
	for e := range v.own {
		if arena.First(e).Len() >= broad {
			m.of(e)
		}
	}
	for _, e := range bounded {
		m.count(e)
	}
}

// Size returns how many entries the vocabulary has.
func (v *Vocabulary) Size() int { return v.size }

// Bytes returns the bytes of an entry as a grammar sees it, nil for one that is never allowed.
func (v *Vocabulary) Bytes(id int32) []byte {
	if id < 0 || int(id) >= v.size {
		return nil
	}
	return v.text[id]
}

// tokens returns the tokens that end at a node; within returns those that end there or below.
func (v *Vocabulary) tokens(node int32) []int32 { return v.order[v.first[node]:v.first[node+1]] }

func (v *Vocabulary) within(node int32) []int32 { return v.order[v.first[node]:v.first[v.end[node]]] }
