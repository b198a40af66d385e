package llama_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

// TestScopesShareNothing asks for one prompt in two scopes, one after the other and both at once: no figure of an answer depends on the
// other scope.
func TestScopesShareNothing(t *testing.T) {
	m := pebbleModel(t)
	p := newPool(t, m, nil)
	prompt := stream(200)
	reused := func(scope string, prompt []llama.Token) int {
		t.Helper()
		return poolAnswer(t, p, prompt, llama.Params{MaxTokens: 2, Scope: scope, Mask: endless{m}}).Stats.ReusedTokens
	}
	for _, c := range []struct {
		scope  string
		prompt []llama.Token
		want   int
	}{
		{"alice", prompt[:100], 0},
		{"bob", prompt[:100], 0},    // idle conversations are not forked
		{"bob", prompt[:150], 100},  // but in their own scope
		{"", prompt[:150], 0},       // no scope is a scope like any other
		{"alice", prompt[:100], 99}, // bob's longer conversation did not make alice's superfluous
		{"carol", prompt, 0},        // nor are they taken as a whole
		{"alice", slices.Concat(prompt[:100], prompt[:50]), 100},
	} {
		if got := reused(c.scope, c.prompt); got != c.want {
			t.Errorf("%q reused %d of %d tokens, want %d", c.scope, got, len(c.prompt), c.want)
		}
	}
}

// TestScopesDoNotWaitForEachOther computes one prompt in several scopes at the same time: each computes all of it.
func TestScopesDoNotWaitForEachOther(t *testing.T) {
	m := pebbleModel(t)
	p := newPool(t, m, &llama.PoolOptions{Session: llama.SessionOptions{Chunk: 64}})
	scopes := []string{"a", "b", "c", ""}
	var running sync.WaitGroup
	for _, scope := range scopes {
		running.Go(func() {
			piece, err := llama.Collect(p.Generate(t.Context(), stream(300), llama.Params{MaxTokens: 1, Scope: scope}))
			if err != nil || piece.Stats.ReusedTokens != 0 {
				t.Errorf("%q: %d tokens reused, %v", scope, piece.Stats.ReusedTokens, err)
			}
		})
	}
	running.Wait()
	if s := p.Stats(); s.ReusedTokens != 0 || s.ComputedTokens != int64(300*len(scopes)) {
		t.Errorf("%+v", s)
	}
}
