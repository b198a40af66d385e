package constrain

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/regular"
	"github.com/antigravity-go/antigravity/internal/tokenmask"
	"github.com/antigravity-go/antigravity/llama"
)

// vocabulary is what constraints for a tokenizer share.
type vocabulary struct {
	*tokenmask.Vocabulary
	encode       func(text string) []int32
	base         *jsonexpr.Language // what every constraint begins with
	beside       regular.Expr       // in base: text that holds no call of a function, regular.None if the model calls no functions
	leadingSpace bool               // the tokenizer puts a space before the first word of a text
	compiled     cache
}

// vocabularyKey is the key of a tokenizer's vocabulary.
type vocabularyKey struct{}

// vocabularyOf returns the vocabulary of a tokenizer. Making it takes some 100 ms for 100,000 tokens, once.
func vocabularyOf(t *llama.Tokenizer) *vocabulary {
	return t.Cached(vocabularyKey{}, func() any { return newVocabulary(t) }).(*vocabulary)
}

// newVocabulary makes the vocabulary of a tokenizer.
func newVocabulary(t *llama.Tokenizer) *vocabulary {
	l := jsonexpr.New()
	beside := textBeside(l, calls.Format(t.CallFormat()).Family())
	encode := func(text string) []int32 {
		var ids []int32
		for _, token := range t.EncodeContinuation(text) {
			ids = append(ids, int32(token))
		}
		return ids
	}
	return &vocabulary{Vocabulary: tokensOf(t), encode: encode, base: l, beside: beside, leadingSpace: leadingSpace(t), compiled: cache{most: maxBytes}}
}

// MemoryUsage returns the bytes that the vocabulary takes, with the constraints that are remembered: llama.Model.MemoryUsage counts them.
func (v *vocabulary) MemoryUsage() int64 { return int64(v.Held()) + v.compiled.bytes() }

// leadingSpace reports whether the tokenizer puts a space before the first word of a text.
func leadingSpace(t *llama.Tokenizer) bool {
	first := t.Encode("a")
	return len(first) > 0 && bytes.HasPrefix(t.AppendBytes(nil, first[0]), []byte(" "))
}

func addedTokens(t *llama.Tokenizer) map[llama.Token]bool {
	added := map[llama.Token]bool{}
	for _, token := range t.AddedTokens() {
		added[token] = true
	}
	return added
}

// fingerprintKey is the key of a vocabulary's fingerprint.
type fingerprintKey struct{}

// fingerprint returns a number that tokenizers have in common if a constraint for one of them is right for the other: if the same numbers
// stand for the same texts, and the same ones for no text. Making it takes some 10 ms for 100,000 tokens, once.
func fingerprint(t *llama.Tokenizer) [sha256.Size]byte {
	return t.Cached(fingerprintKey{}, func() any {
		added, all := addedTokens(t), sha256.New()
		entry := []byte{0}
		if leadingSpace(t) {
			entry[0] = 1
		}
		all.Write(entry)
		for token := range llama.Token(t.VocabSize()) {
			entry = append(entry[:0], 0, 0, 0, 0, 0)
			if added[token] {
				entry[4] |= 1
			}
			if t.Special(token) {
				entry[4] |= 2
			}
			entry = t.AppendBytes(entry, token)
			binary.LittleEndian.PutUint32(entry, uint32(len(entry)))
			all.Write(entry)
		}
		return [sha256.Size]byte(all.Sum(nil))
	}).([sha256.Size]byte)
}
