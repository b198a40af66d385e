package bpe

import (
	"fmt"
	"hash/maphash"
	"math/bits"

	"github.com/antigravity-go/antigravity/internal/bytefallback"
)

// The table maps the bytes of a token to its id: open addressing, with the upper half of the hash in each slot, so that hardly any wrong
// slot needs its bytes compared. For example, if the hashes of the tokens "a" and "the" both end in the bits 11,
//
//	blob    athe
//	spans   0: [0, 1)   1: [1, 4)
//	slots   0: "the"    1: free     2: free   3: "a"
//
// To look up "the", slot 3 is tried first, since the hash ends in 11. Its upper half is that of "a". Slot 0 comes next: it has the right
// half and the right bytes. A look-up that comes to a free slot has found no token.

// maxID bounds token ids; no vocabulary comes near it.
const maxID = 1 << 24

// A flag says what a token is. An id without flags is not in use.
type flag uint8

const (
	inUse    flag = 1 << iota
	special       // skipped by Decode, never the encoding of text
	literal       // its text lies in vocabulary.literals, because the codec cannot give it back
	byteOnly      // SentencePiece's <0xNN>, which stands for a byte that no other token holds
)

// vocabulary is the set of tokens. It keeps the bytes that tokens stand for in one block, and finds a token by its bytes
// through a hash table with open addressing, so that looking a word up allocates nothing and touches little memory.
//
// Invariants: a token that is literal is in literals and, if its text is not empty, in ids; every other token is in the
// table; no two tokens have the same text. len(slots) is a power of two, and at least a third of the slots are free.
type vocabulary struct {
	codec
	tokens   int              // how many there are
	blob     []byte           // the bytes that the tokens stand for
	spans    []span           // by id: the place of the token's bytes in blob
	flags    []flag           // by id
	literals map[int32]string // by id: the texts of literal tokens
	ids      map[string]int32 // by text: the literal tokens
	bytes    [256]int32       // by byte: the byteOnly token that encoding uses for it, or -1

	slots   []slot // the table
	seed    maphash.Seed
	longest int // the most bytes that a token of the table stands for
}

// span is the bytes [start, end) of the blob.
type span struct{ start, end uint32 }

// slot is a slot of the table.
type slot struct {
	hash uint32 // of the token's bytes: the upper half
	id   int32  // plus one; 0 for a free slot
}

// token is a token on its way into a vocabulary.
type token struct {
	id int32
	span
	flag
}

// builder collects tokens in any order; index then makes the vocabulary of them.
type builder struct {
	vocabulary // without spans, flags and the table
	list       []token
	top        int32 // largest id so far
}

func newBuilder(c codec) *builder {
	b := &builder{vocabulary: vocabulary{codec: c, literals: map[int32]string{}, ids: map[string]int32{}}}
	for i := range b.bytes {
		b.bytes[i] = -1
	}
	return b
}

// add adds a token. A text that is not of the codec's form stands for its own bytes, and so does, at byte level, one with the flag literal: an
// added token is looked for in the text as it is written. "café" is the added word café, though é is also how the byte alphabet writes 0xE9.
func (b *builder) add(id int32, text []byte, f flag) error {
	if id < 0 || id >= maxID {
		return fmt.Errorf("token %.40q has id %d; ids go from 0 to %d", text, id, maxID-1)
	}
	start := len(b.blob)
	if c, ok := bytefallback.Byte(text); f&byteOnly != 0 && ok {
		b.blob = append(b.blob, c)
		if text[3] < 'a' && text[4] < 'a' { // encoding writes upper case; a lower-case twin only decodes
			b.bytes[c] = id
		}
		f |= literal
	} else if bytes, ok := b.appendBytes(b.blob, text); ok && len(text) > 0 && (f&literal == 0 || b.codec != byteLevel) {
		b.blob = bytes
	} else {
		b.blob = append(b.blob, text...)
		f |= literal
	}
	if f&literal != 0 {
		b.literals[id] = string(text)
	}
	if int64(len(b.blob)) > 1<<32-1 {
		return fmt.Errorf("the tokens' texts exceed 4 GiB")
	}
	b.list = append(b.list, token{id, span{uint32(start), uint32(len(b.blob))}, f | inUse})
	b.top = max(b.top, id)
	return nil
}

