package llama

import (
	"math"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
)

// TestChoosingDoesNotAllocate computes and chooses token after token, as an answer does.
func TestChoosingDoesNotAllocate(t *testing.T) {
	effort.Turn(t, 8)
	m := mustLoad(t, fixture.Path(t, "pebble/hf"), nil)
	for _, p := range []Params{
		{}, {Temperature: 1, TopK: 40}, {Temperature: 1, TopK: 40, TopP: 0.9, MinP: 0.01}, {Temperature: 1}, {Temperature: 1, TopP: 0.9}, {RepeatPenalty: 1.1},
	} {
		s := mustSession(t, m, nil)
		s.call.params = p
		s.call.sampler.Start(p.sampling())
		if err := s.Prefill(t.Context(), []Token{1}); err != nil {
			t.Fatal(err)
		}
		one := make([]Token, 1)
		next := func() {
			token, err := s.call.choose()
			if err != nil {
				t.Fatal(err)
			}
			one[0] = token
			if err := s.call.append(one[0], true, new(Stats)); err != nil {
				t.Fatal(err)
			}
		}
		for range 70 { // room in the token list, and scratch memory
			next()
		}
		if n := testing.AllocsPerRun(50, next); n != 0 {
			t.Errorf("%+v: %v allocations a token", p, n)
		}
		s.Close()
	}
}

func TestParamsAreChecked(t *testing.T) {
	nan := float32(math.NaN())
	for _, p := range []Params{
		{MaxTokens: -1}, {TopK: -1}, {Temperature: -1}, {Temperature: nan}, {TopP: 2}, {TopP: nan}, {MinP: -0.1},
		{RepeatPenalty: -1}, {FrequencyPenalty: nan}, {PresencePenalty: nan}, {Logprobs: -1}, {Stop: []string{"a", ""}},
	} {
		if err := p.validate(nil); err == nil {
			t.Errorf("%+v passed", p)
		}
	}
	if err := new(Params).validate(nil); err != nil {
		t.Error(err)
	}
}

func TestLogprobs(t *testing.T) {
	logits := []float32{0, 1, 2, 1}
	got := logprobs(logits, 0, 3, &Tokenizer{vocabulary: noVocabulary{4}})
	var sum float64
	for _, l := range logits {
		sum += math.Exp(float64(l))
	}
	want := func(i int) float64 { return float64(logits[i]) - math.Log(sum) }
	if math.Abs(float64(got.Chosen.Logprob)-want(0)) > 1e-6 || got.Chosen.Token != 0 {
		t.Errorf("chosen: %v, want %.6f", got.Chosen, want(0))
	}
	var order []Token
	for _, top := range got.Top {
		order = append(order, top.Token)
		if math.Abs(float64(top.Logprob)-want(int(top.Token))) > 1e-6 {
			t.Errorf("token %d: %v, want %.6f", top.Token, top.Logprob, want(int(top.Token)))
		}
	}
	if !slices.Equal(order, []Token{2, 1, 3}) {
		t.Errorf("likeliest tokens %v, want [2 1 3]", order)
	}
}
