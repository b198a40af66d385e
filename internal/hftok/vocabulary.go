package hftok

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/trie"
)

const (
	maxID         = 1 << 24 // bounds token ids; no vocabulary comes near it
	maxEntries    = 1 << 20 // bounds the tokens of the model; multilingual T5 has 250,100
	maxTokenBytes = 8 << 20 // bounds the tokens' texts together, and so the trie of them; multilingual T5's have 2 MB
)

// entry is a token.
type entry struct {
	text    string
	id      int32
	added   bool // an added token that is not in the model's vocabulary, or a token that is not in use
	byte    bool // stands for a byte of a character that is no token, and not for the text <0xNN>
	special bool // skipped by Decode
}

// vocabulary finds tokens by id and by text. No two tokens have the same id or the same text.
type vocabulary struct {
	entries []entry    // in the order of their texts
	trie    *trie.Trie // of the texts; its keys are indices of entries
	byID    []int32    // by id: the index of its entry, plus one; 0 for an id that is not in use
	unknown int32      // the token for text that no token stands for; -1: such text is dropped
}

// newVocabulary returns the vocabulary of entries that differ in their ids and in their texts.
func newVocabulary(entries []entry) (vocabulary, error) {
	v := vocabulary{entries: entries, unknown: -1}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.text, b.text) })
	texts := make([]string, len(entries))
	top, total := int32(-1), 0
	for i, e := range entries {
		switch {
		case e.id < 0 || e.id >= maxID:
			return v, fmt.Errorf("token %.40q has id %d; ids go from 0 to %d", e.text, e.id, maxID-1)
		case i > 0 && texts[i-1] == e.text:
			return v, fmt.Errorf("%.40q is token %d and token %d", e.text, entries[i-1].id, e.id)
		}
		texts[i] = e.text
		total += len(e.text)
		top = max(top, e.id)
	}
	if n := len(entries); n == 0 {
		return v, fmt.Errorf("the vocabulary is empty")
	} else if limit := 2*n + 1<<16; int(top) > limit {
		return v, fmt.Errorf("the largest id is %d in a vocabulary of %d tokens; at most %d would be right", top, n, limit)
	}
	if total > maxTokenBytes {
		return v, fmt.Errorf("the tokens' texts have %d bytes; at most %d would be right", total, maxTokenBytes)
	}
	v.byID = make([]int32, top+1)
	for i, e := range entries {
		if other := v.byID[e.id]; other != 0 {
			return v, fmt.Errorf("id %d belongs to %.40q and to %.40q", e.id, texts[other-1], e.text)
		}
		v.byID[e.id] = int32(i) + 1
	}
	var err error
	v.trie, err = trie.New(texts)
	return v, err
}

// entry returns the token of an id, nil for an id that is not in use.
func (v *vocabulary) entry(id int32) *entry {
	if id < 0 || int(id) >= len(v.byID) || v.byID[id] == 0 {
		return nil
	}
	return &v.entries[v.byID[id]-1]
}

// find returns the token of an exact text, or nil.
func (v *vocabulary) find(text string) *entry {
	node, ok := v.walk(text)
	if !ok || v.trie.Key(node) < 0 {
		return nil
	}
	return &v.entries[v.trie.Key(node)]
}

// walk returns the trie's node of a text. ok is false if no token begins with the text.
func (v *vocabulary) walk(text string) (node uint32, ok bool) {
	for i := range len(text) {
		if node = v.trie.Child(node, text[i]); node == 0 {
			return 0, false
		}
	}
	return node, true
}

// ordinary returns the token that ends at a node. It returns nil if no token ends there, or one that the model does not make of text: a
// special token, an added one that its vocabulary lacks, or a byte's.
func (v *vocabulary) ordinary(node uint32) *entry {
	if i := v.trie.Key(node); i >= 0 && !v.entries[i].special && !v.entries[i].added && !v.entries[i].byte {
		return &v.entries[i]
	}
	return nil
}

// VocabSize returns the largest id plus one.
func (v *vocabulary) VocabSize() int { return len(v.byID) }

// IsSpecial reports whether id is a special token, which Decode skips.
func (v *vocabulary) IsSpecial(id int32) bool {
	e := v.entry(id)
	return e != nil && e.special
}

// ID returns the id of the token with this exact text; added tokens are included.
func (v *vocabulary) ID(text string) (int32, bool) {
	e := v.find(text)
	if e == nil {
		return 0, false
	}
	return e.id, true
}

// Text returns the text of a token as the vocabulary writes it, and "" for an id that is not in use.
func (v *vocabulary) Text(id int32) string {
	if e := v.entry(id); e != nil {
		return e.text
	}
	return ""
}
