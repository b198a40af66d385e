package llama_test

import (
	"errors"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

// TestSelfDraftNeedsAHead asks a model for drafts of its own that has no head for them, alone and in a pool.
func TestSelfDraftNeedsAHead(t *testing.T) {
	m, p := pebbleModel(t), llama.Params{MaxTokens: 2, Draft: llama.SelfDraft()}
	if m.DraftsItself() {
		t.Error("Pebble has a head that predicts further tokens")
	}
	_, alone := llama.Collect(newSession(t, m, nil).Generate(t.Context(), []llama.Token{1}, p))
	pool, err := m.NewPool(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	_, together := llama.Collect(pool.Generate(t.Context(), []llama.Token{1}, p))
	for _, err := range []error{alone, together} {
		var wrong *llama.ParamError
		if !errors.As(err, &wrong) || wrong.Field != "Params.Draft" {
			t.Errorf("the error is %v", err)
		}
	}
}
