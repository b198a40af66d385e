package llama_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
)

// TestDeviceLostWithDrafts loses the device at calls of an answer with a guesser's drafts, right and wrong ones: while several tokens are
// computed, while wrong ones are undone, while the rest is computed again. As long as nothing was evicted, the answer and the state
// afterwards are those of a session without a move and without drafts.
func TestDeviceLostWithDrafts(t *testing.T) {
	effort.Turn(t, 8)
	fault := lossy()
	m, other := pebbleModel(t), otherModel(t, backendtest.NewDevice(cpu.New(1), fault.Before))
	prompt, err := m.Tokenizer().Template(story, llama.TemplateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := llama.Params{MaxTokens: 12, Temperature: 0.5, Seed: 3}
	drafts, accepted := 0, 0
	for name, options := range evictors(t, 100) {
		base := newSession(t, m, options)
		if err := base.Prefill(t.Context(), prompt); err != nil {
			t.Fatal(err)
		}
		plain := fork(t, base)
		answer, err := llama.Collect(plain.Generate(t.Context(), nil, p))
		if err != nil {
			t.Fatal(err)
		}
		went, state := plain.Tokens(), save(t, plain)
		for _, readable := range []bool{true, false} {
			spare(fault, readable)
			for calls, lost := 0, true; lost; calls += stride(37) {
				lost = lose(t, base, other, fault, calls, func(s *llama.Session) {
					drafted := p
					drafted.Draft = &guesser{went, rand.New(rand.NewPCG(uint64(calls), 7))}
					got, err := llama.Collect(s.Generate(t.Context(), nil, drafted))
					drafts, accepted = drafts+got.Stats.DraftedTokens, accepted+got.Stats.AcceptedTokens
					if !fault.Struck() {
						fault.Disarm()
					}
					if err != nil || !slices.Equal(got.Tokens, answer.Tokens) || !bytes.Equal(save(t, s), state) {
						t.Errorf("%s, readable %v, lost at call %d: %v, want %v: %v", name, readable, calls, got.Tokens, answer.Tokens, err)
					}
				})
			}
		}
	}
	if asm.Tier() != "generic" && (accepted == 0 || accepted == drafts) { // with portable kernels drafts do not pay
		t.Errorf("of %d drafted tokens %d were accepted: neither is tried", drafts, accepted)
	}
}