// index returns the vocabulary of the tokens that were added, which look-ups by id and by text need; the builder must not be
// used after it.
func (b *builder) index() (*vocabulary, error) {
	v := &b.vocabulary
	n := len(b.list)
	v.tokens = n
	if n == 0 {
		return nil, fmt.Errorf("the vocabulary is empty")
	}
	if limit := 2*n + 1<<16; int(b.top) > limit {
		return nil, fmt.Errorf("the largest id is %d in a vocabulary of %d tokens; at most %d would be right", b.top, n, limit)
	}
	v.spans = make([]span, b.top+1)
	v.flags = make([]flag, b.top+1)
	v.seed = maphash.MakeSeed()
	v.slots = make([]slot, 1<<bits.Len(uint(n+n/2)))
	for _, t := range b.list {
		if v.flags[t.id] != 0 {
			return nil, fmt.Errorf("id %d belongs to %.40q and to %.40q", t.id, v.text(t.id), b.textOf(t))
		}
		v.spans[t.id], v.flags[t.id] = t.span, t.flag
		if err := v.insert(t); err != nil {
			return nil, err
		}
	}
	for b, id := range v.bytes {
		if v.has(id, special) { // text never becomes a special token
			v.bytes[b] = -1
		}
	}
	for text, id := range v.ids {
		if twin, ok := v.plain([]byte(text)); ok {
			return nil, fmt.Errorf("%.40q is token %d and token %d", text, twin, id)
		}
	}
	return v, nil
}

// textOf returns the text of a token that is not indexed yet.
func (b *builder) textOf(t token) string {
	if t.flag&literal != 0 {
		return b.literals[t.id]
	}
	return string(b.appendText(nil, b.blob[t.start:t.end]))
}

// insert makes a token findable by its text. GGUF files may hold several tokens without one.
func (v *vocabulary) insert(t token) error {
	if t.flag&literal != 0 {
		text := v.literals[t.id]
		if text == "" {
			return nil
		}
		if id, ok := v.ids[text]; ok {
			return fmt.Errorf("%.40q is token %d and token %d", text, id, t.id)
		}
		v.ids[text] = t.id
		return nil
	}
	key := string(v.blob[t.start:t.end])
	s, hash := v.find(key)
	if s.id != 0 {
		return fmt.Errorf("%.40q is token %d and token %d", v.text(t.id), s.id-1, t.id)
	}
	*s = slot{hash, t.id + 1}
	v.longest = max(v.longest, len(key))
	return nil
}

// find returns the slot of the token that stands for key, or the free slot in which it belongs.
func (v *vocabulary) find(key string) (*slot, uint32) {
	h := maphash.String(v.seed, key)
	hash, mask := uint32(h>>32), uint64(len(v.slots)-1)
	for i := h; ; i++ {
		s := &v.slots[i&mask]
		if s.id == 0 || s.hash == hash && string(v.bytesOf(s.id-1)) == key {
			return s, hash
		}
	}
}

// lookup returns the token that stands for the bytes of key, for encoding: it finds no special tokens.
func (v *vocabulary) lookup(key string) (id int32, ok bool) {
	if len(key) > v.longest {
		return 0, false
	}
	s, _ := v.find(key)
	id = s.id - 1
	return id, s.id != 0 && v.flags[id]&special == 0
}

// id returns the token of an exact text, special or not.
func (v *vocabulary) id(text []byte) (id int32, ok bool) {
	if id, ok := v.plain(text); ok {
		return id, true
	}
	id, ok = v.ids[string(text)]
	return id, ok
}

// plain is id for the tokens that are not literal.
func (v *vocabulary) plain(text []byte) (id int32, ok bool) {
	var buf [64]byte
	key, ok := v.appendBytes(buf[:0], text)
	if !ok || len(key) > v.longest {
		return 0, false
	}
	s, _ := v.find(string(key))
	return s.id - 1, s.id != 0
}

// bytesOf returns the bytes that a token stands for, or nil for an id that is not in use.
func (v *vocabulary) bytesOf(id int32) []byte {
	if id < 0 || int(id) >= len(v.spans) {
		return nil
	}
	s := v.spans[id]
	return v.blob[s.start:s.end]
}

// text returns a token's text as the vocabulary writes it.
func (v *vocabulary) text(id int32) string {
	if v.has(id, literal) {
		return v.literals[id]
	}
	return string(v.appendText(nil, v.bytesOf(id)))
}

// has reports whether id is in use and has the flag.
func (v *vocabulary) has(id int32, f flag) bool {
	return id >= 0 && int(id) < len(v.flags) && v.flags[id]&f != 0
}
