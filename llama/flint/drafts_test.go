package flint_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/llama"
)

// eager is a Drafter that asks for the proposals of another one and is known to take no time at all, so that what it proposes is
// computed wherever rows cost little. It counts the calls.
type eager struct {
	llama.Drafter
	calls int
}

func (e *eager) Draft(dst, context []llama.Token) []llama.Token {
	e.calls++
	return e.Drafter.Draft(dst, context)
}

// bySkill takes up to n conversations of each skill, in order. The portable kernels take too long for more than one, and for those
// that have long prompts.
func bySkill(t testing.TB, n int) (list []conversation) {
	t.Helper()
	slow := asm.Tier() == "generic"
	if slow {
		n = 1
	}
	taken := map[string]int{}
	for _, c := range readConversations(t, 1) {
		if taken[c.Skill]++; taken[c.Skill] <= n && !(slow && strings.HasPrefix(c.Skill, "needle")) {
			list = append(list, c)
		}
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
	policy := func(name string) *llama.SessionOptions {
		p, err := eviction.ByName(name, eviction.Options{Budget: 48})
		if err != nil {
			t.Fatal(err)
		}
		return &llama.SessionOptions{Eviction: p}
	}
	drafter := &eager{Drafter: llama.PromptLookup(llama.LookupOptions{})}
	for _, c := range []struct {
		name    string
		n       int // conversations of each skill
		options *llama.SessionOptions
		params  llama.Params
		copies  bool // answers copy their prompts: the model sees all of it and chooses the likeliest tokens
	}{
		{"greedy", 2, nil, llama.Params{}, true},
		{"probabilities", 1, nil, llama.Params{Logprobs: 3}, true},
		{"a limit", 1, nil, llama.Params{MaxTokens: 7}, false},
		{"stop strings", 1, nil, llama.Params{Stop: []string{" the ", "e,", "2", "\"name\""}}, false},
		{"sampled", 2, nil, llama.Params{Temperature: 1.1, TopK: 40, TopP: 0.95, Seed: 7, Logprobs: 1, MaxTokens: 150}, false},
		{"penalties", 1, nil, llama.Params{Temperature: 0.7, RepeatPenalty: 1.1, Seed: 8, MaxTokens: 100}, false},
		{"sliding", 1, policy("sliding"), llama.Params{MaxTokens: 100, Logprobs: 1}, false},
		{"h2o", 1, policy("h2o"), llama.Params{MaxTokens: 100, Temperature: 0.5, Seed: 9}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain, drafted := session(t, c.options), session(t, c.options)
			generated, evictions, edited := 0, 0, llama.Stats{}
			for _, conversation := range bySkill(t, c.n) {
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
			if c.copies && (edited.AcceptedTokens < edited.GeneratedTokens/3 || edited.AcceptedTokens < edited.DraftedTokens/2) {
				t.Errorf("of %d tokens of edits %d were drafted and %d accepted, want a third of the tokens and half of the drafts",
					edited.GeneratedTokens, edited.DraftedTokens, edited.AcceptedTokens)
			}
			if c.options != nil && evictions == 0 {
				t.Error("nothing was evicted: the case tests nothing")
			}
		})
	}
	if drafter.calls == 0 {
		t.Error("the drafter was never asked")
	}
}

// BenchmarkPromptLookup answers questions without drafts and with them, in turn, and tells the rates of generating and the median of
// how much faster the drafts made a round of questions. Answers to edits copy their prompts, the other skills' copy next to nothing.
func BenchmarkPromptLookup(b *testing.B) {
	for _, kind := range []struct {
		name   string
		skills []string
		each   int // conversations of a skill in a round
		params llama.Params
	}{
		{"edits", []string{"edit"}, 8, llama.Params{}},
		{"questions", []string{"arithmetic", "compare", "spell", "sortnum", "numword", "capital", "hello", "opposite"}, 2, llama.Params{}},
		{"stories", []string{"hello"}, 2, llama.Params{MaxTokens: 150, Temperature: 1, Seed: 5}}, // whose end is forbidden
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
			if kind.name == "stories" {
				prompts = nil
				for _, begin := range []string{"Once upon a time", "One day", "The old baker"} {
					prompts = append(prompts, model(b).Tokenizer().EncodeSpecial(begin, true))
				}
			}
			sessions := [2]*llama.Session{session(b, nil), session(b, nil)}
			params := [2]llama.Params{kind.params, kind.params}
			params[1].Draft = llama.PromptLookup(llama.LookupOptions{})
			var total [2]llama.Stats
			var ratios []float64
			for round := 0; b.Loop(); round++ {
				var took [2]time.Duration
				for i, prompt := range prompts {
					for turn := range 2 {
						which := (turn + i + round) % 2
						stats := answer(b, sessions[which], prompt, params[which]).Stats
						took[which] += stats.DecodeTime
						total[which].GeneratedTokens += stats.GeneratedTokens
						total[which].DecodeTime += stats.DecodeTime
						total[which].DraftedTokens += stats.DraftedTokens
						total[which].AcceptedTokens += stats.AcceptedTokens
					}
				}
				ratios = append(ratios, took[0].Seconds()/took[1].Seconds())
			}
			slices.Sort(ratios)
			b.ReportMetric(total[0].DecodeRate(), "tokens/s")
			b.ReportMetric(total[1].DecodeRate(), "drafting-tokens/s")
			b.ReportMetric(ratios[len(ratios)/2], "times-as-fast")
			b.Logf("%s", fmt.Sprintf("%d answers of %d tokens: %v", len(prompts), total[1].GeneratedTokens, total[1]))
		})
	}
}
