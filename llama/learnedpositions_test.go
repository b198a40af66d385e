package llama_test

import (
	"errors"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

// A model that adds learned positions to embeddings gives no new positions to tokens, and says so before it computes anything.
func TestLearnedPositionsStay(t *testing.T) {
	m := familyModel(t, "gpt-bigcode", nil)
	if _, err := m.NewSession(states(t)["reanchored"]); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a session whose tokens get new positions: %v", err)
	}
	s := newSession(t, m, &llama.SessionOptions{Capacity: 64})
	if err := s.Prefill(t.Context(), shortStream(40)); err != nil {
		t.Fatal(err)
	}
}
