package llama_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// programFamilies are the families of the sessions that play random programs: layers with and without a window that rotate otherwise,
// queries that are scaled by their positions, layers of Granite 4, layers with states, experts with and without a shared one, and with
// sinks, caches of several sizes that layers share.
var programFamilies = []string{"olmo3", "ministral3", "granite4-micro", "gemma3", "gemma2", "qwen35", "lfm2", "granite4h", "granite4h-moe", "nemotron-h-latent", "falcon-h1", "glm4moelite", "cohere2", "qwen3moe", "glm4moe", "gptoss",
	"gemma4-e", "gemma3n", "gemma4-dense", "gemma4-moe"}

// recurrentFamilies are those with layers that have a state: the gated delta rule, short convolutions and Mamba 2.
var recurrentFamilies = []string{"qwen35", "lfm2", "granite4h", "granite4h-moe", "nemotron-h-latent", "falcon-h1"}

// unlikeFamilies remember a conversation in another way than Llama: with states, or with caches of several sizes that layers share, next to
// experts too.
var unlikeFamilies = slices.Concat(recurrentFamilies, []string{"gemma4-e", "gemma3n", "gemma4-moe"})

// familyProgram plays random calls of a session of any family. It keeps no account of slots as program does, but compares with fresh sessions.
type familyProgram struct {
	testing.TB
	model   *llama.Model
	options *llama.SessionOptions
	random  *rand.Rand
	session *llama.Session
}

// some makes tokens.
func (p *familyProgram) some() []llama.Token {
	tokens := make([]llama.Token, p.random.IntN(40))
	for i := range tokens {
		tokens[i] = llama.Token(p.random.IntN(5) * 61) // few different ones, so that drafts are found
	}
	return tokens
}

// must ends the test if a call failed.
func (p *familyProgram) must(what string, err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("%s after %d tokens: %v", what, len(p.session.Tokens()), err)
	}
}

// replace goes on with another session, and closes the one before.
func (p *familyProgram) replace(s *llama.Session) {
	p.must("close", p.session.Close())
	p.session = s
}

// step plays one call.
func (p *familyProgram) step() {
	switch p.random.IntN(6) {
	case 0:
		p.must("prefill", p.session.Prefill(p.Context(), p.some()))
	case 1: // an answer with drafts, which may be broken off
		params := llama.Params{MaxTokens: 1 + p.random.IntN(20), Temperature: 0.1, Seed: p.random.Uint64(), Draft: llama.PromptLookup(llama.LookupOptions{})}
		left := p.random.IntN(30)
		for _, err := range p.session.Generate(p.Context(), append(p.some(), 7), params) {
			p.must("generate", err)
			if left--; left == 0 {
				break
			}
		}
	case 2: // one token at a time
		for _, token := range p.some() {
			p.must("prefill", p.session.Prefill(p.Context(), []llama.Token{token}))
		}
	case 3:
		if n := len(p.session.Tokens()) - p.random.IntN(6); n >= 0 {
			p.must("truncate", p.session.Truncate(n))
		}
	case 4:
		restored, err := p.model.Restore(bytes.NewReader(save(p, p.session)), p.options)
		p.must("restore", err)
		p.replace(restored)
	case 5: // the copy goes on, and the original no more, though it did meanwhile
		fork, err := p.session.Fork()
		p.must("fork", err)
		p.must("prefill of the original", p.session.Prefill(p.Context(), p.some()))
		p.replace(fork)
	}
}

// compare lets a fresh session read the tokens, and one token more on both sides.
func (p *familyProgram) compare() {
	p.Helper()
	fresh := newSession(p, p.model, p.options)
	defer fresh.Close()
	p.must("prefill anew", fresh.Prefill(p.Context(), append(slices.Clone(p.session.Tokens()), 5)))
	p.must("prefill", p.session.Prefill(p.Context(), []llama.Token{5}))
	if !slices.Equal(logitsOf(fresh), logitsOf(p.session)) {
		p.Fatalf("after %d tokens the logits are not those of a session that did nothing else", len(p.session.Tokens()))
	}
}

// TestFamilyPrograms plays programs of several sessions at once, in each other's company: their logits are those of fresh sessions.
// Unless the tests are long, a third of them has their turn.
func TestFamilyPrograms(t *testing.T) {
	effort.Turn(t, 8)
	for number, family := range programFamilies {
		t.Run(family, func(t *testing.T) {
			m := familyModel(t, family, nil)
			options := []*llama.SessionOptions{{Chunk: 5}, {KV: tensor.F32}, {Chunk: 33}, {KV: tensor.F32, Chunk: 1}}
			if slices.Contains(recurrentFamilies, family) {
				options = append(options, &llama.SessionOptions{Snapshots: 2, SnapshotEvery: 7, SaveSnapshots: true}, &llama.SessionOptions{Snapshots: llama.NoSnapshots})
			}
			for i, o := range options {
				if !effort.Share(number+i, 6) {
					continue
				}
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					t.Parallel()
					p := &familyProgram{TB: t, model: m, options: o, random: rand.New(rand.NewPCG(uint64(i), 9))}
					p.session = newSession(t, m, o)
					defer func() { p.session.Close() }()
					for range 6 {
						for range 5 {
							p.step()
						}
						p.compare()
					}
				})
			}
		})
	}
}
