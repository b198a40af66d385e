package constrain

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// Tokenizers with equal vocabularies share their tokens, which are gone with the last of them.
func TestTokensAreShared(t *testing.T) {
	data, err := os.ReadFile(fixture.Path(t, "pebble/hf/tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json") // a vocabulary that no other test has
	data = bytes.ReplaceAll(data, []byte("<|end_of_text|>"), []byte("<|no_more_text|>"))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	load := func() *llama.Tokenizer {
		loaded, err := llama.LoadTokenizer(path)
		if err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	first, second := load(), load()
	key := fingerprint(first)
	v := vocabularyOf(first)
	if v.Vocabulary != vocabularyOf(second).Vocabulary {
		t.Error("equal vocabularies do not share their tokens")
	}
	v = nil
	known := func() bool {
		runtime.GC()
		tokens.mu.Lock()
		defer tokens.mu.Unlock()
		_, ok := tokens.known[key]
		return ok
	}
	runtime.KeepAlive(first)
	if first = nil; !known() {
		t.Error("the tokens are gone before the last tokenizer")
	}
	runtime.KeepAlive(second)
	for second = nil; known(); { // cleanups run after a collection, on a goroutine of their own; go test ends what never ends
		runtime.Gosched()
	}
}
