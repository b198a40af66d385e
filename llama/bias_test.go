package llama_test

import (
	"errors"
	"math"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// TestLogitBias forbids what the model would say, and makes another token certain.
func TestLogitBias(t *testing.T) {
	m, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	ask := func(p llama.Params) llama.Piece {
		t.Helper()
		p.MaxTokens = 3
		piece, err := llama.Collect(s.Chat(t.Context(), history, p))
		if err != nil {
			t.Fatal(err)
		}
		return piece
	}
	first := ask(llama.Params{}).Tokens[0]
	forbidden := map[llama.Token]float32{first: float32(math.Inf(-1))}
	if again := ask(llama.Params{LogitBias: forbidden}).Tokens[0]; again == first {
		t.Errorf("%d was chosen though it is forbidden", first)
	}
	certain := m.Tokenizer().Encode("X")[0]
	for _, p := range []llama.Params{{}, {Temperature: 1, Seed: 3}, {TopK: 2, Temperature: 1}, {Draft: llama.PromptLookup(llama.LookupOptions{})}} {
		p.LogitBias = map[llama.Token]float32{certain: 100, first: -1}
		for _, token := range ask(p).Tokens {
			if token != certain {
				t.Errorf("%+v: token %d, want %d", p, token, certain)
			}
		}
	}
	size := llama.Token(m.Tokenizer().VocabSize())
	for token, v := range map[llama.Token]float32{-1: 1, size: 1, 0: float32(math.NaN()), 1: float32(math.Inf(1))} {
		_, err := llama.Collect(s.Chat(t.Context(), history, llama.Params{LogitBias: map[llama.Token]float32{token: v}}))
		if !errors.As(err, new(*llama.ParamError)) {
			t.Errorf("%d, %v: %v", token, v, err)
		}
	}
}
