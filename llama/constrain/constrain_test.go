package constrain_test

import (
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/flint"
)

func tokenizer(t testing.TB) *llama.Tokenizer {
	m, err := flintOnce()
	if err != nil {
		t.Fatal(err)
	}
	return m.Tokenizer()
}

// flintOnce loads a model for all tests.
var flintOnce = sync.OnceValues(func() (*llama.Model, error) { return flint.Load(nil) })

// newTokenizer returns a tokenizer that no other test has prepared anything for.
func newTokenizer(t testing.TB) *llama.Tokenizer {
	m, err := flint.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m.Tokenizer()
}

// A choice allows its options and nothing else, in any tokens.
func TestChoice(t *testing.T) {
	tok := tokenizer(t)
	c, err := constrain.Choice(tok, "yes", "yesterday", "no")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"yes": true, "yesterday": true, "no": true, "": false, "yest": false, "maybe": false, "yes ": false} {
		if got := accepts(t, tok, c, text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	again, err := constrain.Choice(tok, "yes", "yesterday", "no")
	if err != nil || again != c {
		t.Error("the same choice was compiled twice")
	}
	for _, bad := range [][]string{nil, {"\xff"}} {
		if _, err := constrain.Choice(tok, bad...); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// accepts reports whether a constraint allows a text, as the tokenizer writes it.
func accepts(t testing.TB, tok *llama.Tokenizer, c llama.Constraint, text string) bool {
	m, set := c.Start(), llama.NewTokenSet(tok.VocabSize())
	for _, token := range tok.EncodeContinuation(text) {
		if err := m.Allowed(set); err != nil {
			t.Fatal(err)
		}
		err := m.Accept(token)
		if set.Has(token) != (err == nil) {
			t.Fatalf("token %d: allowed %v, accepted: %v", token, set.Has(token), err)
		}
		if err != nil {
			return false
		}
	}
	if err := m.Allowed(set); err != nil {
		t.Fatal(err)
	}
	return set.End()
}
