package constrain

import (
	"bytes"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/jsontext"
	"github.com/antigravity-go/antigravity/internal/regular"
	"github.com/antigravity-go/antigravity/internal/tokenmask"
	"github.com/antigravity-go/antigravity/llama"
)

// vocabulary is what constraints for a tokenizer share.
type vocabulary struct {
	*tokenmask.Vocabulary
	base         *jsontext.Language // what every constraint begins with
	beside       regular.Expr       // in base: text that holds no call of a function, None where the model does not call any
	leadingSpace bool               // the tokenizer puts a space before the first word of a text
	compiled     cache
}

// vocabularyKey is the key of a tokenizer's vocabulary.
type vocabularyKey struct{}

// vocabularyOf returns the vocabulary of a tokenizer. Making it takes some 300 ms for 100,000 tokens, once.
func vocabularyOf(t *llama.Tokenizer) *vocabulary {
	return t.Derive(vocabularyKey{}, func() any { return newVocabulary(t) }).(*vocabulary)
}

// newVocabulary makes the vocabulary of a tokenizer.
func newVocabulary(t *llama.Tokenizer) *vocabulary {
	added := map[llama.Token]bool{}
	for _, token := range t.AddedTokens() {
		added[token] = true
	}
	text := func(id int32) []byte {
		if token := llama.Token(id); !added[token] && !t.Special(token) {
			return t.AppendBytes(nil, token)
		}
		return nil
	}
	encode := func(text string) []int32 {
		var ids []int32
		for _, token := range t.EncodeContinuation(text) {
			ids = append(ids, int32(token))
		}
		return ids
	}
	l := jsontext.New()
	beside := textBeside(l, calls.Format(t.CallFormat()).Family())
	v := &vocabulary{
		Vocabulary: tokenmask.New(t.VocabSize(), text, func(id int32) bool { return added[llama.Token(id)] }, encode, l.Arena,
			l.Arena.Next(l.String, '"'), l.Arena.Next(l.CanonicalString, '"'), l.Text),
		base: l, beside: beside,
	}
	own := l.Clone()
	quote := own.Arena.Literal(`"`)
	v.Prepare(own.Arena, own.Arena.Concat(own.Arena.Repeat(own.Char, 0, 9), quote), own.Arena.Concat(own.Arena.Repeat(own.Canonical, 0, 9), quote))
	if first := t.Encode("a"); len(first) > 0 {
		v.leadingSpace = bytes.HasPrefix(t.AppendBytes(nil, first[0]), []byte(" "))
	}
	return v
}
