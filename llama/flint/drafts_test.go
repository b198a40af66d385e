package flint_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
)

// bySkill takes the first conversation of each skill; with the portable kernels, which are slow, only of two skills.
func bySkill(t testing.TB) (list []conversation) {
	t.Helper()
	taken := map[string]bool{}
	for _, c := range readConversations(t, 1) {
		if !taken[c.Skill] && (asm.Tier() != "generic" || c.Skill == "edit" || c.Skill == "spell") {
			list = append(list, c)
		}
		taken[c.Skill] = true
	}
	return list
}

// prompt renders a conversation without its last message.
func (c conversation) prompt(t testing.TB) []llama.Token {
	t.Helper()
	tokens, err := model(t).Tokenizer().Template(messages(c.Messages[:len(c.Messages)-1]), llama.TemplateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// answer computes the answer to a prompt in an emptied session.
func answer(t testing.TB, s *llama.Session, prompt []llama.Token, p llama.Params) llama.Piece {
	t.Helper()
	if err := s.Truncate(0); err != nil {
		t.Fatal(err)
	}
	all, err := llama.Collect(s.Generate(context.Background(), prompt, p))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPromptLookupChangesNoAnswer asks the same with drafts and without, of every skill: the texts, tokens, probabilities, reasons
// to stop and evictions are the same. One drafter serves all, as it would serve a program.
func TestPromptLookupChangesNoAnswer(t *testing.T) {
	effort.Turn(t, 8)
	policy := func(name string) *llama.SessionOptions {
		p, err := eviction.ByName(name, eviction.Options{Budget: 48})
		if err != nil {
			t.Fatal(err)
		}
		return &llama.SessionOptions{Eviction: p}
	}
	drafter := llama.PromptLookup(llama.LookupOptions{})
	accepted := 0
	for i, c := range []struct {
		name    string
		options *llama.SessionOptions
		params  llama.Params
		copies  bool // answers copy their prompts: the model sees all of it and chooses the likeliest tokens
	}{
		{"greedy", nil, llama.Params{}, true},
		{"probabilities", nil, llama.Params{Logprobs: 3}, true},
		{"a limit", nil, llama.Params{MaxTokens: 7}, false},
		{"stop strings", nil, llama.Params{Stop: []string{" the ", "e,", "2", "\"name\""}}, false},
		{"sampled", nil, llama.Params{Temperature: 1.1, TopK: 40, TopP: 0.95, Seed: 7, Logprobs: 1, MaxTokens: 150}, false},
		{"penalties", nil, llama.Params{Temperature: 0.7, RepeatPenalty: 1.1, Seed: 8, MaxTokens: 100}, false},
		{"sliding", policy("sliding"), llama.Params{MaxTokens: 100, Logprobs: 1}, false},
		{"h2o", policy("h2o"), llama.Params{MaxTokens: 100, Temperature: 0.5, Seed: 9}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain, drafted := session(t, c.options), session(t, c.options)
			generated, evictions, edited := 0, 0, llama.Stats{}
			for j, conversation := range bySkill(t) {
				if (i+j)%effort.Of(3, 1, 1) != 0 && i > 0 {
					continue // another case's
				}
				prompt, p := conversation.prompt(t), c.params
				want := answer(t, plain, prompt, p)
				p.Draft = drafter
				got := answer(t, drafted, prompt, p)
				if got.Text != want.Text || !slices.Equal(got.Tokens, want.Tokens) || got.Stop != want.Stop {
					t.Fatalf("%s: with drafts %q (%v), without %q (%v)", conversation.Skill, got.Text, got.Stop, want.Text, want.Stop)
				}
				if !reflect.DeepEqual(got.Logprobs, want.Logprobs) {
					t.Fatalf("%s: the probabilities with drafts differ", conversation.Skill)
				}
				if !slices.Equal(plain.Tokens(), drafted.Tokens()) || plain.CacheLen() != drafted.CacheLen() {
					t.Fatalf("%s: with drafts the conversation has %d tokens in %d slots, without %d in %d",
						conversation.Skill, drafted.Position(), drafted.CacheLen(), plain.Position(), plain.CacheLen())
				}
				g, w := got.Stats, want.Stats
				if w.DraftedTokens != 0 || w.AcceptedTokens != 0 {
					t.Fatalf("%s: without a drafter %d tokens were drafted and %d accepted", conversation.Skill, w.DraftedTokens, w.AcceptedTokens)
				}
				if g.AcceptedTokens < 0 || g.AcceptedTokens > min(g.DraftedTokens, g.GeneratedTokens) || g.GeneratedTokens != w.GeneratedTokens ||
					g.Evictions != w.Evictions || g.EvictedSlots != w.EvictedSlots {
					t.Fatalf("%s: with drafts %+v, without %+v", conversation.Skill, g, w)
				}
				generated, evictions = generated+g.GeneratedTokens, evictions+g.Evictions
				if conversation.Skill == "edit" {
					edited.GeneratedTokens += g.GeneratedTokens
					edited.DraftedTokens += g.DraftedTokens
					edited.AcceptedTokens += g.AcceptedTokens
				}
			}
			t.Logf("%d tokens, %d evictions; edits: %d tokens, %d drafted, %d accepted",
				generated, evictions, edited.GeneratedTokens, edited.DraftedTokens, edited.AcceptedTokens)
			if c.copies && edited.AcceptedTokens < edited.DraftedTokens/3 {
				t.Errorf("of %d tokens that were drafted for edits %d were accepted, want a third", edited.DraftedTokens, edited.AcceptedTokens)
			}
			accepted += edited.AcceptedTokens
			if c.options != nil && evictions == 0 {
				t.Error("nothing was evicted: the case tests nothing")
			}
		})
	}
	if accepted == 0 {
		t.Error("no draft was accepted: the test tests nothing")
	}
}

// BenchmarkPromptLookup answers questions without drafts and with them, in turn, and reports the rates of generating and the median of the
// rounds' speedups. Edits copy their prompts; the other answers copy next to nothing. Stories are drawn anew in each round.
func BenchmarkPromptLookup(b *testing.B) {
	beginnings := []string{"Once upon a time", "One day", "The old baker"} // of stories
	for _, kind := range []struct {
		name   string
		skills []string // each asks some questions in a round; empty: stories
		each   int
		params llama.Params
	}{
		{"edits", []string{"edit"}, 8, llama.Params{}},
		{"questions", []string{"arithmetic", "compare", "spell", "sortnum", "numword", "capital", "hello", "opposite"}, 2, llama.Params{}},
		{"stories", nil, 0, llama.Params{MaxTokens: 150, Temperature: 1}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			var prompts [][]llama.Token
			taken := map[string]int{}
			for _, c := range readConversations(b, 1) {
				if slices.Contains(kind.skills, c.Skill) && taken[c.Skill] < kind.each {
					taken[c.Skill]++
					prompts = append(prompts, c.prompt(b))
				}
			}
			if kind.skills == nil {
				for _, text := range beginnings {
					prompts = append(prompts, model(b).Tokenizer().EncodeSpecial(text, true))
				}
			}
			sessions := [2]*llama.Session{session(b, nil), session(b, nil)}
			drafters := [2]llama.Drafter{nil, llama.PromptLookup(llama.LookupOptions{})}
			var total [2]llama.Stats
			var ratios []float64
			for round := 0; b.Loop(); round++ {
				var took [2]time.Duration
				for i, prompt := range prompts {
					for turn := range 2 {
						which := (turn + i + round) % 2
						p := kind.params
						p.Seed, p.Draft = uint64(round), drafters[which]
						stats := answer(b, sessions[which], prompt, p).Stats
						took[which] += stats.DecodeTime
						total[which].GeneratedTokens += stats.GeneratedTokens
						total[which].DecodeTime += stats.DecodeTime
					}
				}
				ratios = append(ratios, took[0].Seconds()/took[1].Seconds())
			}
			slices.Sort(ratios)
			b.ReportMetric(total[0].DecodeRate(), "tokens/s")
			b.ReportMetric(total[1].DecodeRate(), "drafting-tokens/s")
			b.ReportMetric(ratios[len(ratios)/2], "times-as-fast")
		})
	}
}
