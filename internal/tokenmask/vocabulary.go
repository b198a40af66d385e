// Package tokenmask finds the tokens of a vocabulary that may come next in a text that follows a grammar, and the tokens of a text that has
// no alternative.
//
// A grammar reads bytes, a token is a few of them, and there are a hundred thousand tokens: trying each would take milliseconds. Nothing is
// computed in advance either: what a vocabulary needs takes some 0.1 s and 20 MB. Five things make that possible.
//
//   - The vocabulary is a trie in flat arrays, and a beginning that is not allowed is dropped with all tokens that begin so.
//   - What may come inside a regular expression does not depend on the text before it. So the tokens that stay inside an expression are
//     found once for each expression: its mask. Only those that go past its end are tried at each place: their ends are the mask's tails.
//   - Most tokens are plain text, and most expressions with many tokens take any plain text: the rest of a string, whatever pattern or length
//     it must have in the end. That is the expression's freedom: the kinds of characters that it takes in any order, up to some length. A
//     slice of the vocabulary, all tokens of such kinds, is taken at once. A walk over the rest takes all below a node at once, too, if
//     the expression there has the freedom for it.
//   - Expressions that differ in the count of a repetition alone (at most 20 characters) have one mask for all counts.
//   - A pattern's greatest length is a number of the walk and not part of its states: each state would come once for each length that is left.
//
// For example, a list of strings of at most 40 characters that may not be "all", after the text ["al:
//
//	rest of the expression    l[^"]{0,37}" but not l", or a character other than l, or …
//	freedom                   all kinds of characters but quote, backslash and controls, up to 30 bytes
//	slice                     the 127,000 tokens of these kinds with up to 24 bytes: allowed, and nothing is tried
//	walk over the rest        of the 6,000 other tokens, ly" is allowed, and l" is not; s", goes past the end
//	tails                     of the tokens that go past the end: the list's symbols take the , of s", but not the } of s"}
//
// Masks and tails are found when they are first needed, bounded, and counted by Held and Bytes.
package tokenmask

import (
	"bytes"
	"hash/maphash"
	"sync"
)

// Vocabulary is the tokens of a tokenizer. It is immutable but for what it remembers, and safe for concurrent use.
//
// Invariant: text[starts[i]:starts[i+1]] are the bytes of entry i as a grammar sees it, no bytes if it is never allowed; whole has the others.
type Vocabulary struct {
	size   int // entries, tokens that are no text included
	text   []byte
	starts []uint32
	whole  *trie
	slices []*slice

	seed  maphash.Seed
	mu    sync.Mutex
	known maskCache
}

// maxToken is the longest token, in bytes, that may be generated. The longest of Llama 3's has 128.
const maxToken = 255

// Marker begins the bytes that stand in a grammar for a token that is no text: see Mark. No UTF-8 text has this byte.
const Marker = 0xFF

// Mark returns the bytes that stand in a grammar for an added token, such as "<|python_tag|>": Marker, and the token's number.
func Mark(id int32) string {
	return string([]byte{Marker, byte(id >> 16), byte(id >> 8), byte(id)})
}

// New returns a vocabulary with size entries. text appends the bytes of an entry that is text to dst, and nothing for one that is not;
// added reports whether an entry without text stands in grammars as Mark says.
//
// Arenas of languages must all have begun as the same one: what one language has found serves the others.
func New(size int, text func(dst []byte, id int32) []byte, added func(id int32) bool) *Vocabulary {
	v := &Vocabulary{size: size, starts: make([]uint32, size+1), seed: maphash.MakeSeed()}
	for id := range int32(size) {
		begin := len(v.text)
		v.text = text(v.text, id)
		switch t := v.text[begin:]; {
		case len(t) == 0 && added(id):
			v.text = append(v.text, Mark(id)...)
		case len(t) > maxToken || bytes.IndexByte(t, Marker) >= 0:
			v.text = v.text[:begin]
		}
		v.starts[id+1] = uint32(len(v.text))
	}
	entries := make([]entry, 0, size)
	for id := range int32(size) {
		if t := v.Bytes(id); t != nil {
			entries = append(entries, newEntry(t, id, 0))
		}
	}
	sortEntries(entries)
	v.whole = newTrie(entries, false)
	v.text = bytes.Clone(v.text) // without room for more
	v.cut()
	return v
}

// Size returns how many entries the vocabulary has.
func (v *Vocabulary) Size() int { return v.size }

// words returns how many words a set of tokens has.
func (v *Vocabulary) words() int { return (v.size + 63) / 64 }

// Bytes returns the bytes of an entry as a grammar sees it, nil for one that is never allowed. The slice is the vocabulary's.
func (v *Vocabulary) Bytes(id int32) []byte {
	if id < 0 || int(id) >= v.size || v.starts[id] == v.starts[id+1] {
		return nil
	}
	return v.text[v.starts[id]:v.starts[id+1]:v.starts[id+1]]
}

// Held returns about how many bytes of memory the vocabulary takes, with what it remembers for all languages.
func (v *Vocabulary) Held() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	held := len(v.text) + 4*len(v.starts) + v.whole.bytes() + v.known.size
	for _, s := range v.slices {
		held += s.bytes()
	}
	return held
}
