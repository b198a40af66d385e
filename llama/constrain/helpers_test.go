package constrain_test

import (
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// loadPebble reads Pebble's vocabulary once for all tests: preparations are kept with a Tokenizer.
var loadPebble = sync.OnceValues(func() (*llama.Tokenizer, error) { return llama.LoadTokenizer(pebblePath) })

var pebblePath string

// pebbleTokenizer returns Pebble's vocabulary of 4,096 tokens.
func pebbleTokenizer(t testing.TB) *llama.Tokenizer {
	t.Helper()
	pebblePath = fixture.Path(t, "pebble/hf/tokenizer.json")
	tokenizer, err := loadPebble()
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}
