package constrain

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"weak"

	"github.com/antigravity-go/antigravity/internal/tokenmask"
	"github.com/antigravity-go/antigravity/llama"
)

// tokens holds the tokens of each vocabulary that a tokenizer in use has, by its fingerprint: tokenizers with equal vocabularies share them.
// A vocabulary is gone with the last of its tokenizers. No result depends on it.
var tokens struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]weak.Pointer[tokenmask.Vocabulary]
}

// tokensOf returns the tokens of a tokenizer's vocabulary.
func tokensOf(t *llama.Tokenizer) *tokenmask.Vocabulary {
	key := fingerprint(t)
	tokens.mu.Lock()
	defer tokens.mu.Unlock()
	if v := tokens.known[key].Value(); v != nil {
		return v
	}
	v := newTokens(t)
	if tokens.known == nil {
		tokens.known = map[[sha256.Size]byte]weak.Pointer[tokenmask.Vocabulary]{}
	}
	tokens.known[key] = weak.Make(v)
	runtime.AddCleanup(v, func(key [sha256.Size]byte) {
		tokens.mu.Lock()
		defer tokens.mu.Unlock()
		if tokens.known[key].Value() == nil {
			delete(tokens.known, key)
		}
	}, key)
	return v
}

// newTokens makes the tokens of a tokenizer's vocabulary.
func newTokens(t *llama.Tokenizer) *tokenmask.Vocabulary {
	added := addedTokens(t)
	text := func(dst []byte, id int32) []byte {
		if token := llama.Token(id); !added[token] && !t.Special(token) {
			return t.AppendBytes(dst, token)
		}
		return dst
	}
	return tokenmask.New(t.VocabSize(), text, func(id int32) bool { return added[llama.Token(id)] })
}
