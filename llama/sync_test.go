package llama_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
)

// TestSync makes a conversation one token list after another, and compares with sessions that began with each.
func TestSync(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, &llama.SessionOptions{Capacity: 90})
	long := stream(80)
	for _, c := range []struct {
		name   string
		tokens []llama.Token
		reused int
	}{
		{"the first", long[:40], 0},
		{"longer", long[:60], 40},
		{"the same", long[:60], 60},
		{"shorter", long[:50], 50},
		{"another end", append(slices.Clone(long[:30]), 5, 6, 7), 30},
		{"another", long[10:20], 0},
		{"nothing", nil, 0},
		{"all", long, 0},
	} {
		reused, err := s.Sync(t.Context(), c.tokens)
		if err != nil || reused != c.reused || !slices.Equal(s.Tokens(), c.tokens) {
			t.Fatalf("%s: reused %d of %d tokens, and holds %d: %v", c.name, reused, len(c.tokens), s.Position(), err)
		}
		if len(c.tokens) == 0 {
			continue
		}
		fresh := newSession(t, m, nil)
		if err := fresh.Prefill(t.Context(), c.tokens); err != nil {
			t.Fatal(err)
		}
		want, got := score(t, fresh, 1, 2, 3), score(t, s, 1, 2, 3)
		if !slices.Equal(got, want) {
			t.Errorf("%s: what follows has the probabilities %v, want %v", c.name, got, want)
		}
		fresh.Close()
		if err := s.Truncate(len(c.tokens)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Sync(t.Context(), stream(91)); !errors.Is(err, llama.ErrContextFull) || s.Position() != 80 {
		t.Errorf("more tokens than there is room for: %v, and %d tokens are left", err, s.Position())
	}
}

func score(t *testing.T, s *llama.Session, tokens ...llama.Token) []float32 {
	t.Helper()
	p, err := s.Score(t.Context(), tokens)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRank compares the options' probabilities with those that Score gives one after the other.
func TestRank(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, nil)
	prompt, err := m.Tokenizer().Template([]llama.Message{{Role: llama.RoleUser, Content: "What is the capital of France?"}}, llama.TemplateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	options := []string{"London", "Paris", "The moon is made of cheese", "Madrid."}
	got, err := s.Rank(t.Context(), prompt, options...)
	if err != nil || !slices.Equal(s.Tokens(), prompt) {
		t.Fatalf("%v; %d tokens are left of %d", err, s.Position(), len(prompt))
	}
	best := 0
	for i, option := range options {
		sum := 0.0
		for _, p := range score(t, s, m.Tokenizer().EncodeContinuation(option)...) {
			sum += float64(p)
		}
		if err := s.Truncate(len(prompt)); err != nil {
			t.Fatal(err)
		}
		if got[i] != sum || math.IsNaN(sum) {
			t.Errorf("%q: %v, want %v", option, got[i], sum)
		}
		if got[i] > got[best] {
			best = i
		}
	}
	if options[best] != "Paris" {
		t.Errorf("%v: %q is the likeliest", got, options[best])
	}
	if _, err := s.Rank(t.Context(), prompt, "a", ""); err == nil {
		t.Error("an option without tokens is no error")
	}
	if got, err := s.Rank(t.Context(), prompt); err != nil || len(got) != 0 {
		t.Errorf("no options: %v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Rank(ctx, prompt[:len(prompt)-1], options...); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestCollect gathers an answer.
func TestCollect(t *testing.T) {
	m := pebbleModel(t)
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of France?"}}
	var text strings.Builder
	var tokens []llama.Token
	for p, err := range newSession(t, m, nil).Chat(t.Context(), history, llama.Params{}) {
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(p.Text)
		tokens = append(tokens, p.Tokens...)
	}
	got, err := llama.Collect(newSession(t, m, nil).Chat(t.Context(), history, llama.Params{}))
	if err != nil || got.Text != text.String() || !slices.Equal(got.Tokens, tokens) || got.Stop != llama.EndOfTurn || got.Stats.GeneratedTokens != len(tokens) {
		t.Errorf("%+v: %v, want %q", got, err, text.String())
	}
	failed := errors.New("enough")
	mask := llama.LogitMaskFunc(func(generated []llama.Token, _ []float32) error {
		if len(generated) == 2 {
			return failed
		}
		return nil
	})
	got, err = llama.Collect(newSession(t, m, nil).Chat(t.Context(), history, llama.Params{Mask: mask}))
	if !errors.Is(err, failed) || !slices.Equal(got.Tokens, tokens[:2]) || !strings.HasPrefix(text.String(), got.Text) || got.Stats.GeneratedTokens != 2 {
		t.Errorf("%+v: %v", got, err)
	}
}

// TestEmbedTogether compares texts computed together with each one alone.
func TestEmbedTogether(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	texts := []string{"a", strings.Repeat("a long story about a fox. ", 60), "What is 3 + 4?", "a"}
	for i := range 40 {
		texts = append(texts, fmt.Sprintf("What is %d + 4?", i))
	}
	all, err := m.Embed(t.Context(), texts...)
	if err != nil || len(all) != len(texts) {
		t.Fatal(len(all), err)
	}
	for i, text := range texts {
		one, err := m.Embed(t.Context(), text)
		if err != nil || !slices.Equal(one[0], all[i]) {
			t.Errorf("%q differs: %v", text, err)
		}
	}
	if none, err := m.Embed(t.Context()); err != nil || len(none) != 0 {
		t.Errorf("no texts: %v, %v", none, err)
	}
}
