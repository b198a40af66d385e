package llama

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
)

// freeWorld makes drafts cost nothing: whatever a drafter proposes is computed.
type freeWorld struct{ *draftStep }

func (freeWorld) passCost(int) time.Duration { return time.Second }

func (f freeWorld) ask(s *draftSource, most int) time.Duration {
	f.draftStep.ask(s, most)
	return 0
}

// prophet is a Drafter that knows what a conversation is going to be, and says so with a probability, at each token on its own: 1 for an
// oracle, 0 for an adversary. Below 0 it proposes tokens at random.
type prophet struct {
	text  []Token
	right float64
	vocab int
	*rand.Rand
}

func (p prophet) Draft(dst, context []Token) []Token {
	for range min(1+p.IntN(9), cap(dst)-len(dst)) {
		t := Token(p.IntN(p.vocab))
		if at := len(context) + len(dst); p.right >= 0 && at < len(p.text) {
			if t = p.text[at]; p.Float64() >= p.right {
				t = (t + 1) % Token(p.vocab)
			}
		}
		dst = append(dst, t)
	}
	return dst
}

// TestDraftsChangeNoBit computes answers of models with memories of every kind, without drafts, and then with those of an oracle, an adversary
// and others, alone and all together; among them answers that are drawn, that have forced tokens, and that have an adapter. The tokens and the
// saved states are the same bytes.
func TestDraftsChangeNoBit(t *testing.T) {
	effort.Turn(t, 4)
	for i, path := range []string{
		"pebble/hf", "families/qwen35", "families/qwen35moe", "families/lfm2", "families/granite4h", "families/falcon-h1", "families/nemotron-h-moe",
		"families/gemma2", "families/gemma4-e", "families/qwen3moe", "families/gptoss", "families/deepseek-v2-lite",
	} {
		m := mustLoad(t, fixture.Path(t, path), nil)
		settings := map[string]Params{"likeliest": {}, "drawn": {Temperature: 0.9, TopK: 40, Seed: 5}, "forced": {Constraint: &all{every: 7}, Temperature: 2, Seed: 6}}
		options := &SessionOptions{}
		if i == 0 {
			adapter, err := m.LoadAdapter("testdata/adapter")
			if err != nil {
				t.Fatal(err)
			}
			options.Adapter = adapter
		}
		for name, p := range settings {
			p.MaxTokens = 24
			if i == 0 { // which would end its answer at once
				p.Mask = LogitMaskFunc(func(_ []Token, logits []float32) error {
					for _, end := range m.ends {
						logits[end] = float32(math.Inf(-1))
					}
					return nil
				})
			}
			draftsChangeNoBit(t, path+", "+name, m, options, p)
		}
	}
}

func draftsChangeNoBit(t *testing.T, name string, m *Model, o *SessionOptions, p Params) {
	prompt := make([]Token, 20)
	for i := range prompt {
		prompt[i] = Token(i * 7919 % 251)
	}
	answer := func(d Drafter) (piece Piece, tokens []Token, state []byte) {
		s, err := m.NewSession(o)
		if err != nil {
			t.Error(err)
			return Piece{}, nil, nil
		}
		defer s.Close()
		s.call.drafting.world = freeWorld{&s.call.drafting.step}
		drafted := p
		drafted.Draft = d
		piece, err = Collect(s.Generate(t.Context(), prompt, drafted))
		var saved bytes.Buffer
		if err == nil {
			err = s.Save(&saved)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return piece, s.Tokens(), saved.Bytes()
	}
	_, text, state := answer(nil)
	rights := []float64{1, 0.5, 0, -1}
	compare := func(seed uint64, right float64) {
		got, tokens, bytesOf := answer(prophet{text, right, m.config.VocabSize, rand.New(rand.NewPCG(seed, 9))})
		if !slices.Equal(tokens, text) || !bytes.Equal(bytesOf, state) {
			t.Errorf("%s, right with %g: %v, want %v", name, right, tokens, text)
		}
		if s := got.Stats; s.DraftedTokens == 0 || right == 0 && s.AcceptedTokens > 0 || right == 1 && s.AcceptedTokens < s.GeneratedTokens/4 {
			t.Errorf("%s, right with %g: %v", name, right, s)
		}
	}
	compare(1, 0.5)
	var together sync.WaitGroup
	for i, right := range slices.Concat(rights, rights[:1]) {
		together.Go(func() { compare(uint64(2+i), right) })
	}
	together.Wait()
}
